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
const note = (name: string, data: object = {}) => event({ type: "note", name, data: data as never });
const result = (call: string, author = "a") =>
  event({ type: "tool_result", call, tool: "t", outcome: { output: 1 } }, { author });

describe("what became of a cue", () => {
  it.each<[string, Cue, LedgerEvent[], ReturnType<typeof closing>]>([
    ["nothing is known yet", cue("model"), [], null],
    ["the model was answered", cue("model"), [replied("q")], "answered"],
    ["another turn was answered", cue("model"), [replied("other")], null],
    ["it was put away", cue("model"), [note("cue_dismissed", { cue: "q" })], "dismissed"],
    ["another one was put away", cue("model"), [note("cue_dismissed", { cue: "other" })], null],
    ["the run failed", cue("model"), [note("run_failed")], "failed"],
    [
      "the run failed, and put it away",
      cue("model"),
      [note("cue_dismissed", { cue: "q" }), note("run_failed")],
      "failed",
    ],
    ["the run failed afterwards", cue("model"), [replied("q"), note("run_failed")], "answered"],
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
      [result("c", "rehearsal"), note("run_failed")],
      "failed",
    ],
  ])("%s", (_, asked, events, expected) => {
    expect(closing(events, asked)).toBe(expected);
  });
});
