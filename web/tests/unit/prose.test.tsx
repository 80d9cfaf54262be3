import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Json } from "../../src/api/client";
import { allEntries } from "../../src/ledger/entries";
import type { Body } from "../../src/ledger/event";
import { EntryCard } from "../../src/rooms/session/EntryCard";
import { RequestView } from "../../src/rooms/session/RequestDialog";
import { Markdown } from "../../src/ui/Markdown";

const SAID = "Calculate 5*5*5+10 using __init__.py\n  and <b> snake_case_*x*";

let root: Root;
let place: HTMLElement;

beforeAll(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
});
beforeEach(() => {
  place = document.createElement("div");
  document.body.append(place);
  root = createRoot(place);
});
afterEach(async () => {
  await act(async () => root.unmount());
  place.remove();
  vi.unstubAllGlobals();
});

const render = (node: ReactNode) =>
  act(async () => root.render(<QueryClientProvider client={new QueryClient()}>{node}</QueryClientProvider>));
const button = (name: string) =>
  [...place.querySelectorAll("button")].find((one) => one.textContent?.startsWith(name));
const click = (name: string) => act(async () => button(name)?.click());
const words = () => place.querySelector(".prose-text")?.textContent;

async function card(body: Body, truncated = false) {
  const event = { seq: 1, session: "s", at: "2026-01-01T00:00:00Z", author: "clerk", body, truncated };
  const [entry] = allEntries([event]);
  if (!entry) throw new Error("an event is an entry");
  await render(<EntryCard session="s" entry={entry} brief open sought={false} onToggle={() => undefined} />);
}
const user = (text: string): Body => ({ type: "user_message", content: { role: "user", parts: [{ text }] } });
const output = (output: Json): Body => ({ type: "tool_result", call: "c", tool: "t", outcome: { output } });

describe("what was said", () => {
  it("by a user or a tool is shown to the letter, and as Markdown for those who want it", async () => {
    for (const body of [user(SAID), output(SAID), output({ result: SAID })]) {
      await card(body);
      expect(words()).toBe(SAID);
      await click("Markdown");
      expect(words()).not.toContain("__init__");
      await click("Text");
      expect(words()).toBe(SAID);
    }
  });

  it("as the final response is Markdown, and to the letter for those who want it", async () => {
    await card({ type: "final_response", output: "It is **5**" });
    expect(place.querySelector("strong")?.textContent).toBe("5");
    await click("Text");
    expect(words()).toBe("It is **5**");
  });

  it("is copied as it was said, and whole where only a part is here", async () => {
    const copied = vi.fn(async () => undefined);
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText: copied } });
    await card({ type: "final_response", output: "It is **5**" });
    await click("Copy");
    expect(copied).toHaveBeenLastCalledWith("It is **5**");
    vi.stubGlobal("fetch", async (path: string) => {
      expect(path).toBe("/v1/sessions/s/events/1");
      return new Response(JSON.stringify({ body: output({ result: "all of it" }) }));
    });
    await render(null);
    await card(output({ result: "all… (6 bytes more)" }), true);
    await click("Copy");
    expect(copied).toHaveBeenLastCalledWith("all of it");
  });

  it("as JSON is a tree, and the text for those who want it", async () => {
    await card(user('{"a":  1}'));
    expect(place.querySelector(".json")?.textContent).toBe("a: 1");
    await click("Text");
    expect(words()).toBe('{"a":  1}');
  });

  it("needs no choice where nothing in it could be read in two ways", async () => {
    await card(user("What is 5 + 3?"));
    expect(button("Markdown")).toBeUndefined();
    expect(button("Copy")).toBeDefined();
  });
});

describe("what the model sees", () => {
  it("is the text it gets, and of a long conversation a part at a time", async () => {
    const contents = Array.from({ length: 100 }, (_, index) => ({
      role: "user",
      parts: [{ text: `${index} ${SAID} ${"long ".repeat(2000)}` }],
    }));
    await render(<RequestView request={{ contents, tools: [] }} />);
    const cards = () => place.querySelectorAll(".card").length;
    expect(cards()).toBe(30);
    expect(place.textContent?.length).toBeLessThan(100_000);
    expect(place.textContent).toContain(`99 ${SAID}`);
    await click("Show 30 more of 70");
    expect(cards()).toBe(60);
    expect(place.querySelector(".card")?.textContent).toContain("41. user");
  });
});

describe("Markdown", () => {
  it("keeps the lines that somebody began anew, and adds none to lists with room between", async () => {
    await render(<Markdown text={"one\ntwo\n\n1. first\n\n2. second\nline"} />);
    expect(place.querySelectorAll("p br")).toHaveLength(2);
    expect(place.querySelectorAll("li")).toHaveLength(2);
    expect(place.querySelectorAll("li > br")).toHaveLength(0);
  });
});
