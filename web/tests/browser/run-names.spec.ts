import { alone, expect } from "./fixtures";
import { start } from "./session";
import type { Stage } from "./stage";

const test = alone(true);

const scenario = (name: string, expected: string) => `
name: ${name}
description: The desk answers
environment: {type: local}
agent: {name: desk, instructions: You answer.}
models: {agent: {script: [On shelf B4.]}}
run:
  - input: Where is it?
    evaluations: [{type: string_contains, value: ${expected}}]
judgment: {strategy: all_pass}
`;

async function runAs(stage: Stage, name: string): Promise<void> {
  const files: string[] = [];
  for (const [index, expected] of ["B4", "nine", "B4", "ten"].entries()) {
    files.push(`case-${index}.scenario.yaml`);
    await stage.write(`case-${index}.scenario.yaml`, scenario(`Case ${index}`, expected));
  }
  await stage.command(["run", ...files, "--name", name]);
}

test("runs are found by their names, and a failure leads to the next and back", async ({ page, stage }) => {
  await runAs(stage, "before the change");
  await runAs(stage, "after the change");
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  const runs = page.getByRole("table").getByRole("link");
  await expect(runs).toHaveText(["after the change", "before the change"]);
  await page.getByRole("searchbox", { name: /^Search runs/ }).fill("before");
  await expect(runs).toHaveText(["before the change"]);
  await runs.click();
  await expect(page.getByRole("heading", { name: "before the change" })).toBeVisible();
  const cases = page.getByRole("table", { name: "Cases with their verdicts" }).getByRole("link");
  await expect(cases).toHaveText(["Case 1", "Case 3", "Case 0", "Case 2"]);

  await cases.first().click();
  const heading = page.getByRole("heading", { level: 1 });
  await expect(heading).toContainText("Case 1");
  await page.getByRole("link", { name: "Next failure" }).click();
  await expect(heading).toContainText("Case 3");
  await expect(page.getByText("failure 2 of 2")).toBeVisible();
  await expect(page.getByRole("link", { name: "Next failure" })).toHaveCount(0);
  await page.getByRole("link", { name: "Previous failure" }).click();
  await expect(heading).toContainText("Case 1");
});

test("the title counts what waits in every room", async ({ page, stage }) => {
  await runAs(stage, "a run");
  await start(page, "poet", "Rhyme");
  await start(page, "poet", "Rhyme more");
  await page.getByRole("link", { name: "New session" }).click();
  await expect(page).toHaveTitle(/^\(2\) New session/);
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await expect(page).toHaveTitle("(2) Runs · Rehearsal");
  await page.getByRole("table").getByRole("link").first().click();
  await expect(page).toHaveTitle("(2) a run · Rehearsal");
  await page.getByRole("link", { name: "Case 1" }).click();
  await expect(page).toHaveTitle(/^\(2\) Case 1/);
  await page.goto(`${stage.url}/nowhere`);
  await expect(page).toHaveTitle(/^\(2\) /);
});
