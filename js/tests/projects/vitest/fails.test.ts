import { runScenario } from "agent-rehearsal";
import { describeScenarios } from "agent-rehearsal/vitest";
import { expect, test } from "vitest";
import { agent } from "./agent";

test("no refund", async () => {
  expect(await runScenario("refund.scenario.yaml", { agent: async () => "No." })).toPass();
});

test("passes all the same", async () => {
  expect(await runScenario("refund.scenario.yaml", { agent })).not.toPass();
});

test("breaks", async () => {
  function breaks(): string {
    throw new RangeError("out of paper");
  }
  expect(await runScenario("refund.scenario.yaml", { agent: breaks })).toPass();
});

describeScenarios("refund.scenario.yaml", { agent: () => "Never." });
