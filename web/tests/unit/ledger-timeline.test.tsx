import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Body, LedgerEvent } from "../../src/ledger/event";
import { Timeline } from "../../src/rooms/session/Timeline";

let root: Root;
let place: HTMLElement;
/** What the browser would know: how long the page is, and where it stands. */
let around = 200;
let y = 0;
const WINDOW = 700;

const pageHeight = () => around + (Number.parseFloat(rowList()?.style.height ?? "") || 0);
const rowList = () => place.querySelector<HTMLElement>("ol.rows");

beforeAll(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
});
beforeEach(() => {
  [around, y] = [200, 0];
  vi.spyOn(document.documentElement, "scrollHeight", "get").mockImplementation(pageHeight);
  vi.spyOn(window, "scrollY", "get").mockImplementation(() => y);
  vi.spyOn(window, "innerHeight", "get").mockReturnValue(WINDOW);
  vi.spyOn(window, "scrollTo").mockImplementation(((to: ScrollToOptions) => moveTo(to.top ?? 0)) as never);
  // Rows are as high as was guessed.
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockImplementation(function (this: HTMLElement) {
    return this.dataset.kind === "note" ? 44 : 120;
  });
  history.replaceState(null, "", "/sessions/s");
  place = document.createElement("div");
  document.body.append(place);
  root = createRoot(place);
});
afterEach(async () => {
  await act(async () => root.unmount());
  place.remove();
  vi.restoreAllMocks();
});

const moveTo = (top: number) => {
  y = Math.max(0, Math.min(top, pageHeight() - WINDOW));
  window.dispatchEvent(new Event("scroll"));
};
const left = () => Math.round(pageHeight() - WINDOW - y);

const event = (seq: number, body: Body): LedgerEvent => ({
  seq,
  session: "s",
  at: "2026-01-01T00:00:00Z",
  author: "clerk",
  body,
});
const calls = (count: number): LedgerEvent[] =>
  Array.from({ length: count }, (_, index) =>
    event(index + 1, { type: "tool_call", call: `c${index}`, tool: "add", args: { a: index } }),
  );

async function show(events: LedgerEvent[], complete = true) {
  await act(async () =>
    root.render(<Timeline session="s" log={{ events, complete, problem: null }} changes={new Map()} />),
  );
  // Frames for those who wait for them.
  for (let frame = 0; frame < 2; frame += 1) await act(() => new Promise(requestAnimationFrame));
}
const button = (name: string) =>
  [...place.querySelectorAll("button")].find((one) => one.textContent?.startsWith(name));
const click = (name: string) => act(async () => button(name)?.click());

describe("the timeline", () => {
  it("stays where somebody reads, though something happens", async () => {
    await show([], false);
    await show(calls(300));
    await act(async () => moveTo(0));
    expect(left()).toBeGreaterThan(10_000);
    await show(calls(301));
    await show(calls(305));
    expect(y).toBe(0);
  });

  it("opens at the newest where it is long, once, and at the top where a little is all", async () => {
    await show(calls(5));
    expect(y).toBe(0);
    await act(async () => root.unmount());
    root = createRoot(place);
    await show([], false);
    await show(calls(300));
    expect(left()).toBe(0);
    await act(async () => moveTo(0));
    await show(calls(310));
    expect(y).toBe(0);
  });

  it("opens at the event that the address names, however long it is", async () => {
    history.replaceState(null, "", "/sessions/s#e3");
    await show(calls(300));
    expect(left()).toBeGreaterThan(10_000);
  });

  it("moves along from the beginning, while all of it fits", async () => {
    await show([], false);
    await show(calls(2));
    expect(left()).toBeLessThan(0);
    for (let count = 3; count < 30; count += 1) {
      await show(calls(count));
      expect(left()).toBeLessThanOrEqual(0);
    }
    expect(y).toBeGreaterThan(2000);
  });

  it("moves along for those at the end, until they move up, and again when they are back", async () => {
    await show(calls(50));
    await act(async () => moveTo(1_000_000));
    await show(calls(51));
    expect(left()).toBe(0);
    await act(async () => moveTo(y - 2000));
    const before = y;
    await show(calls(52));
    expect(y).toBe(before);
    await act(async () => moveTo(1_000_000));
    await show(calls(53));
    expect(left()).toBe(0);
  });

  it("keeps to the end when much comes at once, and when rows turn out to be higher", async () => {
    await show(calls(50));
    await act(async () => moveTo(1_000_000));
    await act(async () => {
      root.render(
        <Timeline
          session="s"
          log={{ events: calls(60), complete: true, problem: null }}
          changes={new Map()}
        />,
      );
    });
    // Nobody has moved: the page is longer than it was a moment ago.
    await show(calls(61));
    expect(left()).toBe(0);
    around += 900;
    await show(calls(62));
    expect(left()).toBe(0);
  });

  it("stays with what somebody unfolds at the end", async () => {
    await show(calls(50));
    await act(async () => moveTo(1_000_000));
    await show(calls(51));
    window.dispatchEvent(new Event("pointerdown"));
    around += 900;
    const before = y;
    await show(calls(52));
    expect(y).toBe(before);
  });

  it("follows again after a link to an event, once somebody is at the end", async () => {
    history.replaceState(null, "", "/sessions/s#e3");
    await show(calls(50));
    await show(calls(51));
    expect(left()).toBeGreaterThan(1000);
    window.dispatchEvent(new Event("wheel"));
    await act(async () => moveTo(1_000_000));
    await show(calls(52));
    expect(left()).toBe(0);
  });

  it("says where another day begins", async () => {
    const [first, second, third] = calls(3) as [LedgerEvent, LedgerEvent, LedgerEvent];
    const later = "2026-03-02T12:00:00Z";
    await show([first, { ...second, at: later }, { ...third, at: later }]);
    const days = [...place.querySelectorAll(".day-divider")].map((day) => day.textContent);
    expect(days).toHaveLength(1);
    expect(days[0]).toContain("March");
  });

  it("does not take another view for something that happened", async () => {
    const notes = Array.from({ length: 8 }, (_, index) =>
      event(index + 3, { type: "note", name: "n", data: index }),
    );
    await show([...calls(2), ...notes]);
    around = WINDOW;
    await act(async () => moveTo(1_000_000));
    const before = y;
    await click("All events");
    await show([...calls(2), ...notes]);
    expect(y).toBe(before);
  });
});

describe("entries of the timeline", () => {
  const some = [
    event(1, { type: "session_started", agent: "clerk" }),
    event(2, { type: "user_message", content: { role: "user", parts: [{ text: "hi" }] } }),
    event(3, { type: "note", name: "padding", data: { a: 1 } }),
    event(4, { type: "tool_call", call: "c", tool: "add", args: { a: 1 } }),
    event(5, {
      type: "model_response",
      content: { role: "model", parts: [{ text: "so" }, { function_call: { name: "add", args: {} } }] },
    }),
  ];
  const open = () =>
    [...place.querySelectorAll("article")]
      .filter((card) => card.querySelector(".entry-body"))
      .map((card) => card.id);

  beforeEach(async () => {
    history.replaceState(null, "", "/sessions/s?view=all");
    await show(some);
  });

  it("are open where something was said, and one line where not", () => {
    expect(open()).toEqual(["e2", "e4", "e5"]);
  });

  it("all unfold and all fold, quiet ones too", async () => {
    await click("Expand all");
    expect(open()).toEqual(["e1", "e2", "e3", "e4", "e5"]);
    await click("Collapse all");
    expect(open()).toEqual([]);
  });

  it("fold and unfold one by one, and stay so when they have been out of view", async () => {
    await click("Padding");
    await click("Tool call");
    expect(open()).toEqual(["e2", "e3", "e5"]);
    await click("Conversation");
    await click("All events");
    expect(open()).toEqual(["e2", "e3", "e5"]);
    await click("Padding");
    expect(open()).toEqual(["e2", "e5"]);
  });

  it("keep their link when another view is chosen", async () => {
    await act(async () => history.replaceState(null, "", "/sessions/s?q=1&view=all#e3"));
    await click("Conversation");
    expect(location.href).toMatch(/\/sessions\/s\?q=1&view=conversation#e3$/);
    await click("All events");
    expect(location.href).toMatch(/\/sessions\/s\?q=1&view=all#e3$/);
  });
});
