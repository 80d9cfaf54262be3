const { runScenario } = require("agent-rehearsal");
const { describeScenarios } = require("agent-rehearsal/jest");
const { agent } = require("./agent");

test("no refund", async () => {
  expect(await runScenario("refund.scenario.yaml", { agent: async () => "No." })).toPass();
});

test("passes all the same", async () => {
  expect(await runScenario("refund.scenario.yaml", { agent })).not.toPass();
});

test("breaks", async () => {
  function breaks() {
    throw new RangeError("out of paper");
  }
  expect(await runScenario("refund.scenario.yaml", { agent: breaks })).toPass();
});

describeScenarios("refund.scenario.yaml", { agent: () => "Never." });
