import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/api/client";
import { readJson } from "../../src/form/text";
import { validate } from "../../src/form/validate";

const said = (schema: JsonObject, value: Json | undefined) =>
  validate(schema, value).map(({ pointer, message }) => `${pointer} ${message}`);

const a = (schema: JsonObject): JsonObject => ({ type: "object", properties: { a: schema } });

describe("what is wrong is said at the field, in plain words", () => {
  test.each<[JsonObject, Json, string]>([
    [{ type: "integer" }, 1.5, "must be a whole number"],
    [{ type: "integer" }, "x", "must be a whole number"],
    [{ type: "number" }, "1e", "must be a number"],
    [{ type: "string" }, 1, "must be text"],
    [{ type: "boolean" }, "yes", "must be yes or no"],
    [{ type: "array" }, {}, "must be a list"],
    [{ type: "object" }, [], "must be an object"],
    [{ type: ["string", "null"] }, 1, "must be text or null"],
    [{ type: "INTEGER", nullable: true }, "x", "must be a whole number or null"],
    [{ enum: ["json", "xml"] }, "yaml", "must be one of json, xml"],
    [{ const: "cat" }, "dog", "must be cat"],
    [{ minimum: 1 }, 0, "must be at least 1"],
    [{ maximum: 5 }, 9, "must be at most 5"],
    [{ exclusiveMinimum: 0 }, 0, "must be more than 0"],
    [{ minimum: 0, exclusiveMinimum: true }, 0, "must be more than 0"],
    [{ exclusiveMaximum: 1 }, 1, "must be less than 1"],
    [{ multipleOf: 0.1 }, 0.25, "must be a multiple of 0.1"],
    [{ minLength: 1 }, "", "must not be empty"],
    [{ minLength: "3" }, "a", "must have at least 3 characters"],
    [{ maxLength: 1 }, "ab", "must have at most 1 character"],
    [{ pattern: "^a+$" }, "b", "must match ^a+$"],
    [{ minItems: 1 }, [], "must have at least 1 item"],
    [{ maxItems: 1 }, [1, 2], "must have at most 1 item"],
    [{ uniqueItems: true }, [1, 1], "must not have the same item twice"],
    [{ anyOf: [{ type: "integer" }, { type: "string" }] }, true, "must be a whole number or text"],
    [{ anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] }, 0, "must be at least 1"],
    [{ oneOf: [{ type: "integer" }, { minimum: 1 }] }, 3, "fits more than one of the choices"],
    [{ not: { const: 1 } }, 1, "has a value that is not allowed"],
    [{ type: "integer" }, "9007199254740993", "must be a whole number, not text"],
    [{ type: "integer" }, "9".repeat(400), "is too large"],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "9".repeat(400), "is too large"],
  ])("%j and %j", (schema, value, message) => {
    expect(said(a(schema), { a: value })).toEqual([`/a ${message}`]);
  });

  test.each<[string, string]>([
    ["date-time", "2025-01-31T12:30:00"],
    ["date-time", "tomorrow"],
    ["time", "12:30:00"],
    ["time", "12:30"],
    ["date", "soon"],
    ["email", "ä@b.de"],
    ["email", "x"],
    ["uri", "example.com"],
    ["uuid", "1"],
  ])("the format %s refuses nobody: not “%s”", (format, value) => {
    const text: JsonObject = { type: "string", format };
    expect(said(a(text), { a: value })).toEqual([]);
    expect(said(a({ anyOf: [text, { type: "null" }] }), { a: value })).toEqual([]);
    expect(said(a({ $ref: "#/$defs/T" }), { a: value })).toEqual([]);
    expect(said(a({ not: { type: "integer", format } }), { a: value })).toEqual([]);
  });

  test("a field that is called format is checked", () => {
    const schema: JsonObject = { type: "object", properties: { format: { type: "integer" } } };
    expect(said(schema, { format: "x" })).toEqual(["/format must be a whole number"]);
  });

  test("what is missing is said where it is missing", () => {
    const inner: JsonObject = {
      type: "object",
      properties: { "x/y": { type: "string" } },
      required: ["x/y"],
    };
    expect(
      said({ ...a({ $ref: "#/$defs/I" }), required: ["a", "b"], $defs: { I: inner } }, { a: {} }),
    ).toEqual(expect.arrayContaining(["/b is required", "/a/x~1y is required"]));
    expect(said(a({ type: "array", items: { type: "number" } }), { a: [null, 1] })).toEqual([
      "/a/0 is required",
    ]);
    expect(said({ type: "object" }, undefined)).toEqual([" is required"]);
  });

  test("what does not belong is said where it is", () => {
    expect(said({ ...a({}), additionalProperties: false }, { a: 1, "b c": 2 })).toEqual([
      "/b c is not allowed here",
    ]);
  });

  test("of several choices, the one that was meant", () => {
    const pet: JsonObject = {
      oneOf: [
        {
          type: "object",
          properties: { kind: { const: "cat" }, lives: { type: "integer" } },
          required: ["kind", "lives"],
        },
        {
          type: "object",
          properties: { kind: { const: "dog" }, trick: { type: "string" } },
          required: ["kind", "trick"],
        },
      ],
    };
    expect(said(a(pet), { a: { kind: "dog" } })).toEqual(["/a/trick is required"]);
    expect(said(a(pet), { a: { kind: "cat", lives: "x" } })).toEqual(["/a/lives must be a whole number"]);
  });

  test("a schema that cannot be read stops nobody; the server has the last word", () => {
    expect(said(a({ $ref: "#/$defs/Nowhere" }), { a: 1 })).toEqual([]);
    expect(said(a({ $ref: "https://example.com/x" }), { a: 1 })).toEqual([]);
    expect(said(a({ type: "string", pattern: "(?P<year>\\d+)" }), { a: "x" })).toEqual([]);
    expect(said({ $ref: "#/$defs/A", $defs: { A: { $ref: "#/$defs/A" } } }, 1)).toEqual([]);
  });

  test("words that look like keywords are left alone, and the schema is not changed", () => {
    const schema: JsonObject = {
      ...a({ type: "string", example: { id: "x", $ref: "#/no" }, examples: [{ $id: "y" }] }),
      $id: "https://example.com/a",
      default: { $ref: "#/no" },
    };
    const before = JSON.stringify(schema);
    expect(said(schema, { a: 1 })).toEqual(["/a must be text"]);
    expect(
      said(
        {
          type: "object",
          properties: { id: { type: "string" }, type: { type: "string" }, $ref: { type: "integer" } },
        },
        { id: 1, $ref: "x" },
      ),
    ).toEqual(["/id must be text", "/$ref must be a whole number"]);
    expect(JSON.stringify(schema)).toBe(before);
  });
});

describe("raw text", () => {
  test.each<[string, string]>([
    ["{", "Line 1, column 2: a name in double quotes is missing"],
    ['{"a": 1,\n}', "Line 2, column 1: there is a comma too many"],
    ['{"a" 1}', "Line 1, column 6: a colon is missing"],
    ['{"a": 1 "b"}', "Line 1, column 9: a comma or a closing } is missing"],
    ["[1, 2", "Line 1, column 6: a comma or a closing ] is missing"],
    ["[1,]", "Line 1, column 4: there is a comma too many"],
    ["'a'", "Line 1, column 1: texts stand in double quotes"],
    ["True", "Line 1, column 1: “True” is not a value; texts stand in double quotes"],
    ['"a', "Line 1, column 3: the text does not end"],
    ['"a\nb"', "Line 1, column 3: a line ends inside a text; write \\n for a new line"],
    ['"\\x"', "Line 1, column 2: a backslash stands before something it cannot stand before"],
    ["1.", "Line 1, column 2: the number is not complete"],
    ["-", "Line 1, column 1: the number is not complete"],
    ["01", "Line 1, column 2: the number is not complete"],
    ["1 2", "Line 1, column 3: there is something after the end of the value"],
    ["1e999", "Line 1, column 1: the number is too large"],
  ])("%j", (text, where) => {
    expect(readJson(text)).toEqual({ problem: `This is not JSON yet. ${where}.` });
  });

  test("nothing is no value, and long texts are read", () => {
    expect(readJson("  \n")).toEqual({ value: undefined });
    const long = "x".repeat(5_000_000);
    expect(readJson(JSON.stringify([long, '\u2028\\"é']))).toEqual({ value: [long, '\u2028\\"é'] });
  });
});
