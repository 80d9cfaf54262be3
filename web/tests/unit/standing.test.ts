import { expect, test } from "vitest";
import type { Body, LedgerEvent } from "../../src/ledger/event";
import { standing } from "../../src/ledger/standing";

const ledger = (...bodies: (Body | [Body, string])[]): LedgerEvent[] =>
  bodies.map((each, index) => {
    const [body, invocation] = Array.isArray(each) ? each : [each, "poet-1"];
    return { seq: index + 1, session: "s", at: "2026-01-01T00:00:00Z", author: "poet", invocation, body };
  });

const started: Body = { type: "agent_started", kind: "adk" };
const ended: Body = { type: "agent_ended", output: "One" };
const said: Body = { type: "user_message", content: { parts: [{ text: "Rhyme" }] } };
const late: Body = { type: "late_result", call: "c", tool: "t", outcome: { output: null } };
const failed: Body = { type: "run_failed", error: { type: "ValueError", message: "no rhyme" } };

test("an agent works from its message until it ends", () => {
  expect(standing([])).toEqual({ is: "new" });
  expect(standing(ledger(started, said))).toEqual({ is: "running" });
  expect(standing(ledger(started, said, ended))).toEqual({ is: "answered" });
  expect(standing(ledger(started, said, ended, started, said))).toEqual({ is: "running" });
});

test("what comes after the end does not begin it again", () => {
  expect(standing(ledger(started, said, ended, late))).toEqual({ is: "answered" });
});

test("an agent inside another one does not end it", () => {
  expect(standing(ledger(started, said, [ended, "poet-1/@call-1/helper"]))).toEqual({ is: "running" });
});

test("a run that failed says why", () => {
  expect(standing(ledger(started, said, failed))).toEqual({ is: "failed", why: "ValueError: no rhyme" });
  const silent: Body = { type: "run_failed", error: { type: "ValueError", message: "" } };
  expect(standing(ledger(started, said, silent))).toEqual({ is: "failed", why: "ValueError" });
});
