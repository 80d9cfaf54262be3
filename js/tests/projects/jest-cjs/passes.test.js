const { runScenario, scenarioCasesSync } = require("agent-rehearsal");
const { describeScenarios } = require("agent-rehearsal/jest");
const { agent } = require("./agent");

test("a refund", async () => {
  const result = await runScenario("refund.scenario.yaml", { agent });
  expect(result).toPass();
  expect(result.calls.map((call) => call.tool)).toEqual(["refund"]);
});

for (const each of scenarioCasesSync("refund.scenario.yaml")) {
  test(`case ${each.name}`, async () => {
    expect(await runScenario(each.file, { agent, case: each.name })).toPass();
  });
}

test("what does not pass", async () => {
  expect(await runScenario("refund.scenario.yaml", { agent: () => "No." })).not.toPass();
  await expect(runScenario("refund.scenario.yaml", { agent })).resolves.toPass();
  expect(() => expect(runScenario("refund.scenario.yaml", { agent })).toPass()).toThrow("hint: `await` it");
  await expect(runScenario("nowhere.scenario.yaml", { agent })).rejects.toThrow("nowhere");
});

describeScenarios("*.scenario.yaml", { agent });
