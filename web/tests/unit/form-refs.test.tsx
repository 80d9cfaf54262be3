import { afterEach, describe, expect, test, vi } from "vitest";
import type { Json, JsonObject } from "../../src/api/client";
import { initialValue } from "../../src/form/initial";
import { normalise } from "../../src/form/normalise";
import { validate } from "../../src/form/validate";
import { closeAll, show } from "./form-help";

afterEach(closeAll);

const object = (properties: JsonObject, required: string[] = []): JsonObject => ({
  type: "object",
  properties,
  required,
});
const said = (schema: JsonObject, value: Json) =>
  validate(schema, value).map(({ pointer, message }) => `${pointer} ${message}`);

describe("references to anywhere in the schema", () => {
  test("into choices", () => {
    const point = object({ x: { type: "integer" } }, ["x"]);
    const schema = object({
      a: { anyOf: [point, { type: "string" }] },
      b: { $ref: "#/properties/a/anyOf/0" },
    });
    const form = show(schema, {});
    form.click("Add b");
    form.type(".b.x", "3");
    expect(form.value()).toEqual({ b: { x: 3 } });
    expect(said(schema, { b: { x: "y" } })).toEqual(["/b/x must be a whole number"]);
    expect(said(schema, { b: {} })).toEqual(["/b/x is required"]);
  });

  test("into the places of a list", () => {
    const schema = object({
      a: { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] },
      b: { $ref: "#/properties/a/prefixItems/1" },
    });
    const form = show(schema, {});
    form.type(".b", "3");
    expect(form.value()).toEqual({ b: 3 });
    expect(said(schema, { b: "x" })).toEqual(["/b must be a whole number"]);
  });

  test("of something that contains itself", () => {
    const node = object({ name: { type: "string" }, next: { $ref: "#/properties/tree/anyOf/0" } }, ["name"]);
    const schema = object({ tree: { anyOf: [node, { type: "null" }] } });
    const form = show(schema, {});
    form.click("Add tree");
    form.click("Add next");
    form.type(".tree.next.name", "n");
    form.click("Add next");
    form.type(".tree.next.next.name", "m");
    expect(form.value()).toEqual({ tree: { next: { name: "n", next: { name: "m" } } } });
    expect(said(schema, form.value() as Json)).toEqual(["/tree/name is required"]);
    expect(said(schema, { tree: { name: "a", next: { name: 1 } } })).toEqual([
      "/tree/next/name must be text",
    ]);
  });

  test("of two that contain each other", () => {
    const schema = object({
      a: { anyOf: [object({ b: { $ref: "#/properties/b/anyOf/0" } }), { type: "null" }] },
      b: { anyOf: [object({ a: { $ref: "#/properties/a/anyOf/0" } }), { type: "null" }] },
    });
    const form = show(schema, {});
    form.click("Add a");
    form.click("Add b");
    form.click("Add a");
    expect(form.value()).toEqual({ a: { b: { a: {} } } });
  });

  test("inside definitions, and beside them", () => {
    const schema: JsonObject = {
      ...object({
        a: { $ref: "#/$defs/A/properties/inner" },
        b: { $ref: "#/components/schemas/B" },
        c: { $ref: "#/properties/a" },
      }),
      $defs: { A: object({ inner: { anyOf: [{ type: "integer" }, { type: "null" }] } }) },
      components: { schemas: { B: { type: "BOOLEAN" } } },
    };
    const form = show(schema, {});
    form.type(".a", "1");
    form.tick(".b");
    form.type(".c", "2");
    expect(form.value()).toEqual({ a: 1, b: true, c: 2 });
    expect(said(schema, { a: "x", b: 1, c: "y" })).toEqual([
      "/a must be a whole number or null",
      "/b must be yes or no",
      "/c must be a whole number or null",
    ]);
  });

  test("in another dialect's names", () => {
    const schema = object({
      a: { any_of: [{ type: "INTEGER" }, { type: "STRING" }] },
      b: { ref: "#/properties/a/any_of/0" },
      c: { ref: "#/defs/C" },
    });
    schema.defs = { C: { type: "BOOLEAN" } };
    expect(said(schema, { b: "x", c: 1 })).toEqual(["/b must be a whole number", "/c must be yes or no"]);
    show(schema, {});
  });

  test("choices are called as what they refer to", () => {
    const schema = object({
      pet: object({ name: { type: "string" } }),
      x: { anyOf: [{ $ref: "#/properties/pet" }, { $ref: "#/$defs/100%25" }, { type: "integer" }] },
    });
    schema.$defs = { "100%": { type: "string" } };
    const form = show(schema, {});
    const options = [...form.at<HTMLSelectElement>(".x-kind").options].map((one) => one.textContent);
    expect(options).toEqual(["Not set", "pet", "100%", "Whole number"]);
  });

  test("a name that is taken already is left to its owner", () => {
    const schema = normalise({
      ...object({ a: object({ x: { type: "integer" } }), b: { $ref: "#/properties/a" } }),
      $defs: { a: { type: "string" } },
    }) as { $defs: JsonObject; properties: { [name: string]: JsonObject } };
    expect(schema.$defs.a).toEqual({ type: "string" });
    const ref = String(schema.properties.b?.$ref);
    expect(ref).not.toBe("#/$defs/a");
    expect(schema.$defs[decodeURIComponent(ref.replace("#/$defs/", ""))]).toMatchObject({ type: "object" });
  });
});

describe("names that look encoded", () => {
  test.each(["50%", "a%b", "100%ab", "a b", "a%20b", "x/y~z", "ä", "a:b", "[T]", "a#b", "What?"])(
    "a definition “%s”",
    (name) => {
      const token = name.replaceAll("~", "~0").replaceAll("/", "~1");
      const schema = (ref: string): JsonObject => ({
        ...object(
          { a: { $ref: `#/$defs/${ref}` }, k: { anyOf: [{ $ref: `#/$defs/${ref}` }, { type: "integer" }] } },
          ["a"],
        ),
        $defs: { [name]: object({ n: { type: "integer" } }, ["n"]) },
      });
      for (const ref of [token, encodeURIComponent(token)]) {
        expect(initialValue(schema(ref))).toEqual({ a: {} });
        expect(said(schema(ref), { a: { n: "x" } })).toEqual(["/a/n must be a whole number"]);
        const form = show(schema(ref), {});
        form.type(".a.n", "1");
        expect(form.value()).toEqual({ a: { n: 1 } });
        expect(form.at<HTMLSelectElement>(".k-kind").options[1]?.textContent).toBe(name);
        closeAll();
      }
    },
  );
});

test("a problem is said at a field of any name", () => {
  for (const name of ["a#b", "50%", "a%23b", "ä/ö", "?", "a b"]) {
    const token = name.replaceAll("~", "~0").replaceAll("/", "~1");
    expect(said(object({ [name]: { type: "integer" } }), { [name]: "x" })).toEqual([
      `/${token} must be a whole number`,
    ]);
  }
});

test("a list with places that contains itself is drawn as deep as somebody goes", () => {
  const pair: JsonObject = {
    type: "array",
    prefixItems: [{ type: "integer" }, { anyOf: [{ $ref: "#/$defs/Pair" }, { type: "null" }] }],
  };
  const form = show({ ...object({ p: { $ref: "#/$defs/Pair" } }), $defs: { Pair: pair } }, {});
  form.type(".p.0", "1");
  form.click("Add Item 2");
  form.type(".p.1.0", "2");
  form.click("Add Item 2");
  form.type(".p.1.1.0", "3");
  expect(form.value()).toEqual({ p: [1, [2, [3]]] });
  closeAll();
  const inside = object({ p: { type: "array", prefixItems: [{ $ref: "#/$defs/O" }] } }, ["p"]);
  const other = show({ $ref: "#/$defs/O", $defs: { O: inside } }, {});
  other.click("Add Item 1");
  expect(other.value()).toEqual({ p: [{}] });
});

test("a choice that is one of its own choices does not go on for ever", () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const schema: JsonObject = {
    $ref: "#/$defs/A",
    $defs: { A: { anyOf: [{ $ref: "#/$defs/A" }, { type: "integer" }] } },
  };
  const editor = show(schema, 5, { editor: true });
  expect(editor.box.textContent).toContain("The form of this schema cannot be drawn");
  editor.type("-raw", "6");
  expect(editor.value()).toBe(6);
  vi.restoreAllMocks();
});

test("keywords that hold something else than they should stop nobody", () => {
  const odd: JsonObject[] = [
    object(
      { a: { type: "object", required: true as unknown as Json, properties: { b: { type: "string" } } } },
      ["a"],
    ),
    object({ a: { $ref: 5 } }),
    object({ a: { enum: "x" } }),
    object({ a: { anyOf: {} } }),
    object({ a: { type: "object", properties: [] } }, ["a"]),
    object({ a: { type: "array", items: "x" } }),
    object({ a: { type: "string", maxLength: {} } }),
    object({ a: { type: "string", title: 5, description: ["x"] } }),
    object({ a: { type: "object", required: ["b", 5, null], properties: { b: { type: "string" } } } }, ["a"]),
    object({ a: { type: "string", format: "constructor", constructor: "x" } }),
    { type: "object", properties: { a: 5, b: null, c: "x" } },
  ];
  for (const schema of odd) {
    initialValue(schema);
    validate(schema, { a: {} });
    const form = show(schema, {});
    expect(form.changes).toEqual([]);
    closeAll();
  }
});
