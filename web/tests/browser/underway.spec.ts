import { alone, expect } from "./fixtures";

const test = alone(false);

const CASES = 2000;

const scenario = `
name: Many
description: The desk of a library answers
environment: {type: local}
cases: {jsonl: rows.jsonl}
agent:
  name: desk
  instructions: You answer at the desk of a library.
models:
  agent:
    script:
      - {say: "\${row.answer}", usage: {input: 40, output: 8}}
run:
  - input: How many are there?
    evaluations:
      - {type: string_contains, value: two}
judgment: {strategy: all_pass}
`;

/** Every tenth case does not pass. */
const rows = Array.from({ length: CASES }, (_, n) =>
  JSON.stringify({ name: `case ${n}`, answer: n % 10 === 0 ? "None." : "There are two." }),
).join("\n");

test("a run of 2,000 cases is shown while it runs, held, goes on and is stopped", async ({ page, stage }) => {
  await stage.write("rows.jsonl", rows);
  await stage.write("many.scenario.yaml", scenario);
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  const running = stage.run(["run", "many.scenario.yaml", "--jobs", "2", "--repeat", "10", "-q"]);
  const table = page.getByRole("table", { name: "Runs, newest first" });
  await table.getByRole("link").first().click();

  const far = page.getByRole("progressbar", { name: "Cases that have ended" });
  await expect(far).toHaveAttribute("aria-valuemax", String(10 * CASES));
  const ended = async () => Number(await far.getAttribute("aria-valuenow"));
  await expect.poll(ended).toBeGreaterThan(0);
  const cases = page.getByRole("table", { name: "Cases with their verdicts" });
  await expect(cases.getByRole("row").nth(1)).toContainText("case");

  await page.getByRole("button", { name: "Hold" }).click();
  await expect(page.getByRole("heading", { name: "Held" })).toBeVisible();
  await expect(page.getByText(/No further case starts\.$/)).toBeVisible();
  const held = await ended();
  expect(held).toBeLessThan(10 * CASES);

  // Those that did not pass, of what has ended.
  await page.getByRole("button", { name: /^failed/ }).click();
  await expect(cases.getByRole("row").nth(1)).toContainText("failed");
  await page.getByRole("button", { name: /^all/ }).click();

  await page.getByRole("button", { name: "Go on" }).click();
  await expect.poll(ended).toBeGreaterThan(held);
  expect(await cases.getByRole("row").count()).toBeLessThan(100);

  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("button", { name: "Stop this run" }).click();
  await expect(page.getByText("This run was interrupted")).toBeVisible();
  expect(await running.ended).toBe(130);
  await expect(page.getByText(/rehearse run --resume /)).toBeVisible();
  await cases.getByRole("link").first().click();
  await expect(page.getByRole("heading", { level: 1, name: /case \d+/ })).toBeVisible();
});
