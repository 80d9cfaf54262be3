import { expect, test } from "vitest";
import { addressOf, mediaIn } from "../../src/json/media";
import type { Body, LedgerEvent } from "../../src/ledger/event";
import { findEvents } from "../../src/ledger/search";
import { spansOf } from "../../src/ledger/spans";
import { stateOf } from "../../src/ledger/state";

type Said = Exclude<Body, { type: "turn_decision" | "turn_ended" }> & { turn?: string };

const ledger = (...bodies: Said[]): LedgerEvent[] =>
  bodies.map(({ turn, ...body }, index) => ({
    seq: index + 1,
    session: "s",
    at: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
    author: "clerk",
    ...(turn === undefined ? {} : { turn }),
    body: body as Body,
  }));

const result = (changes: Body & { type: "tool_result" } extends { changes?: infer C } ? C : never): Said => ({
  type: "tool_result",
  call: "c",
  tool: "paint",
  outcome: { output: null },
  changes: changes ?? [],
});

test("state is folded from the beginning, from changes and from results of tools, by scope", () => {
  const { scopes, changes } = stateOf(
    ledger(
      {
        type: "session_started",
        agent: "clerk",
        state: { session: { colour: "blue", deep: { a: 1, b: 2 } } },
      },
      result([{ session: { colour: "red", deep: { b: null, c: 3 } } }, { user: { count: 1 } }]),
      { type: "state_change", changes: { session: { colour: null, same: 1 } } },
      { type: "state_change", changes: { session: { same: 1 } } },
    ),
  );
  expect([...(scopes.get("session") ?? [])]).toEqual([
    ["deep", { value: { a: 1, c: 3 }, seq: 2 }],
    ["same", { value: 1, seq: 3 }],
  ]);
  expect([...(scopes.get("user") ?? [])]).toEqual([["count", { value: 1, seq: 2 }]]);
  expect(changes.get(2)).toEqual([
    { scope: "session", key: "colour", before: "blue", after: "red" },
    { scope: "session", key: "deep", before: { a: 1, b: 2 }, after: { a: 1, c: 3 } },
    { scope: "user", key: "count", before: undefined, after: 1 },
  ]);
  expect(changes.get(3)?.[0]).toEqual({ scope: "session", key: "colour", before: "red", after: undefined });
  expect(changes.has(4)).toBe(false);
});

test("a field of the state may be called __proto__", () => {
  const patch = JSON.parse('{"session":{"__proto__":{"__proto__":{"owned":true}}}}');
  const { scopes } = stateOf(ledger({ type: "state_change", changes: patch }));
  expect([...(scopes.get("session")?.keys() ?? [])]).toEqual(["__proto__"]);
  expect(({} as { owned?: boolean }).owned).toBeUndefined();
});

test("decisions and calls have their durations, also those that go on", () => {
  const spans = spansOf(
    ledger(
      { type: "model_request", turn: "t" },
      { type: "model_response", content: {}, turn: "t" },
      { type: "tool_call", call: "c", tool: "paint", args: {} },
      { type: "tool_call", call: "d", tool: "wait", args: {} },
      { type: "tool_result", call: "c", tool: "paint", outcome: { error: { type: "E", message: "no" } } },
    ),
  );
  expect(
    spans.map(({ name, begin, end, failed }) => [name, end === null ? null : end - begin, failed]),
  ).toEqual([
    ["clerk", 1000, false],
    ["paint", 2000, true],
    ["wait", null, false],
  ]);
});

test("events are found by what they are called, by keys, values and numbers", () => {
  const events = ledger(
    { type: "user_message", content: { parts: [{ text: 'A "Heron"\nin the reeds' }] } },
    { type: "tool_call", call: "c", tool: "paint", args: { shade: 12 } },
  );
  expect(findEvents(events, '"heron"')).toEqual([1]);
  expect(findEvents(events, "tool call")).toEqual([2]);
  expect(findEvents(events, "SHADE")).toEqual([2]);
  expect(findEvents(events, "#1")).toEqual([1]);
  expect(findEvents(events, "kingfisher")).toEqual([]);
});

test("pictures and sounds are data of known kinds, never addresses", () => {
  const data = "aGVyb24=";
  expect(
    mediaIn([
      { type: "image", mimeType: "image/png", data },
      { inline_data: { mime_type: "audio/wav", data: "a_-b" } },
      `data:image/gif;base64,${data}`,
      { mimeType: "image/svg+xml", data },
      { mimeType: "text/html", data },
      { mimeType: "image/png", data: "https://evil.example/pixel.png" },
      "data:text/html;base64,aGVyb24=",
      { mimeType: "image/png", data: "aGVy… (4000 bytes more)" },
    ]).map(({ kind, src }) => [kind, src]),
  ).toEqual([
    ["image", `data:image/png;base64,${data}`],
    ["audio", "data:audio/wav;base64,a/+b"],
    ["image", `data:image/gif;base64,${data}`],
    ["image", null],
  ]);
});

test("only whole http addresses are links", () => {
  expect(addressOf("https://example.com/a?b=c")).toBe("https://example.com/a?b=c");
  for (const text of [
    "javascript:alert(1)",
    "see https://example.com",
    "data:text/html,x",
    "https://",
    "//example.com",
  ])
    expect(addressOf(text)).toBeNull();
});
