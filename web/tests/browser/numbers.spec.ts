import { readFile, rm } from "node:fs/promises";
import { expect, test } from "./fixtures";
import { decide, entry, execute, field, golden, pick, respond, start } from "./session";
import type { Stage } from "./stage";

const ABOVE = "18446744073709551617";
const BELOW = "-9223372036854775809";
const SUM = "9223372036854775808";

/** Sends JSON to the letter: this language would round its numbers. */
async function send(stage: Stage, method: string, path: string, body: string): Promise<string> {
  const headers = { Authorization: `Bearer ${stage.token}`, "Content-Type": "application/json" };
  const response = await fetch(stage.url + path, { method, headers, body });
  const text = await response.text();
  expect(response.ok, text).toBe(true);
  return text;
}

test("whole numbers of any size go from a field through a real tool to the golden trace", async ({
  page,
  stage,
}) => {
  await rm(stage.path("calculator.evalset.json"), { force: true });
  const session = await start(page, "calculator", `${ABOVE} and ${BELOW}`);
  const ledger = () => stage.text(`/v1/sessions/${session}/ledger`);
  const form = await pick(page, "add");
  await field(form, "a").fill(ABOVE);
  await field(form, "b").fill(BELOW);
  // The same in the other view of it, and back.
  await form.getByRole("button", { name: "Raw JSON" }).click();
  await expect(form.getByRole("textbox")).toHaveValue(`{\n  "a": ${ABOVE},\n  "b": ${BELOW}\n}`);
  await form.getByRole("button", { name: "Form" }).click();
  await expect(field(form, "a")).toHaveValue(ABOVE);
  await expect(field(form, "b")).toHaveValue(BELOW);
  // And after the page was left.
  await page.reload();
  await expect(field(decide(page), "a")).toHaveValue(ABOVE);
  await execute(page);
  await expect(entry(page, "Tool output add")).toContainText(SUM);
  await expect(entry(page, "Tool call add")).toContainText(ABOVE);
  await expect(entry(page, "Tool call add")).toContainText(BELOW);
  expect(await ledger()).toContain(`"args":{"a":${ABOVE},"b":${BELOW}}`);
  expect(await ledger()).toContain(`"output":{"result":${SUM}}`);

  // Written as JSON, the other way round.
  const again = await pick(page, "add");
  await again.getByRole("button", { name: "Raw JSON" }).click();
  await again.getByRole("textbox").fill(`{"a": ${BELOW}, "b": ${ABOVE}}`);
  await execute(page);
  await expect(entry(page, "Tool output add")).toHaveCount(2);
  expect(await ledger()).toContain(`"args":{"a":${BELOW},"b":${ABOVE}}`);

  // What the model saw of it.
  await entry(page, "Tool call add").last().getByRole("button", { name: "What the model saw" }).click();
  const saw = page.getByRole("dialog");
  await expect(saw).toContainText(SUM);
  await page.keyboard.press("Escape");

  await respond(page, SUM);
  await golden(page).getByRole("button", { name: "Export", exact: true }).click();
  await expect(golden(page).getByRole("status")).toContainText("Exported");
  const file = await readFile(stage.path("calculator.evalset.json"), "utf8");
  for (const digits of [ABOVE, BELOW, SUM]) expect(file).toMatch(new RegExp(`: ${digits}[,\\s}]`));
});

test("whole numbers of any size in defaults, choices, results and state are what they are", async ({
  page,
  stage,
}) => {
  const { id } = await stage.call<{ id: string }>("POST", "/v1/sessions", { agent: "counter" });
  const parameters = `{"type": "object", "required": ["pick", "other"], "properties": {
    "pick": {"enum": [${ABOVE}, ${BELOW}, 18446744073709551618]},
    "other": {"type": "integer", "minimum": ${ABOVE}},
    "some": {"type": "integer", "default": ${ABOVE}}}}`;
  const request = `{"contents": [{"role": "user", "parts": [{"text": "count"}]}],
    "tools": [{"name": "count", "parameters": ${parameters}}]}`;
  const turn = crypto.randomUUID();
  await send(stage, "PUT", `/v1/sessions/${id}/turns/${turn}`, `{"agent": "counter", "request": ${request}}`);
  await page.goto(`${stage.url}/sessions/${id}`);
  const form = await pick(page, "count");
  const choice = form.getByRole("combobox", { name: /^pick/ });
  await expect(choice.getByRole("option")).toContainText([ABOVE, BELOW, "18446744073709551618"]);
  await choice.selectOption({ label: ABOVE });
  await expect(form).toContainText(`Default: ${ABOVE}.`);
  // One less than the limit is another number.
  await field(form, "other").fill("18446744073709551616");
  await execute(page);
  await expect(form).toContainText(`must be at least ${ABOVE}`);
  await field(form, "other").fill(ABOVE);
  await execute(page);
  const ledger = () => stage.text(`/v1/sessions/${id}/ledger`);
  await expect.poll(ledger).toContain(`"args":{"pick":${ABOVE},"other":${ABOVE}}`);

  const told = (type: string, fields: string) =>
    `{"event_id": "${crypto.randomUUID()}", "agent": "counter", "type": "${type}", ${fields}}`;
  const events = [
    told("tool_call", `"call_id": "c", "tool": "count", "args": {"n": ${ABOVE}}`),
    told(
      "tool_result",
      `"call_id": "c", "tool": "count", "output": {"seen": [${ABOVE}, ${BELOW}]}, "state_delta": {"last": ${BELOW}}`,
    ),
  ];
  await send(stage, "POST", `/v1/sessions/${id}/events`, `{"events": [${events.join()}]}`);
  const output = entry(page, "Tool output count");
  await expect(output).toContainText(ABOVE);
  await expect(output).toContainText(BELOW);
  await expect(page.getByRole("region", { name: "State of session" })).toContainText(BELOW);
  await expect.poll(ledger).toContain(`"seen":[${ABOVE},${BELOW}]`);
});
