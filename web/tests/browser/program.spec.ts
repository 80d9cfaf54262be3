import { expect, test } from "./fixtures";
import { decide, entry, execute, golden, pick, respond, yourTurn } from "./session";

interface EvalSet {
  eval_cases: { conversation: { final_response: { parts: { text: string }[] } }[] }[];
}

test("a tool of a program is cancelled, and the program writes the golden trace", async ({ page, stage }) => {
  const { session } = await stage.program();
  await page.goto(`${stage.url}/sessions/${session}`);
  await yourTurn(page);
  await pick(page, "wait_long");
  await execute(page);
  const running = page.getByRole("status", { name: "Running tools" });
  await expect(running).toContainText("wait_long is running");
  await running.getByRole("button", { name: "Cancel" }).click();
  await expect(entry(page, "Tool error wait_long")).toContainText("Cancelled");

  await respond(page, "I waited long enough");
  await golden(page).getByRole("button", { name: "Export", exact: true }).click();
  const told = golden(page).getByRole("status");
  await expect(told).toContainText(stage.path("waiter.evalset.json"));
  const { eval_cases } = await stage.readJson<EvalSet>("waiter.evalset.json");
  expect(eval_cases.map((each) => each.conversation[0]?.final_response.parts)).toEqual([
    [{ text: "I waited long enough" }],
  ]);
});

test("the page says that a program is gone, and keeps an answer for it only when told to", async ({
  page,
  stage,
}) => {
  const { session, kill } = await stage.program();
  await page.goto(`${stage.url}/sessions/${session}`);
  await yourTurn(page);
  await kill();
  await expect(decide(page).getByText("The program that asks this is gone")).toBeVisible();
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
  await decide(page).getByLabel("Final response", { exact: true }).fill("for later");
  await decide(page).getByRole("button", { name: "Send final response" }).click();
  await expect(decide(page).getByText("The program that runs this agent is gone")).toBeVisible();
  const bodies = (await stage.events(session)).map((event) => event.body.type);
  expect(bodies.at(-1)).toBe("model_response");
});

test("where the program has ended, the page shows the line that exports by hand", async ({ page, stage }) => {
  const { session, kill } = await stage.program();
  await page.goto(`${stage.url}/sessions/${session}`);
  await yourTurn(page);
  await respond(page, "done");
  await expect(golden(page).getByRole("button", { name: "Export", exact: true })).toBeVisible();
  await kill();
  await expect(golden(page)).toContainText(`rehearse export ${session} --evalset`);
  await expect(golden(page).getByRole("button", { name: "Export", exact: true })).toHaveCount(0);
});
