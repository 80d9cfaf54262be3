import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/api/client";
import { childPath, find } from "../../src/json/find";
import { oneLine } from "../../src/json/show";

describe("searching a value", () => {
  it("finds keys and values without regard to case, and what to unfold", () => {
    const value = { Name: "Ada", list: [{ city: "Paris" }, "ada"], "a/b": 1 };
    const found = find(value, "ADA");
    expect([...found.paths].sort()).toEqual(["/Name", "/list/1"]);
    expect(found.open.has("/list")).toBe(true);
    expect([...find(value, "a/b").paths]).toEqual(["/a~1b"]);
    expect(find(value, "nowhere").paths.size).toBe(0);
  });

  it("stops at a bound and says so", () => {
    const found = find(
      Array.from({ length: 10_000 }, () => "same"),
      "same",
    );
    expect(found.more).toBe(true);
    expect(found.paths.size).toBe(200);
  });

  it("does not mind how deep a value is", () => {
    let deep: Json = "end";
    for (let level = 0; level < 5_000; level += 1) deep = [deep];
    expect(find(deep, "end").paths.size).toBe(1);
  });

  it("names each place once", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        fc.pre(a !== b);
        expect(childPath("", a)).not.toBe(childPath("", b));
      }),
    );
  });
});

it("a line is never longer than asked", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 2, max: 50 }), (value, most) => {
      const line = oneLine(value as Json, most);
      expect(line.length).toBeLessThanOrEqual(most);
      expect(line).not.toMatch(/[\n\t]/);
    }),
  );
});
