import { afterEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/api/client";
import { initialValue } from "../../src/form/initial";
import { validate } from "../../src/form/validate";
import { whole } from "../../src/json/exact";
import { closeAll, names, show } from "./form-help";

afterEach(closeAll);

const object = (properties: JsonObject, required: string[] = []): JsonObject => ({
  type: "object",
  properties,
  required,
});

describe("texts", () => {
  test("typed and cleared again is absent again, and empty text can be sent on purpose", () => {
    const form = show(object({ a: { type: "string" }, b: { type: "string" } }), { b: "stays" });
    form.type(".a", "x");
    expect(form.value()).toEqual({ b: "stays", a: "x" });
    form.type(".a", "");
    expect(form.value()).toEqual({ b: "stays" });
    form.click("Use empty text: a");
    expect(form.value()).toEqual({ b: "stays", a: "" });
    expect(form.box.textContent).toContain("sent as empty text");
    form.click("Clear: a");
    expect(form.value()).toEqual({ b: "stays" });
  });

  test("that are long get more room", () => {
    const form = show(
      object({
        b: { type: "string", format: "textarea" },
        c: { type: "string", maxLength: 5000 },
      }),
      {},
    );
    expect(Number(form.at<HTMLTextAreaElement>(".b").rows)).toBe(4);
    expect(Number(form.at<HTMLTextAreaElement>(".c").rows)).toBe(4);
  });

  test("are one line until somebody wants more, and never lose a line break", () => {
    const form = show(object({ a: { type: "string" }, b: { type: "string" }, c: { type: "string" } }), {
      a: "one",
      b: "one\ntwo",
    });
    const kind = (id: string) => form.at(id).tagName;
    expect([kind(".a"), kind(".b"), kind(".c")]).toEqual(["INPUT", "TEXTAREA", "INPUT"]);
    // Shift+Enter is a line break where the caret is, and the caret goes with it.
    form.at(".a").setSelectionRange(1, 1);
    form.press(".a", "Enter", { shiftKey: true });
    expect(form.value()).toMatchObject({ a: "o\nne" });
    expect([kind(".a"), document.activeElement?.id]).toEqual(["TEXTAREA", "f.a"]);
    expect(form.at(".a").selectionStart).toBe(2);
    // It is still the same control when the last line break is gone.
    const area = form.at(".b");
    form.type(".b", "one");
    expect(form.at(".b")).toBe(area);
    form.click("Several lines: c");
    expect([kind(".c"), document.activeElement?.id]).toEqual(["TEXTAREA", "f.c"]);
    expect(form.value()).toEqual({ a: "o\nne", b: "one" });
  });

  test("that are pasted keep their line breaks", () => {
    const form = show(object({ a: { type: "string" } }), { a: "xy" });
    form.at(".a").setSelectionRange(1, 1);
    form.paste(".a", "1\r\n2");
    expect(form.value()).toEqual({ a: "x1\n2y" });
    expect(form.at(".a").tagName).toBe("TEXTAREA");
  });

  test("and lists that must be there can be empty on purpose, unless that does not fit", () => {
    const list: JsonObject = { type: "array", items: { type: "string" } };
    const form = show(
      object(
        {
          a: { type: "string" },
          l: list,
          b: { type: "string", minLength: 1 },
          m: { ...list, minItems: 1 },
          d: { type: "string", format: "date" },
          o: { type: "string" },
          p: list,
        },
        ["a", "l", "b", "m", "d"],
      ),
      {},
    );
    expect(names(form.box).filter((name) => name.startsWith("Use"))).toEqual([
      "Use empty text: a",
      "Use an empty list: l",
    ]);
    form.click("Use empty text: a");
    form.click("Use an empty list: l");
    expect(form.value()).toEqual({ a: "", l: [] });
    form.click("Clear: a");
    expect(form.value()).toEqual({ l: [] });
  });

  test("formats say what they expect, and a date that no calendar has is still shown", () => {
    const form = show(
      object({
        d: { type: "string", format: "date" },
        t: { type: "string", format: "date-time" },
        m: { type: "string", format: "email" },
        o: { type: "string", format: "date" },
      }),
      { o: "next week" },
    );
    expect(form.at(".d").type).toBe("date");
    expect(form.at(".t").placeholder).toBe("2025-01-31T12:30:00Z");
    expect(form.at(".m").inputMode).toBe("email");
    expect(form.at(".o").type).toBe("text");
    expect(form.at(".o").value).toBe("next week");
  });

  test("that do not look like their format get a soft hint, nothing more", () => {
    const form = show(
      object({
        m: { type: "string", format: "email" },
        t: { type: "string", format: "date-time" },
        d: { type: "string", format: "date" },
        x: { type: "string", format: "of-our-own" },
      }),
      {},
    );
    expect(form.at(".m-hint").textContent).toBe("An email address.");
    form.type(".m", "x");
    expect(form.at(".m-hint").textContent).toBe("An email address. This does not look like one.");
    expect(form.at(".m").getAttribute("aria-describedby")).toBe("f.m-hint");
    expect(form.at(".m").getAttribute("aria-invalid")).toBeNull();
    for (const good of ["ä@b.de", "a@b"]) {
      form.type(".m", good);
      expect(form.at(".m-hint").textContent).toBe("An email address.");
    }
    for (const [text, odd] of [
      ["tomorrow", true],
      ["2025-01-31T12:30:00", false],
      ["2025-01-31 12:30", false],
    ] as const) {
      form.type(".t", text);
      expect(form.at(".t-hint").textContent?.includes("does not look like")).toBe(odd);
    }
    form.type(".x", "whatever");
    expect(form.has(".x-hint")).toBe(false);
    // No calendar has it, so a calendar would show nothing.
    form.give({ d: "2025-02-31" });
    expect(form.at(".d").type).toBe("text");
    expect(form.at(".d-hint").textContent).toContain("does not look like one");
  });

  test("of several formats, the one that a text looks like", () => {
    const schema = object({
      x: {
        anyOf: [
          { type: "string", format: "date-time", title: "When" },
          { type: "string", format: "email", title: "Who" },
          { type: "string", title: "What" },
        ],
      },
    });
    for (const [text, title] of [
      ["2025-01-31T12:30:00Z", "When"],
      ["a@b.de", "Who"],
      ["hello", "What"],
    ] as const) {
      const form = show(schema, { x: text });
      expect(form.chosen(".x-kind")).toBe(title);
      closeAll();
    }
  });

  test("at the top", () => {
    const form = show({ type: "string", title: "Answer" }, undefined);
    form.type("", "hello");
    expect(form.value()).toBe("hello");
    expect(form.box.querySelector("label")?.textContent).toContain("Answer");
  });
});

describe("numbers", () => {
  test.each(["1.", "-", "1e", "1.0", "-0.", "1.50", "00", ".5"])(
    "“%s” is not lost while it is typed",
    (text) => {
      const form = show(object({ n: { type: "number" } }), {});
      form.type(".n", text);
      expect(form.at(".n").value).toBe(text);
    },
  );

  test("are numbers, and what is no number yet is refused instead of dropped", () => {
    const form = show(object({ n: { type: "number" }, i: { type: "integer" } }), {});
    form.type(".n", "1.5");
    form.type(".i", "7");
    expect(form.value()).toEqual({ n: 1.5, i: 7 });
    form.type(".n", "1e");
    expect(form.value()).toEqual({ n: "1e", i: 7 });
    form.type(".n", "");
    expect(form.value()).toEqual({ i: 7 });
  });

  test("beyond 2^53 are what was typed", () => {
    const form = show(object({ i: { type: "integer" } }), {});
    form.type(".i", "9007199254740993");
    expect(form.at(".i").value).toBe("9007199254740993");
    expect(form.value()).toEqual({ i: whole("9007199254740993") });
  });

  test("given from outside replace what was typed", () => {
    const form = show(object({ n: { type: "number" } }), {});
    form.type(".n", "1.");
    form.give({ n: 4 });
    expect(form.at(".n").value).toBe("4");
  });
});

describe("what is no number", () => {
  test.each([
    ["integer", "abc", "This is not a whole number."],
    ["integer", "3.5", "This is not a whole number."],
    ["number", "1,5", "This is not a number."],
    ["integer", "7", ""],
    ["number", "1e3", ""],
  ])("of a field of type %s is said of %s when somebody leaves it", (type, typed, said) => {
    const form = show(object({ n: { type } }), {});
    expect(form.at(".n").placeholder).toBe(type === "integer" ? "A whole number" : "A number");
    form.type(".n", typed);
    expect(form.box.textContent).not.toContain("This is not");
    form.leave(".n");
    expect(form.box.querySelector("[aria-live]")?.textContent).toBe(said);
  });
});

test.each<JsonObject>([{ contentEncoding: "base64" }, { format: "byte" }, { format: "binary" }])(
  "bytes say how they are written: %j",
  (how) => {
    const form = show(object({ b: { type: "string", ...how } }), {});
    expect(form.at(".b-hint").textContent).toBe("Bytes, written as base64.");
  },
);

describe("yes or no", () => {
  test("is absent until somebody says so, and can be absent again", () => {
    const form = show(object({ b: { type: "boolean" } }), {});
    expect(form.at(".b").indeterminate).toBe(true);
    expect(form.box.textContent).toContain("not set");
    form.tick(".b");
    expect(form.value()).toEqual({ b: true });
    form.tick(".b");
    expect(form.value()).toEqual({ b: false });
    form.click("Clear: b");
    expect(form.value()).toEqual({});
  });

  test("is asked for where it is required, and no takes one click as yes does", () => {
    const schema = object(
      { a: { type: "boolean" }, b: { type: "boolean", default: true }, c: { type: "boolean" } },
      ["a", "b"],
    );
    expect(initialValue(schema)).toEqual({});
    expect(validate(schema, {})).toContainEqual({ pointer: "/a", message: "is required" });
    const form = show(schema, {});
    form.click("Set to no: a");
    expect(form.value()).toEqual({ a: false });
  });
});

describe("a map that is required", () => {
  const map = { type: "object", additionalProperties: { type: "integer" } };
  const schema = object({ m: map, inner: object({ deep: map }, ["deep"]) }, ["m", "inner"]);

  test("is asked for when nobody touched it, however deep it is", () => {
    expect(initialValue(schema)).toEqual({ inner: {} });
    expect(validate(schema, initialValue(schema)).map(({ pointer }) => pointer)).toEqual([
      "/m",
      "/inner/deep",
    ]);
    expect(initialValue(map)).toBeUndefined();
  });

  test("can be empty for whoever says so", () => {
    const form = show(schema, { inner: {} });
    form.click("Use an empty object: m");
    expect(form.value()).toEqual({ inner: {}, m: {} });
    expect(form.box.textContent).toContain("empty object");
  });

  test("that allows no field is empty by itself", () => {
    const none = { type: "object", additionalProperties: false };
    expect(initialValue(object({ m: none }, ["m"]))).toEqual({ m: {} });
  });
});

describe("lists of values to choose from", () => {
  test("of any type, null among them", () => {
    const form = show(
      object({
        e: { enum: ["json", "xml"] },
        n: { type: "integer", enum: [1, 2] },
        m: { enum: ["1", 1, null, { a: 1 }] },
      }),
      {},
    );
    form.choose(".e", "xml");
    form.choose(".n", "2");
    form.choose(".m", "null");
    expect(form.value()).toEqual({ e: "xml", n: 2, m: null });
    form.choose(".m", '{"a":1}');
    expect(form.value()).toEqual({ e: "xml", n: 2, m: { a: 1 } });
    form.choose(".e", "Not set");
    expect(form.value()).toEqual({ n: 2, m: { a: 1 } });
  });

  test("a value that is not among them is shown and kept", () => {
    const form = show(object({ e: { enum: ["a"] } }), { e: "z" });
    expect(form.chosen(".e")).toBe("z (not one of these)");
    expect(form.changes).toEqual([]);
  });

  test("const, null alone, and choices that are values with titles", () => {
    const form = show(
      object(
        {
          c: { const: "cat" },
          n: { type: "null" },
          t: {
            oneOf: [
              { const: 1, title: "One" },
              { const: 2, title: "Two" },
            ],
          },
        },
        ["c"],
      ),
      {},
    );
    form.choose(".c", "cat");
    form.choose(".n", "null");
    form.choose(".t", "Two");
    expect(form.value()).toEqual({ c: "cat", n: null, t: 2 });
  });
});

describe("defaults", () => {
  test("are shown and not sent", () => {
    const form = show(
      object({
        limit: { type: "integer", default: 10 },
        flag: { type: "boolean", default: true },
        e: { enum: ["a", "b"], default: "b" },
      }),
      {},
    );
    expect(form.at(".limit").placeholder).toBe("10");
    expect(form.at(".limit-hint").textContent).toBe("Default: 10.");
    expect(form.at(".flag-hint").textContent).toBe("Default: true.");
    expect(form.chosen(".e")).toBe("Not set (default: b)");
    expect(form.changes).toEqual([]);
    form.type(".limit", "3");
    expect(form.value()).toEqual({ limit: 3 });
  });
});

describe("may be null", () => {
  test.each([
    [{ type: ["string", "null"] }],
    [{ type: "string", nullable: true }],
    [{ anyOf: [{ type: "string" }, { type: "null" }], default: null }],
    [{ oneOf: [{ $ref: "#/$defs/S" }, { type: "null" }] }],
    [{ type: "STRING", nullable: true }],
    [{ allOf: [{ $ref: "#/$defs/S" }], nullable: true }],
    [{ oneOf: [{ $ref: "#/$defs/S" }], nullable: true }],
  ] as [JsonObject][])("%j is one field with null beside it", (field) => {
    const form = show({ ...object({ a: field }), $defs: { S: { type: "string" } } }, {});
    form.click("Set to null: a");
    expect(form.value()).toEqual({ a: null });
    expect(form.has(".a")).toBe(false);
    expect(validate({ ...object({ a: field }), $defs: { S: { type: "string" } } }, { a: null })).toEqual([]);
    form.click("Clear: a");
    expect(form.value()).toEqual({});
    form.type(".a", "x");
    expect(form.value()).toEqual({ a: "x" });
  });
});

describe("objects", () => {
  test("inside objects are groups with a name; optional ones are added and taken away", () => {
    const inner = object({ city: { type: "string" }, zip: { type: "integer" } }, ["city"]);
    const form = show(object({ a: { ...inner, title: "Address" }, b: inner }, ["a"]), {});
    expect([...form.box.querySelectorAll("legend")].map((one) => one.textContent)).toEqual([
      "a* (required) Address",
      "b",
    ]);
    form.type(".a.city", "Rome");
    expect(form.value()).toEqual({ a: { city: "Rome" } });
    expect(form.has(".b.city")).toBe(false);
    form.click("Add b");
    expect(form.value()).toEqual({ a: { city: "Rome" }, b: {} });
    expect(document.activeElement?.id).toBe("f.b.city");
    form.type(".b.zip", "7");
    form.click("Clear: b");
    expect(form.value()).toEqual({ a: { city: "Rome" } });
  });

  test("maps: a field is added, renamed in its place, emptied and removed", () => {
    const form = show(object({ m: { type: "object", additionalProperties: { type: "integer" } } }, ["m"]), {
      m: { x: 1, y: 2 },
    });
    form.type(".m.x", "5");
    expect(form.value()).toEqual({ m: { x: 5, y: 2 } });
    form.type(".m.x-key", "z");
    const field = form.at(".m.x");
    field.focus();
    form.press(".m.x-key", "Enter");
    expect(form.at(".m.z")).toBe(field);
    expect(document.activeElement).toBe(field);
    expect(JSON.stringify(form.value())).toBe('{"m":{"z":5,"y":2}}');
    form.type(".m.z", "");
    expect(form.value()).toEqual({ m: { z: null, y: 2 } });
    form.type(".m.z-key", "y");
    form.press(".m.z-key", "Enter");
    expect(form.box.textContent).toContain("There is a field “y” already.");
    form.type(".m-new", "w");
    form.press(".m-new", "Enter");
    expect(form.value()).toEqual({ m: { z: null, y: 2, w: null } });
    expect(document.activeElement?.id).toBe("f.m.w");
    form.click("Remove y");
    form.type(".m.w", "3");
    expect(form.value()).toEqual({ m: { z: null, w: 3 } });
  });

  test("a new field cannot be called as one that has its own place", () => {
    const form = show({ ...object({ a: { type: "string" } }), additionalProperties: true }, {});
    form.type("-new", "a");
    form.press("-new", "Enter");
    expect(form.value()).toEqual({});
    expect(form.box.textContent).toContain("There is a field “a” already.");
  });

  test("fields that the schema does not know are shown, and can be removed", () => {
    const form = show(
      { ...object({ a: { type: "string" } }), additionalProperties: false },
      { a: "x", odd: [1] },
    );
    expect(form.at<HTMLTextAreaElement>(".odd").value).toBe("[\n  1\n]");
    form.click("Remove odd");
    expect(form.value()).toEqual({ a: "x" });
    expect(form.has("-new")).toBe(false);
  });

  test("that name no fields at all take nothing, and say so", () => {
    const line = "There is nothing to fill in";
    for (const closed of [
      object({}),
      { type: "object", additionalProperties: false },
      { $ref: "#/$defs/E", $defs: { E: object({}) } },
    ] as JsonObject[]) {
      const form = show(closed, {});
      expect(form.box.textContent).toContain(line);
      expect(form.has("-new")).toBe(false);
      closeAll();
    }
    for (const open of [
      { type: "object" },
      { ...object({}), additionalProperties: true },
      { ...object({}), additionalProperties: {} },
      { ...object({}), additionalProperties: { type: "string" } },
      { type: "object", patternProperties: { "^x": { type: "string" } } },
      { type: "object", minProperties: 1 },
    ] as JsonObject[]) {
      const form = show(open, {});
      expect(form.has("-new")).toBe(true);
      expect(form.box.textContent).not.toContain(line);
      closeAll();
    }
    const extra = show(object({}), { odd: 1 });
    expect(extra.box.textContent).not.toContain(line);
    extra.click("Remove odd");
    expect(extra.value()).toEqual({});
    expect(extra.box.textContent).toContain(line);
  });

  test("a field may have any name", () => {
    const schema = object({
      "a.b/c d": { type: "string" },
      "": { type: "string" },
      __proto: { type: "string" },
      constructor: { type: "string" },
    });
    const form = show(schema, {});
    const fields = form.box.querySelectorAll("input");
    expect(fields.length).toBe(4);
    for (const [index, name] of ["a.b/c d", "", "__proto", "constructor"].entries()) {
      const field = fields[index] as HTMLInputElement;
      expect(/\s/.test(field.id)).toBe(false);
      form.type(field.id.slice(1), "v");
      expect(form.value()).toHaveProperty([name], "v");
    }
  });
});

describe("lists", () => {
  const schema = object({ tags: { type: "array", items: { type: "string" }, maxItems: 3 } });

  test("items are added, filled in, moved and removed, by keyboard too", () => {
    const form = show(schema, {});
    form.click("Add an item to tags");
    expect(form.value()).toEqual({ tags: [""] });
    expect(document.activeElement?.id).toBe("f.tags.0");
    form.type(".tags.0", "a");
    form.click("Add another to tags");
    form.type(".tags.1", "b");
    form.click("Add another to tags");
    expect(names(form.box)).not.toContain("Add another to tags");
    form.type(".tags.2", "c");
    form.click("Move item 3 up");
    expect(form.value()).toEqual({ tags: ["a", "c", "b"] });
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Move item 2 up");
    form.click("Move item 2 up");
    expect(form.value()).toEqual({ tags: ["c", "a", "b"] });
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Move item 1 down");
    form.click("Remove item 2");
    expect(form.value()).toEqual({ tags: ["c", "b"] });
    form.click("Clear: tags");
    expect(form.value()).toEqual({});
    form.click("Add an item to tags");
    form.click("Remove item 1");
    expect(form.value()).toEqual({ tags: [] });
    expect(form.box.textContent).toContain("empty list");
  });

  test("of numbers, objects and choices begin with what can be empty", () => {
    const form = show(
      object({
        n: { type: "array", items: { type: "number" } },
        o: { type: "array", items: object({ a: { type: "string" }, k: { const: "x" } }, ["k"]) },
        e: { type: "array", items: { enum: ["a", "b"] }, uniqueItems: true },
      }),
      {},
    );
    form.click("Add an item to n");
    form.click("Add an item to o");
    form.click("Add an item to e");
    expect(form.value()).toEqual({ n: [null], o: [{ k: "x" }], e: [null] });
    form.type(".n.0", "4");
    form.type(".o.0.a", "y");
    form.choose(".e.0", "b");
    expect(form.value()).toEqual({ n: [4], o: [{ k: "x", a: "y" }], e: ["b"] });
    form.type(".n.0", "");
    expect(form.value()).toHaveProperty("n", [null]);
  });

  test("with a schema for each place, and for all that follow", () => {
    const form = show(
      object({
        p: { type: "array", prefixItems: [{ type: "string" }], items: { type: "integer" }, maxItems: 3 },
      }),
      {},
    );
    form.click("Add another to p");
    expect(form.value()).toEqual({ p: [null, null] });
    expect(document.activeElement?.id).toBe("f.p.1");
    form.type(".p.1", "5");
    form.type(".p.0", "x");
    form.click("Add another to p");
    form.type(".p.2", "6");
    expect(names(form.box)).not.toContain("Add another to p");
    form.click("Remove item 2");
    expect(form.value()).toEqual({ p: ["x", 6] });
    expect(form.at(".p.1").value).toBe("6");
    expect(names(form.box)).not.toContain("Remove item 1");
    for (const items of [false, undefined]) {
      closeAll();
      const closed = show(
        object({
          p: { type: "array", prefixItems: [{ type: "string" }], ...(items === false && { items }) },
        }),
        { p: ["x", "odd"] },
      );
      expect(names(closed.box)).not.toContain("Add another to p");
      closed.click("Remove item 2");
      expect(closed.value()).toEqual({ p: ["x"] });
    }
  });

  test("with a schema for each place", () => {
    const form = show(
      object({ p: { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] } }),
      {},
    );
    form.type(".p.1", "3");
    expect(form.value()).toEqual({ p: [null, 3] });
    form.type(".p.0", "x");
    expect(form.value()).toEqual({ p: ["x", 3] });
  });
});

describe("items and fields that may be null, or of several kinds", () => {
  const list = (items: JsonObject): JsonObject => object({ l: { type: "array", items } });
  const map = (more: JsonObject): JsonObject =>
    object({ l: { type: "object", additionalProperties: more } }, ["l"]);
  const optional = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: "null" }] });

  test("a list of whole numbers or null", () => {
    const form = show(list(optional({ type: "integer" })), {});
    form.click("Add an item to l");
    expect(form.value()).toEqual({ l: [null] });
    expect(form.box.textContent).toContain("sent as null");
    expect(document.activeElement?.id).toBe("f.l.0");
    form.type(".l.0", "5");
    expect(form.value()).toEqual({ l: [5] });
    const field = form.at(".l.0");
    form.type(".l.0", "");
    expect(form.at(".l.0")).toBe(field);
    form.type(".l.0", "6");
    form.click("Set to null: Item 1");
    expect(form.value()).toEqual({ l: [null] });
    form.type(".l.0", "7");
    expect(form.value()).toEqual({ l: [7] });
  });

  test("a map of numbers or null", () => {
    const form = show(map(optional({ type: "number" })), {});
    form.type(".l-new", "x");
    form.press(".l-new", "Enter");
    expect(form.value()).toEqual({ l: { x: null } });
    expect(document.activeElement?.id).toBe("f.l.x");
    form.type(".l.x", "1.5");
    expect(form.value()).toEqual({ l: { x: 1.5 } });
    form.click("Set to null: x");
    expect(form.value()).toEqual({ l: { x: null } });
    form.type(".l.x", "2");
    expect(form.value()).toEqual({ l: { x: 2 } });
  });

  test("a map of whole numbers or texts", () => {
    const form = show(map({ anyOf: [{ type: "integer" }, { type: "string" }] }), {});
    form.type(".l-new", "x");
    form.press(".l-new", "Enter");
    expect(document.activeElement?.id).toBe("f.l.x-kind");
    form.choose(".l.x-kind", "Text");
    expect(form.value()).toEqual({ l: { x: "" } });
    form.type(".l.x", "a");
    form.type(".l.x", "");
    expect(form.value()).toEqual({ l: { x: "" } });
    expect(form.chosen(".l.x-kind")).toBe("Text");
    form.choose(".l.x-kind", "Whole number");
    expect(form.value()).toEqual({ l: { x: null } });
    form.type(".l.x", "5");
    form.type(".l.x", "");
    form.type(".l.x", "6");
    expect(form.value()).toEqual({ l: { x: 6 } });
    expect(form.chosen(".l.x-kind")).toBe("Whole number");
  });

  test.each([["list"], ["map"]])("a %s of whole numbers, texts or null", (kind) => {
    const items: JsonObject = { type: ["integer", "string", "null"] };
    const form = show(kind === "list" ? list(items) : map(items), {});
    const at = kind === "list" ? ".l.0" : ".l.x";
    const value = (one: unknown) => ({ l: kind === "list" ? [one] : { x: one } });
    if (kind === "list") form.click("Add an item to l");
    else {
      form.type(".l-new", "x");
      form.press(".l-new", "Enter");
    }
    expect(form.value()).toEqual(value(null));
    expect(form.chosen(`${at}-kind`)).toBe("Null");
    form.choose(`${at}-kind`, "Whole number");
    form.type(at, "3");
    expect(form.value()).toEqual(value(3));
    form.choose(`${at}-kind`, "Text");
    form.type(at, "t");
    expect(form.value()).toEqual(value("t"));
    form.choose(`${at}-kind`, "Null");
    expect(form.value()).toEqual(value(null));
    expect(form.has(at)).toBe(false);
  });

  test.each<[string, JsonObject, unknown]>([
    ["texts", { type: "string" }, ""],
    ["yes or no", { type: "boolean" }, false],
    ["lists", { type: "array", items: { type: "string" } }, []],
    ["objects", object({ a: { type: "string" } }), {}],
  ])("%s or null can be null and something again", (_, schema, start) => {
    for (const kind of ["list", "map"]) {
      const form = show(
        kind === "list" ? list(optional(schema)) : map(optional(schema)),
        kind === "list" ? { l: [null] } : { l: { x: null } },
      );
      const name = kind === "list" ? "Item 1" : "x";
      const value = (one: unknown) => ({ l: kind === "list" ? [one] : { x: one } });
      form.click(`Enter a value: ${name}`);
      expect(form.value()).toEqual(value(start));
      form.click(`Set to null: ${name}`);
      expect(form.value()).toEqual(value(null));
      closeAll();
    }
  });

  test("one of a few values or null, and anything", () => {
    const form = show(
      object({
        e: { type: "array", items: optional({ enum: ["a", "b"] }) },
        n: { type: "array", items: { enum: ["a", null] } },
        x: { type: "array", items: {} },
      }),
      {},
    );
    form.click("Add an item to e");
    expect(form.chosen(".e.0")).toBe("null");
    form.choose(".e.0", "b");
    form.click("Add an item to n");
    form.choose(".n.0", "a");
    form.click("Add an item to x");
    form.type(".x.0", "[1]");
    expect(form.value()).toEqual({ e: ["b"], n: ["a"], x: [[1]] });
    form.choose(".e.0", "null");
    form.choose(".n.0", "null");
    form.type(".x.0", "null");
    expect(form.value()).toEqual({ e: [null], n: [null], x: [null] });
  });

  test("places of a list that may be null", () => {
    const form = show(
      object({ p: { type: "array", prefixItems: [optional({ type: "integer" }), { type: "string" }] } }),
      {},
    );
    form.type(".p.1", "x");
    form.type(".p.0", "3");
    expect(form.value()).toEqual({ p: [3, "x"] });
  });

  test("a new field of a map that has parts gets the focus inside", () => {
    const form = show(map(object({ a: { type: "string" } })), {});
    form.type(".l-new", "x");
    form.press(".l-new", "Enter");
    expect(document.activeElement?.id).toBe("f.l.x.a");
  });

  test("a definition that may be null behaves alike", () => {
    const form = show(
      { ...list({ $ref: "#/$defs/N" }), $defs: { N: optional({ type: "integer" }) } },
      { l: [null, 1] },
    );
    form.type(".l.0", "4");
    expect(form.value()).toEqual({ l: [4, 1] });
  });
});

describe("choices", () => {
  const schema: JsonObject = {
    ...object({ pet: { anyOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }, { type: "string" }] } }),
    $defs: {
      Cat: object({ kind: { const: "cat" }, lives: { type: "integer" }, name: { type: "string" } }, ["kind"]),
      Dog: object(
        {
          kind: { const: "dog" },
          tricks: { type: "array", items: { type: "string" } },
          name: { type: "string" },
        },
        ["kind"],
      ),
    },
  };

  test("have names, begin with what they need, and keep what they share", () => {
    const form = show(schema, {});
    const options = [...form.at<HTMLSelectElement>(".pet-kind").options].map((one) => one.textContent);
    expect(options).toEqual(["Not set", "Cat", "Dog", "Text"]);
    form.choose(".pet-kind", "Cat");
    expect(form.value()).toEqual({ pet: { kind: "cat" } });
    form.type(".pet.name", "Tom");
    form.type(".pet.lives", "9");
    form.choose(".pet-kind", "Dog");
    expect(form.value()).toEqual({ pet: { kind: "dog", name: "Tom" } });
    form.choose(".pet-kind", "Text");
    expect(form.value()).toEqual({});
    form.type(".pet", "none");
    expect(form.value()).toEqual({ pet: "none" });
    form.choose(".pet-kind", "Not set");
    expect(form.value()).toEqual({});
  });

  test("the one that a value was made with is found again", () => {
    const form = show(schema, { pet: { kind: "dog", tricks: [1] } });
    expect(form.chosen(".pet-kind")).toBe("Dog");
    form.give({ pet: "text" });
    expect(form.chosen(".pet-kind")).toBe("Text");
    expect(form.changes).toEqual([]);
  });

  test("hold while they are filled in, even when half a value looks like another", () => {
    const form = show(object({ x: { type: ["string", "number"] } }), {});
    form.choose(".x-kind", "Number");
    form.type(".x", "-");
    expect(form.at(".x").value).toBe("-");
    form.type(".x", "-1");
    expect(form.value()).toEqual({ x: -1 });
    expect(form.chosen(".x-kind")).toBe("Number");
  });

  const anyOf = (...options: JsonObject[]): JsonObject => object({ x: { anyOf: options } });

  test("hold while a field inside them is filled in, which keeps the focus", () => {
    const form = show(
      anyOf(
        { ...object({ name: { type: "string" } }), title: "A" },
        { ...object({ name: { type: "string" }, age: { type: "integer" } }, ["age"]), title: "B" },
      ),
      {},
    );
    form.choose(".x-kind", "B");
    const field = form.at(".x.name");
    field.focus();
    form.type(".x.name", "T");
    expect(form.chosen(".x-kind")).toBe("B");
    expect(form.at(".x.name")).toBe(field);
    expect(document.activeElement).toBe(field);
    form.type(".x.name", "To");
    form.type(".x.age", "3");
    form.type(".x.name", "");
    expect(form.chosen(".x-kind")).toBe("B");
    expect(form.value()).toEqual({ x: { age: 3 } });
    // A value from elsewhere is looked at anew.
    form.give({ x: { name: "Ann" } });
    expect(form.chosen(".x-kind")).toBe("A");
  });

  test("that share fields do not take each other's place", () => {
    const limit: JsonObject = { type: "integer" };
    const form = show(
      anyOf(
        { ...object({ name: { type: "string" }, limit }, ["name"]), title: "ByName" },
        { ...object({ id: { type: "integer" }, limit }, ["id"]), title: "ById" },
      ),
      {},
    );
    form.choose(".x-kind", "ById");
    form.type(".x.limit", "5");
    expect(form.chosen(".x-kind")).toBe("ById");
    form.click("Clear: x");
    expect(form.chosen(".x-kind")).toBe("Not set");
  });

  test("of those that a value fits, the one that knows most of its fields", () => {
    const form = show(
      anyOf(
        { ...object({ name: { type: "string" } }), title: "A" },
        { ...object({ name: { type: "string" }, age: { type: "integer" } }), title: "B" },
      ),
      { x: { name: "T", age: 3 } },
    );
    expect(form.chosen(".x-kind")).toBe("B");
  });

  test("inside choices and lists hold as well", () => {
    const leaf: JsonObject = {
      anyOf: [
        { ...object({ v: { type: "string" } }), title: "One" },
        { ...object({ v: { type: "string" }, w: { type: "string" } }), title: "Two" },
      ],
    };
    const form = show(
      anyOf({ ...object({ l: { type: "array", items: leaf } }), title: "List" }, { type: "string" }),
      {},
    );
    form.choose(".x-kind", "List");
    form.click("Add an item to l");
    form.choose(".x.l.0-kind", "Two");
    form.type(".x.l.0.v", "a");
    expect(form.chosen(".x.l.0-kind")).toBe("Two");
    form.click("Add another to l");
    form.choose(".x.l.1-kind", "One");
    form.type(".x.l.1.v", "b");
    form.click("Move item 2 up");
    expect(form.chosen(".x.l.0-kind")).toBe("One");
    expect(form.chosen(".x.l.1-kind")).toBe("Two");
    form.type(".x.l.1.w", "c");
    expect(form.value()).toEqual({ x: { l: [{ v: "b" }, { v: "a", w: "c" }] } });
  });

  test("in a list hold when what was typed is taken away again", () => {
    const form = show(object({ l: { type: "array", items: { type: ["integer", "string"] } } }), {});
    form.click("Add an item to l");
    form.choose(".l.0-kind", "Whole number");
    form.type(".l.0", "5");
    const field = form.at(".l.0");
    form.type(".l.0", "");
    expect(form.at(".l.0")).toBe(field);
    expect(form.chosen(".l.0-kind")).toBe("Whole number");
    form.type(".l.0", "6");
    expect(form.value()).toEqual({ l: [6] });
  });

  test("what stands beside them holds for each", () => {
    const form = show(
      {
        type: "object",
        properties: { a: { type: "string" } },
        anyOf: [
          { title: "B", properties: { b: { type: "string" } }, required: ["b"] },
          { title: "C", properties: { c: { type: "integer" } }, required: ["c"] },
        ],
      },
      { a: "x", c: 1 },
    );
    expect(form.chosen("-kind")).toBe("C");
    form.type(".a", "y");
    expect(form.value()).toEqual({ a: "y", c: 1 });
    form.type(".c", "2");
    expect(form.value()).toEqual({ a: "y", c: 2 });
  });

  test("that only demand are not drawn", () => {
    const form = show(
      {
        ...object({ a: { type: "string" }, b: { type: "string" } }),
        anyOf: [{ required: ["a"] }, { required: ["b"] }],
      },
      {},
    );
    expect(form.has(".a")).toBe(true);
    expect(form.has("-kind")).toBe(false);
  });
});

describe("schemas in parts", () => {
  test("conditions that are always or never so", () => {
    for (const is of [true, false]) {
      const form = show(
        {
          ...object({}),
          if: is,
          // biome-ignore lint/suspicious/noThenProperty: a keyword
          then: object({ yes: { type: "string" } }),
          else: object({ no: { type: "string" } }),
        },
        {},
      );
      expect([form.has(".yes"), form.has(".no")]).toEqual([is, !is]);
      closeAll();
    }
  });

  test("allOf is one form", () => {
    const form = show(
      {
        allOf: [object({ a: { type: "string" } }, ["a"]), { $ref: "#/$defs/B" }],
        $defs: { B: object({ b: { type: "integer" } }) },
      },
      {},
    );
    form.type(".a", "x");
    form.type(".b", "2");
    expect(form.value()).toEqual({ a: "x", b: 2 });
  });

  test("a schema that contains itself is drawn as deep as somebody goes", () => {
    const node = object(
      {
        name: { type: "string" },
        next: { $ref: "#/$defs/Node" },
        kids: { type: "array", items: { $ref: "#/$defs/Node" } },
      },
      ["name"],
    );
    const form = show({ $ref: "#/$defs/Node", $defs: { Node: node } }, {});
    for (const depth of [0, 1, 2, 3]) {
      form.click("Add next");
      form.type(`${".next".repeat(depth + 1)}.name`, `n${depth}`);
    }
    expect(form.value()).toEqual({
      next: { name: "n0", next: { name: "n1", next: { name: "n2", next: { name: "n3" } } } },
    });
  });

  test("one that must contain itself does not go on for ever", () => {
    const node = object({ next: { $ref: "#/$defs/Node" } }, ["next"]);
    const schema = { $ref: "#/$defs/Node", $defs: { Node: node } };
    expect(initialValue(schema)).toEqual({});
    show(schema, {});
    show({ $ref: "#", ...object({}) }, {});
    show({ $ref: "#/$defs/A", $defs: { A: { $ref: "#/$defs/B" }, B: { $ref: "#/$defs/A" } } }, {});
    show(object({ a: { $ref: "#/$defs/Nowhere" } }), {});
  });

  test("google.genai's dialect", () => {
    const form = show(
      {
        type: "OBJECT",
        properties: {
          b: { type: "INTEGER" },
          a: { type: "STRING", enum: ["x", "y"] },
          l: { type: "ARRAY", items: { type: "BOOLEAN" }, max_items: "2" },
          o: { any_of: [{ type: "NUMBER" }, { type: "STRING" }] },
        },
        required: ["a"],
        property_ordering: ["a", "b"],
      },
      {},
    );
    expect([...form.box.querySelectorAll("label")].map((one) => one.textContent)).toEqual([
      "a* (required)",
      "b",
    ]);
    form.choose(".a", "y");
    form.type(".b", "4");
    form.click("Add an item to l");
    expect(form.value()).toEqual({ a: "y", b: 4, l: [false] });
  });
});

describe("what stands around a field", () => {
  test("its description, limits and problems describe the control", () => {
    const schema = object(
      { n: { type: "integer", title: "Count", description: "How many", minimum: 1, maximum: 5 } },
      ["n"],
    );
    const form = show(schema, { n: 9 }, { problems: [{ pointer: "/n", message: "must be at most 5" }] });
    const control = form.at(".n");
    expect(control.getAttribute("aria-invalid")).toBe("true");
    const words = control
      .getAttribute("aria-describedby")
      ?.split(" ")
      .map((id) => document.getElementById(id)?.textContent);
    expect(words).toEqual(["How many", "1 to 5.", "must be at most 5"]);
    expect(form.box.querySelector('label[for="f.n"]')?.textContent).toBe("n* (required) Count");
  });

  test("a problem with something that is not drawn is said at what is around it", () => {
    const form = show(
      { ...object({ a: { type: "string" } }), required: ["zz"] },
      {},
      {
        problems: [
          { pointer: "/zz", message: "is required" },
          { pointer: "", message: "is odd" },
        ],
      },
    );
    expect(form.box.textContent).toContain("zz is required");
    expect(form.box.textContent).toContain("is odd");
  });

  test("a value of another kind is shown, kept, and can be cleared", () => {
    const form = show(
      object({ l: { type: "array", items: { type: "string" } }, s: { type: "string" }, o: object({}) }),
      { l: "no", s: 5, o: 1 },
    );
    expect(form.changes).toEqual([]);
    expect(form.box.textContent).toContain("no does not fit this field");
    form.click("Clear: s");
    expect(form.value()).toEqual({ l: "no", o: 1 });
  });

  test("what is deprecated has its own name", () => {
    const form = show(object({ old: { type: "string", deprecated: true } }), {});
    expect(form.box.querySelector("label")?.textContent).toBe("old deprecated");
  });

  test("disabled is disabled everywhere", () => {
    const form = show(
      object(
        {
          a: { type: "string" },
          l: { type: "array", items: { type: "string" } },
          o: object({}),
          m: { type: "object", additionalProperties: true },
        },
        ["m"],
      ),
      { l: ["x"] },
      { disabled: true },
    );
    for (const control of form.box.querySelectorAll<HTMLInputElement>("input, textarea, select, button"))
      expect(control.disabled).toBe(true);
  });

  test("no form, nothing that submits, no style attribute, no id twice, a name for every control", () => {
    const form = show(
      object({
        a: { type: "string" },
        b: { type: "boolean" },
        c: { anyOf: [{ type: "string" }, { type: "integer" }] },
        l: { type: "array", items: { type: "string" } },
        x: {},
      }),
      { c: 1, l: ["x"] },
    );
    expect(form.box.querySelector("form, [style], button:not([type=button])")).toBeNull();
    const ids = [...form.box.querySelectorAll("[id]")].map((one) => one.id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const control of form.box.querySelectorAll("input, textarea, select")) {
      const named =
        control.getAttribute("aria-label") ??
        form.box.querySelector(`label[for="${CSS.escape(control.id)}"]`)?.textContent;
      expect(named).toBeTruthy();
    }
  });
});
