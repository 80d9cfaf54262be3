import { expect, test } from "vitest";
import { parse, stringify } from "../src/json.js";

test.each([
  ["9007199254740991", 9007199254740991],
  ["9007199254740993", 9007199254740993n],
  ["-123456789012345678901", -123456789012345678901n],
  ["1234567890123456.5", 1234567890123456.5],
  ['"9007199254740993"', "9007199254740993"],
  ['"a \\" 9007199254740993 \\\\"', 'a " 9007199254740993 \\'],
  ['{"9007199254740993":[9007199254740993,true]}', { "9007199254740993": [9007199254740993n, true] }],
])("%s is read, and written as it was", (text, value) => {
  expect(parse(text)).toEqual(value);
  expect(parse(stringify(value))).toEqual(value);
});

test("what is not JSON is refused", () => {
  for (const text of ['{"a": 9007199254740993', '"1234567890123456', '["1234567890123456\\']) {
    expect(() => parse(text)).toThrow(SyntaxError);
  }
  const circle: { self?: unknown } = {};
  circle.self = circle;
  for (const value of [circle, { a: Symbol("x") }, [Number.POSITIVE_INFINITY], Promise.resolve()]) {
    expect(() => stringify(value)).toThrow(TypeError);
  }
  expect(stringify({ a: undefined, at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
});
