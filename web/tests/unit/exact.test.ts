import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Big, isBig, isBranch, readJsonText, whole, writeJson } from "../../src/json/exact";

describe("JSON whose whole numbers stay what they are", () => {
  test.each([
    '{"id":1234567890123456789}',
    "-9223372036854775808",
    "[18446744073709551615,1,9007199254740991,9007199254740993]",
    '{"text":"1234567890123456789","\\"1234567890123456789":"a\\\\","n":[-12345678901234567]}',
    '{"a":{"b":[{"c":12345678901234567890123}]}}',
  ])("%s is written as it was read", (text) => {
    expect(writeJson(readJsonText(text))).toBe(text);
  });

  test("only whole numbers that would be changed are big", () => {
    const read = readJsonText(
      "[9007199254740991, 9007199254740993, 1.1234567890123456789, 12345678901234567e2]",
    );
    expect((read as unknown[]).map(isBig)).toEqual([false, true, false, false]);
    expect(whole("7")).toBe(7);
    // These are beyond 2^53, and are written as they were.
    expect(readJsonText("[-9007199254740992,9007199254740994]")).toEqual([-(2 ** 53), 2 ** 53 + 2]);
    expect(String(whole("0009007199254740993"))).toBe("9007199254740993");
    expect(JSON.stringify([new Big("9007199254740993")])).toBe("[9007199254740992]");
  });

  test("whatever has no such number is read as ever", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(readJsonText(text)).toEqual(JSON.parse(text));
        expect(writeJson(value)).toBe(text);
      }),
    );
  });

  test("numbers among anything keep their digits", () => {
    const digits = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), digits)), (pairs) => {
        const text = `[${pairs.map(([key, number]) => `{${JSON.stringify(key)}:${number}}`).join(",")}]`;
        expect(writeJson(readJsonText(text))).toBe(text);
      }),
    );
  });

  test("what is no JSON throws, and a long text is read", () => {
    expect(() => readJsonText('{"id":1234567890123456789')).toThrow(SyntaxError);
    const long = `["${"x".repeat(5_000_000)}",1234567890123456789]`;
    expect(writeJson(readJsonText(long))).toBe(long);
  });

  test("a value that is nested deeper than calls can be is read, and so are strange keys", () => {
    const deep = `${"[".repeat(50_000)}1234567890123456789${"]".repeat(50_000)}`;
    let inside = readJsonText(deep);
    while (Array.isArray(inside)) inside = inside[0] ?? null;
    expect(String(inside)).toBe("1234567890123456789");
    const strange = '{"__proto__":{"a":1234567890123456789},"constructor":12345678901234567890}';
    expect(writeJson(readJsonText(strange))).toBe(strange);
  });

  test("only arrays and objects hold others", () => {
    const values = [[], {}, [1], readJsonText("1234567890123456789"), null, "a", 1, true, undefined];
    expect(values.map(isBranch)).toEqual([true, true, true, ...Array(6).fill(false)]);
  });
});
