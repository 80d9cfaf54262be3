import { rm } from "node:fs/promises";
import { expect, test } from "./fixtures";
import { call, choose, decide, entry, golden, respond, start, yourTurn } from "./session";

interface EvalSet {
  eval_cases: { conversation: unknown[] }[];
}

const FILE = "trouble.evalset.json";

test.beforeEach(({ stage }) => rm(stage.path(FILE), { force: true }));

test("what adk eval cannot run is said before the export, with the part that runs", async ({
  page,
  stage,
}) => {
  const ask = await choose(page, "trouble");
  await ask.getByText("More settings").click();
  await ask.getByRole("checkbox", { name: /Go on after the final response/ }).check();
  await ask.getByLabel("User query").fill("Count, then fetch");
  await ask.getByRole("button", { name: "Start session" }).click();
  await yourTurn(page);
  await call(page, "add", { a: "1", b: "2" });
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
  await decide(page).getByLabel("Final response", { exact: true }).fill("3");
  await decide(page).getByRole("button", { name: "Send final response" }).click();
  const answered = page.getByRole("region", { name: "The agent has answered" });
  await answered.getByLabel("User query").fill("Now fetch");
  await answered.getByRole("button", { name: "Say something more" }).click();
  await yourTurn(page);
  await call(page, "fetch_data", { url: "http://x.test" });
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
  await decide(page).getByLabel("Final response", { exact: true }).fill("It cannot be reached");
  await decide(page).getByRole("button", { name: "Send final response" }).click();
  await answered.getByRole("button", { name: "Complete the session" }).click();

  const reasons = golden(page).getByRole("list", { name: "Why adk eval cannot run it" });
  await expect(reasons.getByRole("listitem")).toHaveText([
    /^adk eval ends at message 2 where fetch_data raises ConnectionError again \(event \d+\)/,
  ]);
  await expect(golden(page)).toContainText("The first message can be run");
  await reasons.getByRole("link", { name: /^event \d+$/ }).click();
  await expect(entry(page, "Tool error fetch_data")).toBeInViewport();

  await golden(page).getByRole("button", { name: "Export what runs" }).click();
  await expect(golden(page).getByRole("status")).toContainText("It is the only case in the file.");
  expect((await stage.readJson<EvalSet>(FILE)).eval_cases.map((each) => each.conversation.length)).toEqual([
    1,
  ]);

  await golden(page).getByRole("button", { name: "Export once more" }).click();
  await expect(golden(page).getByRole("status")).toContainText("The file has 2 cases now.");
  const { eval_cases } = await stage.readJson<EvalSet>(FILE);
  expect(eval_cases.map((each) => each.conversation.length)).toEqual([1, 2]);
});

test("where nothing runs by itself, that is said, and no button offers it", async ({ page }) => {
  await start(page, "trouble", "Fetch");
  await call(page, "fetch_data", { url: "http://x.test" });
  await respond(page, "It cannot be reached");
  await expect(golden(page)).toContainText("it can only be exported as it is");
  await expect(golden(page).getByRole("button", { name: "Export what runs" })).toHaveCount(0);
  await expect(golden(page).getByRole("button", { name: "Export", exact: true })).toBeVisible();
});

test("a session that adk eval can run has no cautions", async ({ page }) => {
  await start(page, "calculator", "1+2");
  await call(page, "add", { a: "1", b: "2" });
  await respond(page, "3");
  await expect(golden(page).getByRole("button", { name: "Export", exact: true })).toBeVisible();
  await expect(golden(page)).not.toContainText("cannot run");
});
