/** Schemas that double at each level: whatever the page does with them has an end. */

import { afterEach, describe, expect, test, vi } from "vitest";
import type { Json, JsonObject } from "../../src/api/client";
import { initialValue } from "../../src/form/initial";
import { validate } from "../../src/form/validate";
import { engineOf } from "../../src/form/validator";
import { closeAll, names, show } from "./form-help";

afterEach(closeAll);

const LEVELS = 30;

/** A definition for each level, each made of the one below it. */
function doubling(make: (below: JsonObject) => JsonObject, levels = LEVELS): JsonObject {
  const $defs: JsonObject = { L0: { type: "string" } };
  for (let level = 1; level <= levels; level += 1)
    $defs[`L${level}`] = make({ $ref: `#/$defs/L${level - 1}` });
  return {
    type: "object",
    properties: { arg: { $ref: `#/$defs/L${levels}` } },
    required: ["arg"],
    $defs,
  };
}

const both = (required: boolean) => (below: JsonObject) => ({
  type: "object",
  properties: { a: below, b: below },
  ...(required ? { required: ["a", "b"] } : {}),
});

const objects = (value: Json | undefined): number =>
  value !== null && typeof value === "object"
    ? Object.values(value).reduce<number>((sum, each) => sum + objects(each as Json), 1)
    : 0;

describe("fields that are required at every level", () => {
  const schema = doubling(both(true));

  test("begin with as many objects as fit on a page, all of one level before the next", () => {
    const begun = initialValue(schema);
    expect(objects(begun)).toBe(100);
    expect(begun).toMatchObject({ arg: { a: { a: { a: {} }, b: { b: {} } }, b: { b: { b: {} } } } });
  });

  test("are drawn as deep as that, and deeper where somebody asks", () => {
    const form = show(schema, initialValue(schema), { editor: true });
    const before = names(form.box).filter((name) => name === "Add a").length;
    expect(before).toBeGreaterThan(0);
    form.click("Add a");
    expect(objects(form.value())).toBe(200);
    expect(validate(schema, form.value()).length).toBeGreaterThan(0);
  });

  test.each([8, 12, 16])("are not more for %i levels", (levels) => {
    const some = doubling(both(true), levels);
    const form = show(some, initialValue(some));
    expect(form.box.querySelectorAll("input, textarea, fieldset").length).toBeLessThan(1_500);
  });
});

test("fields that are optional at every level are drawn one level at a time", () => {
  const schema = doubling(both(false));
  const form = show(schema, initialValue(schema));
  form.click("Add a");
  form.click("Add a");
  expect(form.value()).toEqual({ arg: { a: { a: {} } } });
});

test("lists of lists are drawn one level at a time", () => {
  const list = (below: JsonObject) => ({ type: "array", items: below });
  const schema = doubling((below) => ({
    type: "object",
    properties: { a: list(below), b: list(below) },
    required: ["a", "b"],
  }));
  expect(initialValue(schema)).toEqual({ arg: {} });
  show(schema, initialValue(schema));
});

describe.each([
  ["allOf", (below: JsonObject) => ({ allOf: [below, below] })],
  ["anyOf", (below: JsonObject) => ({ anyOf: [below, below] })],
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  ["if", (below: JsonObject) => ({ if: below, then: below, else: below })],
  ["dependentSchemas", (below: JsonObject) => ({ dependentSchemas: { a: below, b: below } })],
  ["not", (below: JsonObject) => ({ not: { anyOf: [below, below] } })],
])("%s of %s", (_, make) => {
  test("is written as JSON, and left to the server to check", () => {
    const schema = doubling(make);
    expect(engineOf(schema).unread).toBe(true);
    expect(initialValue(schema)).toBeUndefined();
    const form = show(schema, undefined, { editor: true });
    expect(form.box.textContent).toContain(
      "The form of this schema cannot be drawn. Write the value as JSON.",
    );
    form.type("-raw", '{"arg": {"a": 1}}');
    expect(form.value()).toEqual({ arg: { a: 1 } });
    expect(validate(schema, form.value())).toEqual([]);
  });
});

test("a deep value that could be many things at each level is left to the server to check", () => {
  const inside = (below: JsonObject) => ({ type: "object", properties: { x: below }, required: ["x"] });
  const schema = doubling((below) => ({ oneOf: [inside(below), inside(below)] }));
  let deep: Json = "end";
  for (let level = 0; level < LEVELS; level += 1) deep = { x: deep };
  expect(validate(schema, { arg: deep })).toEqual([]);
  // What is not deep is checked.
  expect(validate(schema, { arg: 5 })).not.toEqual([]);
  vi.spyOn(console, "error").mockImplementation(() => {});
  show(schema, { arg: deep }, { editor: true });
  vi.restoreAllMocks();
});

test("definitions that all name each other are drawn as deep as somebody goes", () => {
  const all = Array.from({ length: 14 }, (_, index) => `D${index}`);
  const properties = Object.fromEntries(all.map((name) => [name, { $ref: `#/$defs/${name}` }]));
  const $defs = Object.fromEntries(all.map((name) => [name, { type: "object", properties }]));
  const schema: JsonObject = { type: "object", properties: { arg: { $ref: "#/$defs/D0" } }, $defs };
  const form = show(schema, {});
  form.click("Add arg");
  form.click("Add D3");
  form.click("Add D5");
  expect(form.value()).toEqual({ arg: { D3: { D5: {} } } });
});
