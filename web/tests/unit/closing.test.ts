import { describe, expect, it } from "vitest";
import type { Cue } from "../../src/api/client";
import { closing } from "../../src/ledger/closing";
import type { Body, LedgerEvent } from "../../src/ledger/event";

const cue = (kind: string, more: Partial<Cue> = {}) =>
  ({ id: "q", session: "s", kind, agent: "a", opened_at: "2026-01-01T10:00:00Z", ...more }) as Cue;

const event = (body: Body, more: Partial<LedgerEvent> = {}): LedgerEvent => ({
  seq: 1,
  session: "s",
  at: "2026-01-01T10:00:05Z",
  author: "a",
  body,
  ...more,
});
const replied = (turn: string, at?: string) =>
  event({ type: "model_response", content: {} }, { turn, ...(at ? { at } : {}) });
const dismissed = (which: string) => event({ type: "cue_dismissed", cue: which, kind: "model" });
const failed = event({ type: "run_failed", error: { type: "E", message: "m" } });
const result = (call: string, author = "a") =>
  event({ type: "tool_result", call, tool: "t", outcome: { output: 1 } }, { author });

describe("what became of a cue", () => {
  it.each<[string, Cue, LedgerEvent[], ReturnType<typeof closing>]>([
    ["nothing is known yet", cue("model"), [], null],
    ["the model was answered", cue("model"), [replied("q")], "answered"],
    ["another turn was answered", cue("model"), [replied("other")], null],
    ["it was put away", cue("model"), [dismissed("q")], "dismissed"],
    ["another one was put away", cue("model"), [dismissed("other")], null],
    ["the run failed", cue("model"), [failed], "failed"],
    ["the run failed, and put it away", cue("model"), [dismissed("q"), failed], "failed"],
    ["the run failed afterwards", cue("model"), [replied("q"), failed], "answered"],
    [
      "it was long ago",
      cue("user"),
      [event({ type: "user_message", content: {} }, { at: "2026-01-01T09:00:00Z" })],
      null,
    ],
    ["the user spoke", cue("user"), [event({ type: "user_message", content: {} })], "answered"],
    ["the tool gave something", cue("tool", { call_id: "c" }), [result("c")], "answered"],
    [
      "the server ended the call",
      cue("tool", { call_id: "c" }),
      [result("c", "rehearsal"), failed],
      "failed",
    ],
  ])("%s", (_, asked, events, expected) => {
    expect(closing(events, asked)).toBe(expected);
  });
});
