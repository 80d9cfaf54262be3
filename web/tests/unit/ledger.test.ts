import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { Problem, Unreachable } from "../../src/api/client";
import { readJsonText } from "../../src/json/exact";
import { allEntries, conversation } from "../../src/ledger/entries";
import type { Body, LedgerEvent } from "../../src/ledger/event";
import { EventLog } from "../../src/ledger/log";

const event = (seq: number, body: Body, more: Partial<LedgerEvent> = {}): LedgerEvent => ({
  seq,
  session: "s",
  at: "2026-01-01T00:00:00Z",
  author: "clerk",
  body,
  ...more,
});

const said = (text: string): Body => ({
  type: "model_response",
  content: { role: "model", parts: [{ text }] },
});

describe("entries", () => {
  const events = [
    event(1, { type: "session_started", agent: "clerk" }),
    event(2, { type: "user_message", content: { role: "user", parts: [{ text: "hi" }] } }),
    event(3, { type: "model_request" }),
    event(4, {
      type: "model_response",
      content: { role: "model", parts: [{ function_call: { name: "add", args: { a: 1 } } }] },
    }),
    event(5, { type: "tool_call", call: "c", tool: "add", args: { a: 1 } }),
    event(6, { type: "tool_result", call: "c", tool: "add", outcome: { output: { result: 1 } } }),
    event(7, { type: "tool_call", call: "d", tool: "add", args: {} }, { invocation: "clerk/0/@c/inner" }),
    event(8, {
      type: "tool_result",
      call: "d",
      tool: "add",
      outcome: { error: { type: "E", message: "m" } },
    }),
    event(9, said("done")),
    event(10, { type: "agent_ended", output: "done" }),
    event(11, { type: "final_response", output: "done" }),
    event(12, { type: "session_ended", reason: "completed" }),
  ];

  it("are the ledger's events, each once and in order", () => {
    expect(allEntries(events).map((entry) => entry.seq)).toEqual(events.map((each) => each.seq));
  });

  it("of the conversation are what was said and done, the final response once", () => {
    const brief = conversation(events);
    expect(brief.map((entry) => [entry.seq, entry.kind])).toEqual([
      [2, "user"],
      [5, "call"],
      [6, "output"],
      [7, "call"],
      [8, "error"],
      [11, "final"],
    ]);
    expect(brief.map((entry) => entry.depth)).toEqual([0, 0, 0, 1, 0, 0]);
  });

  it("of the conversation keep a reply that the final response does not repeat", () => {
    const other = [event(1, said("first")), event(2, { type: "final_response", output: "second" })];
    expect(conversation(other).map((entry) => entry.seq)).toEqual([1, 2]);
    const value = [event(1, said('{"a": 1}')), event(2, { type: "final_response", output: { a: 1 } })];
    expect(conversation(value).map((entry) => entry.seq)).toEqual([2]);
    const exact = (text: string) =>
      conversation([
        event(1, said(text)),
        event(2, { type: "final_response", output: readJsonText('{"id":9007199254740993}') }),
      ]).map((entry) => entry.seq);
    expect(exact('{"id": 9007199254740993}')).toEqual([2]);
    expect(exact('{"id": 9007199254740992}')).toEqual([1, 2]);
  });

  it("have a word for kinds that this page does not know", () => {
    const newer = event(1, { type: "brand_new" } as unknown as Body);
    expect(allEntries([newer])[0]).toMatchObject({ kind: "quiet", word: "Brand new" });
  });
});

describe("the log of a session", () => {
  it("has every event once and in order, however it is told to look", async () => {
    const script = fc.array(
      fc.record({ grows: fc.integer({ min: 0, max: 30 }), tellings: fc.integer({ min: 1, max: 3 }) }),
      {
        maxLength: 8,
      },
    );
    await fc.assert(
      fc.asyncProperty(script, fc.integer({ min: 1, max: 20 }), async (steps, page) => {
        let written = 0;
        const log = new EventLog("s", async (path) => {
          const after = Number(/after=(\d+)/.exec(path)?.[1]);
          await Promise.resolve();
          const count = Math.min(page, Math.max(0, written - after));
          // A page may be told again by a server that is asked twice.
          const from = Math.max(0, after - 1);
          const events = Array.from({ length: count + (after - from) }, (_, index) =>
            event(from + index + 1, { type: "note", name: "n", data: null }),
          );
          return { events, last_seq: written };
        });
        for (const step of steps) {
          written += step.grows;
          const tellings = Array.from({ length: step.tellings }, () => log.catchUp());
          await Promise.all(tellings);
        }
        await log.catchUp();
        const seqs = log.current().events.map((each) => each.seq);
        expect(seqs).toEqual(Array.from({ length: written }, (_, index) => index + 1));
        expect(log.current().complete).toBe(true);
      }),
    );
  });

  it("keeps what it has when the server is away, and goes on", async () => {
    let away = false;
    const log = new EventLog("s", async (path) => {
      if (away) throw new Error("away");
      const after = Number(/after=(\d+)/.exec(path)?.[1]);
      return {
        events: after < 2 ? [event(after + 1, { type: "note", name: "n", data: 1 })] : [],
        last_seq: 2,
      };
    });
    await log.catchUp();
    away = true;
    await log.catchUp();
    expect(log.current()).toMatchObject({ problem: "away" });
    expect(log.current().events).toHaveLength(2);
    away = false;
    await log.catchUp();
    expect(log.current().problem).toBeNull();
  });

  it("reads once more when it was told during a reading that fails", async () => {
    let asked = 0;
    const log: EventLog = new EventLog("s", async () => {
      asked += 1;
      if (asked > 1) return { events: [event(1, { type: "note", name: "n", data: 1 })], last_seq: 1 };
      void log.catchUp();
      throw new Problem(500, "internal", "something broke");
    });
    await log.catchUp();
    expect(asked).toBe(2);
    expect(log.current()).toMatchObject({ problem: null, complete: true });
    expect(log.current().events).toHaveLength(1);
  });

  it("goes on asking a server that is busy, one question at a time, and not one that says no", async () => {
    vi.useFakeTimers();
    try {
      let asked = 0;
      let error: Error = new Unreachable("try again");
      const log = new EventLog("s", async () => {
        asked += 1;
        throw error;
      });
      const leave = log.subscribe(() => undefined);
      // However often it is told meanwhile, it asks about once in a second.
      for (let told = 0; told < 5; told += 1) await log.catchUp();
      expect(log.current().problem).toBe("try again");
      asked = 0;
      await vi.advanceTimersByTimeAsync(10_000);
      expect(asked).toBeGreaterThanOrEqual(9);
      expect(asked).toBeLessThanOrEqual(11);
      error = new Problem(404, "not_found", "gone");
      await vi.advanceTimersByTimeAsync(1_000);
      asked = 0;
      await vi.advanceTimersByTimeAsync(10_000);
      expect(asked).toBe(0);
      leave();
    } finally {
      vi.useRealTimers();
    }
  });
});
