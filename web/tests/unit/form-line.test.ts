import { expect, test } from "vitest";
import { type Line, remove, take, withOpen } from "../../src/rooms/session/line";

const call = (tool: string) => ({ tool, args: {} });
const line = (tools: string, place: number | null = null): Line => ({
  prepared: [...tools].map(call),
  place,
});
const order = (calls: { tool: string }[]): string => calls.map(({ tool }) => tool).join("");

test("a new call comes last, and one that was opened comes back to its place", () => {
  expect(order(withOpen(line("ab"), call("x")))).toBe("abx");
  for (const [index, tool] of [..."abc"].entries()) {
    const taken = take(line("abc"), index, null);
    expect(taken.prepared).toHaveLength(2);
    expect(order(withOpen(taken, call(tool)))).toBe("abc");
  }
});

test("what is open goes back when another is opened", () => {
  // b is open, at its place.
  const open = take(line("abc"), 1, null);
  for (const [index, tool] of [..."ac"].entries()) {
    const next = take(open, index, call("b"));
    expect(order(withOpen(next, call(tool)))).toBe("abc");
  }
  // A new one goes to the end.
  const next = take(line("abc"), 0, call("x"));
  expect(order(withOpen(next, call("a")))).toBe("abcx");
});

test("the place moves up when one before it goes", () => {
  const open = take(line("abcd"), 2, null);
  expect(order(withOpen(remove(open, 0), call("c")))).toBe("bcd");
  expect(order(withOpen(remove(open, 2), call("c")))).toBe("abc");
});
