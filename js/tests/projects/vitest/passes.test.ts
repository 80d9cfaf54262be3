import { runScenario, scenarioCases } from "agent-rehearsal";
import { describeScenarios } from "agent-rehearsal/vitest";
import { expect, test } from "vitest";
import { agent } from "./agent";

test("a refund", async ({ signal }) => {
  const result = await runScenario("refund.scenario.yaml", { agent, signal });
  expect(result).toPass();
  expect(result.calls.map((call) => call.tool)).toEqual(["refund"]);
});

for (const each of await scenarioCases("refund.scenario.yaml")) {
  test(`case ${each.name}`, async () => {
    expect(await runScenario(each.file, { agent, case: each.name })).toPass();
  });
}

test.concurrent("what does not pass", async () => {
  const result = await runScenario("refund.scenario.yaml", { agent: () => "No." });
  expect(result).not.toPass();
  await expect(runScenario("refund.scenario.yaml", { agent })).resolves.toPass();
  expect(() => expect(runScenario("refund.scenario.yaml", { agent })).toPass()).toThrow("hint: `await` it");
  expect(() => expect(7).toPass()).toThrow("and was given 7");
});

describeScenarios("*.scenario.yaml", { agent });
