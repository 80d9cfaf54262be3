import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";
import { PastSessions } from "../../src/rooms/home/PastSessions";

let root: Root;
let place: HTMLElement;
let asked: string[];

beforeAll(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
});
beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    return new Response('{"sessions":[]}');
  });
  place = document.createElement("div");
  document.body.append(place);
  root = createRoot(place);
});
afterEach(async () => {
  await act(async () => root.unmount());
  place.remove();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const box = () => place.querySelector("input") as HTMLInputElement;
const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
const type = (text: string) =>
  act(async () => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(box(), text);
    box().dispatchEvent(new Event("input", { bubbles: true }));
  });

async function open(path: string) {
  const { hook, searchHook, navigate, history } = memoryLocation({ path, record: true });
  await act(async () =>
    root.render(
      <QueryClientProvider client={new QueryClient()}>
        <Router hook={hook} searchHook={searchHook}>
          <PastSessions />
        </Router>
      </QueryClientProvider>,
    ),
  );
  return { go: (to: string) => act(async () => navigate(to)), at: () => history.at(-1) };
}

describe("the search for sessions", () => {
  it("is what the address says, also when that changes elsewhere", async () => {
    const { go, at } = await open("/?q=parcel");
    expect(box().value).toBe("parcel");
    await go("/");
    expect(box().value).toBe("");
    await pass(1000);
    expect(at()).toBe("/");
    expect(asked.at(-1)).not.toContain("q=");
    await go("/?q=late");
    expect(box().value).toBe("late");
    await pass(1000);
    expect(asked.at(-1)).toContain("q=late");
  });

  it("is searched a moment after typing, and what is typed on stays", async () => {
    const { at } = await open("/?status=completed&page=abc");
    await type("pa");
    await pass(100);
    await type("par");
    await pass(100);
    expect(at()).toBe("/?status=completed&page=abc");
    await pass(150);
    expect(at()).toBe("/?status=completed&q=par");
    expect(box().value).toBe("par");
    await type("parc");
    expect(box().value).toBe("parc");
    await pass(250);
    expect(at()).toBe("/?status=completed&q=parc");
    await type("");
    await pass(250);
    expect(at()).toBe("/?status=completed");
  });

  it("is not begun by what was typed before the address changed", async () => {
    const { go, at } = await open("/?q=a");
    await type("ab");
    await go("/");
    await pass(1000);
    expect(at()).toBe("/");
    expect(box().value).toBe("");
  });

  it("shows what has ended, unless something else is asked for", async () => {
    const { go } = await open("/");
    expect(asked.at(-1)).toContain("status=ended");
    expect(place.querySelector("h2")?.textContent).toBe("Past sessions");
    await go("/?status=any");
    await pass(10);
    expect(asked.at(-1)).not.toContain("status=");
    await go("/?status=cancelled");
    await pass(10);
    expect(asked.at(-1)).toContain("status=cancelled");
  });
});
