import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/api/client";
import { Big, readJsonText, writeJson } from "../../src/json/exact";
import { childPath, find } from "../../src/json/find";
import { oneLine, pretty, sizeOf } from "../../src/json/show";

const big = (digits: string) => new Big(digits) as unknown as Json;

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

  it("finds numbers by all their digits, and nothing inside them", () => {
    const value = readJsonText('{"id":1234567890123456789,"list":[-9223372036854775808]}');
    expect([...find(value, "4567890123456789").paths]).toEqual(["/id"]);
    expect([...find(value, "-922337203685477580").paths]).toEqual(["/list/0"]);
    expect(find(value, "digits").paths.size).toBe(0);
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

/** The same in the straightforward way: all of it, and then the beginning. */
function straightforward(value: Json | undefined, most: number): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : writeJson(value);
  const flat = text.replace(/\s+/g, " ");
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

describe("a line", () => {
  const letters = fc.constantFrom(
    ...[
      "a",
      " ",
      "\n",
      "\t",
      "\u00a0",
      "\u2028",
      '"',
      "\\",
      "é",
      "\u0000",
      "\u007f",
      "😀",
      "\ud83d",
      "\ude00",
    ],
  );
  const text = fc.oneof(
    fc.string({ unit: letters, maxLength: 40 }),
    fc.string({ unit: letters, minLength: 100, maxLength: 700 }),
  );
  const leaf = fc.oneof(
    text,
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double(),
    fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map((number) => readJsonText(String(number))),
    fc.constant(undefined),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, leaf, tie("list"), tie("fields")),
    list: fc.array(tie("value"), { maxLength: 6 }),
    fields: fc.dictionary(text, tie("value"), { maxKeys: 6 }),
  }));

  it("is the beginning of the whole, whatever the value", () => {
    fc.assert(
      fc.property(value, fc.integer({ min: 1, max: 300 }), (value, most) => {
        expect(oneLine(value as Json, most)).toBe(straightforward(value as Json, most));
      }),
      { numRuns: 1000 },
    );
  });

  it("keeps characters of two units whole, wherever they stand in a long text", () => {
    for (let before = 240; before < 270; before += 1) {
      for (const odd of ["😀", "\ud83d😀", "\ud83d\ud83d😀", "\ude00😀", "  \n "]) {
        const text = "a".repeat(before) + odd + "b".repeat(300);
        expect(oneLine([text], 500)).toBe(straightforward([text], 500));
        expect(oneLine(text, 500)).toBe(straightforward(text, 500));
      }
    }
  });

  it("of a large value looks at its beginning only", () => {
    let looked = 0;
    const watched = (item: object): Json =>
      new Proxy(item, {
        get: (target, key) => {
          looked += 1;
          return Reflect.get(target, key);
        },
      }) as Json;
    const items = Array.from({ length: 10_000 }, (_, index) => watched({ index, name: "x".repeat(10) }));
    expect(oneLine(items, 80)).toHaveLength(80);
    expect(looked).toBeLessThan(50);
    const long = "y".repeat(10_000_000);
    const took = (work: () => void) => {
      const began = performance.now();
      work();
      return performance.now() - began;
    };
    const whole = took(() => straightforward([long, { long }], 80));
    const hundred = took(() => {
      for (let times = 0; times < 100; times += 1) oneLine([long, { long }], 80);
    });
    expect(hundred).toBeLessThan(10 * whole);
  });

  it("of a value that is nested deeper than calls can be is there", () => {
    let deep: Json = 1;
    for (let level = 0; level < 50_000; level += 1) deep = [deep];
    expect(oneLine(deep, 10)).toBe("[[[[[[[[[…");
  });
});

it("big numbers are numbers", () => {
  expect(sizeOf(big("12345678901234567890"))).toBe("");
  expect(oneLine({ id: big("12345678901234567890") })).toBe('{"id":12345678901234567890}');
  expect(pretty([big("12345678901234567890")])).toBe("[\n  12345678901234567890\n]");
});
