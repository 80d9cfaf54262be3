import { rm } from "node:fs/promises";
import { expect, test } from "./fixtures";
import { call, golden, respond, sessionId, start } from "./session";
import type { Stage } from "./stage";

interface EvalSet {
  eval_set_id: string;
  name: string;
  creation_timestamp: number;
  eval_cases: {
    eval_id: string;
    creation_timestamp: number;
    conversation: {
      user_content: { parts: { text: string }[] };
      final_response: { parts: { text: string }[] };
      intermediate_data: {
        tool_uses: { name: string; args: object }[];
        tool_responses: { name: string; response: object }[];
      };
    }[];
  }[];
}

const FILE = "calculator.evalset.json";
const read = (stage: Stage) => stage.readJson<EvalSet>(FILE);

test.beforeEach(({ stage }) => rm(stage.path(FILE), { force: true }));

test("the export makes the EvalSet file, and says which file and which case", async ({ page, stage }) => {
  await start(page, "calculator", "What is 2+2?");
  await call(page, "add", { a: "2", b: "2" });
  await respond(page, "The answer is 4");
  await golden(page).getByRole("button", { name: "Export", exact: true }).click();
  const told = golden(page).getByRole("status");
  await expect(told).toContainText(/Exported as calculator_\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/);
  await expect(told).toContainText(stage.path(FILE));
  await expect(told).toContainText("It is the only case in the file.");

  const set = await read(stage);
  expect(set.eval_set_id).toBe("calculator_evals");
  expect(set.creation_timestamp).toBeGreaterThan(1_700_000_000);
  expect(set.eval_cases).toHaveLength(1);
  const [only] = set.eval_cases;
  expect(only?.eval_id).toMatch(/^calculator_\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/);
  await expect(told).toContainText(only?.eval_id ?? "no id");
  expect(only?.creation_timestamp).toBeGreaterThan(1_700_000_000);
  expect(only?.conversation).toHaveLength(1);
  const [turn] = only?.conversation ?? [];
  expect(turn?.user_content.parts).toEqual([{ text: "What is 2+2?" }]);
  expect(turn?.final_response.parts).toEqual([{ text: "The answer is 4" }]);
  expect(turn?.intermediate_data.tool_uses).toMatchObject([{ name: "add", args: { a: 2, b: 2 } }]);
  expect(turn?.intermediate_data.tool_responses).toMatchObject([{ name: "add", response: { result: 4 } }]);

  // The file's case is what the server says of the session.
  const said = await stage.get<EvalSet["eval_cases"][number]>(`/v1/sessions/${sessionId(page)}/eval-case`);
  expect(only?.conversation).toEqual(said.conversation);
});

test("a second session is added to the file, and nothing in it changes", async ({ page, stage }) => {
  await start(page, "calculator", "What is 1+1?");
  await call(page, "add", { a: "1", b: "1" });
  await respond(page, "2");
  await golden(page).getByRole("button", { name: "Export", exact: true }).click();
  await expect(golden(page)).toContainText("It is the only case in the file.");
  const before = await read(stage);

  await start(page, "calculator", "What is 3*3?");
  await call(page, "multiply", { a: "3", b: "3" });
  await respond(page, "9");
  await golden(page).getByRole("button", { name: "Export", exact: true }).click();
  await expect(golden(page)).toContainText("The file has 2 cases now.");
  const after = await read(stage);
  expect(after.eval_cases).toHaveLength(2);
  expect(after.eval_cases[0]).toEqual(before.eval_cases[0]);
  expect(after.eval_set_id).toBe(before.eval_set_id);
  expect(after.creation_timestamp).toBe(before.creation_timestamp);
  expect(after.eval_cases[1]?.conversation[0]?.user_content.parts).toEqual([{ text: "What is 3*3?" }]);
});

test("a session is not written twice, unless somebody asks for it once more", async ({
  page,
  stage,
  newcomer,
}) => {
  await start(page, "calculator", "What is 7+7?");
  await respond(page, "14");
  const second = await newcomer();
  await second.goto(page.url());
  await expect(golden(second).getByRole("button", { name: "Export", exact: true })).toBeVisible();
  await golden(page).getByRole("button", { name: "Export", exact: true }).click();
  await expect(golden(page)).toContainText("It is the only case in the file.");

  // Somebody else, and whoever comes back, is told that it was done.
  await expect(golden(second)).toContainText("Exported as");
  await page.reload();
  await expect(golden(page)).toContainText("Exported as");
  await expect(golden(page).getByRole("button", { name: "Export", exact: true })).toHaveCount(0);
  expect((await read(stage)).eval_cases).toHaveLength(1);

  // A repeat over the API, as a second click that comes late would make it.
  await stage.call("POST", `/v1/sessions/${sessionId(page)}/export`, { again: false });
  expect((await read(stage)).eval_cases).toHaveLength(1);

  await golden(page).getByRole("button", { name: "Export once more" }).click();
  await expect(golden(page)).toContainText("The file has 2 cases now.");
  const { eval_cases } = await read(stage);
  expect(eval_cases).toHaveLength(2);
  expect(new Set(eval_cases.map((each) => each.eval_id)).size).toBe(2);
});

test("`adk eval` runs what was exported, and tells a trace that is not so", async ({ page, stage }) => {
  test.slow();
  await start(page, "calculator", "What is 2+2?");
  await call(page, "add", { a: "2", b: "2" });
  await respond(page, "The answer is 4");
  await golden(page).getByRole("button", { name: "Export", exact: true }).click();
  await expect(golden(page)).toContainText("Exported as");

  const good = await stage.adkEval("calculator", FILE);
  expect(good.code, good.said).toBe(0);
  const set = JSON.stringify(await read(stage)).replace('"b":2', '"b":3');
  await stage.write("other.evalset.json", set);
  const bad = await stage.adkEval("calculator", "other.evalset.json");
  expect(bad.code, bad.said).toBe(1);
});
