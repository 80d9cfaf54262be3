import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Json } from "../../src/api/client";
import { readJsonText } from "../../src/json/exact";
import * as show from "../../src/json/show";
import { Tree } from "../../src/json/Tree";

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
  vi.restoreAllMocks();
});

const render = (node: ReactNode) => act(async () => root.render(node));
const lines = () => [...place.querySelectorAll(".json-line, .json-fold")].map((line) => line.textContent);
const button = (name: string) =>
  [...place.querySelectorAll("button")].find((one) => one.textContent?.includes(name));
const click = (name: string) => act(async () => button(name)?.click());

async function type(text: string) {
  const field = place.querySelector("input") as HTMLInputElement;
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(field, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

describe("a tree", () => {
  it("shows big numbers with all their digits, as numbers", async () => {
    await render(
      <Tree value={readJsonText('{"id":1234567890123456789,"list":[-9223372036854775808]}')} label="it" />,
    );
    expect(lines()).toEqual(["id: 1234567890123456789", "list: [ 1 item ]", "0: -9223372036854775808"]);
    expect(place.querySelectorAll(".json-number")).toHaveLength(2);
    await render(<Tree value={readJsonText("12345678901234567890")} label="it" />);
    expect(lines()).toEqual(["12345678901234567890"]);
    expect(place.querySelector(".json-number")).not.toBeNull();
  });

  it("finds and copies them", async () => {
    const copied = vi.fn(async () => undefined);
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText: copied } });
    const value = readJsonText(`{"text":"${"x".repeat(300)}","a":{"b":{"c":{"id":1234567890123456789}}}}`);
    await render(<Tree value={value} label="it" depth={1} />);
    expect(lines().join()).not.toContain("id: 1234567890123456789");
    await type("890123456789");
    expect(place.querySelector("[role=status]")?.textContent).toBe("1 found");
    expect(place.querySelector(".json-found")?.textContent).toBe("id: 1234567890123456789");
    await click("Copy");
    expect(copied).toHaveBeenCalledWith(show.pretty(value));
    expect(show.pretty(value)).toContain('"id": 1234567890123456789');
    vi.unstubAllGlobals();
  });

  it("says that only a part was searched where it has a part, and searches all of it", async () => {
    const rows = (count: number): Json => Array.from({ length: count }, (_, row) => `row number ${row}`);
    const part = [...(rows(999) as Json[]), "… (49001 more)"];
    await render(<Tree value={part} label="it" whole={async () => rows(50_000)} />);
    await type("row number 49999");
    expect(place.querySelector("[role=status]")?.textContent).toBe("nothing found in the part that is here");
    await click("Search all of it");
    expect(place.querySelector("[role=status]")?.textContent).toBe("1 found");
    expect(place.querySelector(".json-found")?.textContent).toBe("49999: row number 49999");
    expect(button("Search all of it")).toBeUndefined();
    await type("no such row");
    expect(place.querySelector("[role=status]")?.textContent).toBe("nothing found");
  });

  it("says why the rest of a part could not be searched", async () => {
    const whole = () => Promise.reject(new Error("The server cannot be reached."));
    await render(<Tree value={["x".repeat(300), "… (5 more)"]} label="it" whole={whole} />);
    await type("y");
    await click("Search all of it");
    expect(place.querySelector("[role=alert]")?.textContent).toBe("The server cannot be reached.");
    expect(place.querySelector("[role=status]")?.textContent).toBe("nothing found in the part that is here");
  });

  it("is small with few digits and large with many", async () => {
    const many = (count: number) => readJsonText(`[${Array(count).fill("1234567890123456789").join()}]`);
    await render(<Tree value={many(3)} label="it" />);
    expect(place.querySelector("input")).toBeNull();
    await render(<Tree value={many(50)} label="it" />);
    expect(place.querySelector("input")).not.toBeNull();
  });

  it("folds and unfolds, and says of what is folded how it begins", async () => {
    const value: Json = { a: { b: { c: [1, 2, 3] } }, text: "x".repeat(300), none: {}, empty: [] };
    await render(<Tree value={value} label="it" depth={1} />);
    expect(lines().slice(0, 1)).toEqual(['a: { 1 field } {"b":{"c":[1,2,3]}}']);
    expect(lines().slice(-2)).toEqual(["none: {} (empty)", "empty: [] (empty)"]);
    await click("a: ");
    expect(lines().slice(0, 2)).toEqual(["a: { 1 field }", 'b: { 1 field } {"c":[1,2,3]}']);
    await click("Unfold");
    expect(lines().slice(0, 4)).toEqual(["a: { 1 field }", "b: { 1 field }", "c: [ 3 items ]", "0: 1"]);
  });

  it("shows more of many entries when asked", async () => {
    await render(<Tree value={Array.from({ length: 250 }, (_, index) => index)} label="it" />);
    expect(lines()).toHaveLength(20);
    await click("100 more of 230");
    await click("100 more of 130");
    await click("30 more of 30");
    expect(lines()).toHaveLength(250);
    expect(lines().at(-1)).toBe("249: 249");
  });

  it("does not make its lines anew when it is drawn again", async () => {
    const made = vi.spyOn(show, "oneLine");
    const value: Json = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`key ${index}`, { name: "x".repeat(50), of: [index] }]),
    );
    await render(<Tree value={value} label="it" depth={1} />);
    const first = made.mock.calls.length;
    expect(first).toBe(20);
    await render(<Tree value={value} label="it" depth={1} />);
    await type("nowhere");
    await type("nowhere at all");
    expect(made.mock.calls.length).toBe(first);
  });

  it("draws what is found behind the first entries and far inside a text, and goes from one to the next", async () => {
    const scrolled = vi.fn();
    Element.prototype.scrollIntoView = scrolled;
    const rows = Array.from({ length: 3000 }, (_, index) => ({ id: index, text: `row ${index}` }));
    const value: Json = { rows, long: `${"x".repeat(9000)} needle behind` };
    await render(<Tree value={value} label="it" />);
    const current = () => place.querySelector(".json-current")?.textContent;
    await type("row 2718");
    expect(current()).toBe("text: row 2718");
    expect(place.querySelector("mark")?.textContent).toBe("row 2718");
    expect(scrolled).toHaveBeenCalled();
    await type("row 299");
    expect(place.querySelector("[role=status]")?.textContent).toBe("1 of 11 found");
    await click("Next");
    expect(current()).toBe("text: row 2990");
    await click("Previous");
    await click("Previous");
    expect(current()).toBe("text: row 2999");
    await type("needle");
    expect(place.querySelector("mark")?.textContent).toBe("needle");
    expect(place.textContent).toContain("needle behind");
  });

  it("unfolds about a screenful at first", async () => {
    const rows = Array.from({ length: 12 }, (_, id) => ({ id, name: "x".repeat(20), of: [id, { id }] }));
    await render(<Tree value={{ rows, count: 12 }} label="it" />);
    expect(lines()).toHaveLength(14);
  });

  it("of a cut value says how much there is, and copies the whole", async () => {
    const copied = vi.fn(async () => undefined);
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText: copied } });
    const all = Array.from({ length: 300 }, (_, index) => index);
    const cut: Json = { rows: [...all.slice(0, 100), "… (200 more)"] };
    await render(<Tree value={cut} label="it" whole={async () => ({ rows: all })} />);
    expect(lines()[0]).toContain("rows: [ 100 of 300 items ]");
    await click("rows: ");
    expect(lines().at(-1)).toBe("… 200 more are not here");
    await click("Copy");
    expect(copied).toHaveBeenCalledWith(show.pretty({ rows: all }));
    vi.unstubAllGlobals();
  });
});
