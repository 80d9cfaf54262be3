import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { hearTime, serverNow } from "../../src/api/clock";
import { duration, Since } from "../../src/ui/time";

beforeAll(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
});
beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1, 12, 0, 0) });
});
afterEach(() => {
  hearTime(new Date().toUTCString());
  vi.useRealTimers();
});

it.each([
  [0, "under 1 ms"],
  [0.4, "under 1 ms"],
  [3.14, "3.1 ms"],
  [42, "42 ms"],
  [61_000, "1 min 1 s"],
])("%d ms are %s", (ms, words) => {
  expect(duration(ms)).toBe(words);
});

it("time is the server's, where clocks differ; and ours, where they only seem to", () => {
  hearTime("Thu, 01 Jan 2026 12:00:01 GMT");
  expect(serverNow()).toBe(Date.now());
  hearTime(null);
  expect(serverNow()).toBe(Date.now());
  hearTime("Thu, 01 Jan 2026 12:05:00 GMT");
  expect(serverNow() - Date.now()).toBe(300_500);
});

it("waiting is told by the server's clock", async () => {
  hearTime("Thu, 01 Jan 2026 11:59:00 GMT");
  const place = document.createElement("div");
  const root = createRoot(place);
  await act(async () => root.render(<Since at="2026-01-01T11:58:57.500Z" />));
  expect(place.textContent).toBe("3 s");
  await act(async () => root.render(<Since at="2026-01-01T12:00:00Z" />));
  expect(place.textContent).toBe("1 s");
  await act(async () => root.unmount());
});
