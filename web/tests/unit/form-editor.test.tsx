import { afterEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/api/client";
import { whole } from "../../src/json/exact";
import { closeAll, leave, show } from "./form-help";

afterEach(closeAll);

const schema: JsonObject = { type: "object", properties: { a: { type: "string" }, n: { type: "integer" } } };

test("two views of the same value, both ways", () => {
  const editor = show(schema, { a: "x" }, { editor: true });
  editor.click("Raw JSON");
  expect(editor.at<HTMLTextAreaElement>("-raw").value).toBe('{\n  "a": "x"\n}');
  editor.type("-raw", '{"a": "y",   "n": 4}');
  expect(editor.value()).toEqual({ a: "y", n: 4 });
  expect(editor.at<HTMLTextAreaElement>("-raw").value).toBe('{"a": "y",   "n": 4}');
  editor.click("Form");
  expect(editor.at(".a").value).toBe("y");
  editor.type(".n", "5");
  editor.click("Raw JSON");
  expect(editor.at<HTMLTextAreaElement>("-raw").value).toBe('{\n  "a": "y",\n  "n": 5\n}');
});

test("text that is not JSON yet is kept, refused, and says where", () => {
  const editor = show(schema, { a: "x" }, { editor: true });
  editor.click("Raw JSON");
  editor.type("-raw", '{"a": ');
  expect(editor.value()).toEqual({ a: "x" });
  expect(editor.at<HTMLTextAreaElement>("-raw").value).toBe('{"a": ');
  expect(editor.raw.at(-1)).toContain("Line 1, column 7");
  expect(editor.at<HTMLTextAreaElement>("-raw").getAttribute("aria-invalid")).toBe("true");
  expect(editor.box.querySelector<HTMLButtonElement>("button[aria-pressed=false]")?.disabled).toBe(true);
  editor.type("-raw", '{"a": "z"}');
  expect(editor.raw.at(-1)).toBeNull();
  expect(editor.value()).toEqual({ a: "z" });
  editor.type("-raw", "");
  expect(editor.value()).toBeUndefined();
});

test("text that is not JSON yet is there after a reload, for the same value", () => {
  const before = show(schema, { a: "x" }, { editor: true });
  before.click("Raw JSON");
  before.type("-raw", '{"a": "half');
  leave();
  const after = show(schema, { a: "x" }, { editor: true });
  expect(after.at<HTMLTextAreaElement>("-raw").value).toBe('{"a": "half');
  expect(after.raw.at(-1)).toContain("Line 1");
  after.type("-raw", '{"a": "half and half"}');
  expect(after.value()).toEqual({ a: "half and half" });
  leave();
  const last = show(schema, { a: "half and half" }, { editor: true });
  expect(last.has("-raw")).toBe(false);
});

test("a value from outside replaces what was typed", () => {
  const editor = show(schema, { a: "x" }, { editor: true });
  editor.click("Raw JSON");
  editor.type("-raw", "{");
  editor.give({ a: "new" });
  expect(editor.at<HTMLTextAreaElement>("-raw").value).toBe('{\n  "a": "new"\n}');
  expect(editor.raw.at(-1)).toBeNull();
});

test("whole numbers that a number would change stay what they are", () => {
  const editor = show(schema, {}, { editor: true });
  editor.click("Raw JSON");
  editor.type("-raw", '{"n": 9007199254740993}');
  expect(editor.value()).toEqual({ n: whole("9007199254740993") });
  expect(editor.raw.at(-1)).toBeNull();
  expect(editor.at<HTMLTextAreaElement>("-raw").value).toBe('{"n": 9007199254740993}');
  editor.click("Form");
  expect(editor.at(".n").value).toBe("9007199254740993");
});

test("numbers that nobody can hold are refused", () => {
  const editor = show(schema, {}, { editor: true });
  editor.click("Raw JSON");
  editor.type("-raw", '{"n": 1e999}');
  expect(editor.value()).toEqual({});
  expect(editor.raw.at(-1)).toContain("too large");
});

test.each([[{}], [{ description: "Anything" }], [{ $ref: "#/$defs/None" }]] as [JsonObject][])(
  "%j has no form, only text",
  (free) => {
    const editor = show(free, { a: 1 }, { editor: true });
    expect(editor.box.querySelector(".form-views")).toBeNull();
    editor.type("-raw", "[1]");
    expect(editor.value()).toEqual([1]);
  },
);

test("problems are listed beside the text as well", () => {
  const editor = show(
    schema,
    { n: "x" },
    {
      editor: true,
      problems: [
        { pointer: "/n", message: "must be a whole number" },
        { pointer: "", message: "is odd" },
      ],
    },
  );
  editor.click("Raw JSON");
  expect([...editor.box.querySelectorAll("li")].map((one) => one.textContent)).toEqual([
    "n must be a whole number",
    "The value is odd",
  ]);
});

test("a field that takes anything refuses half a value too, and lets go when it is gone", () => {
  const editor = show({ type: "object", properties: { x: {} } }, {}, { editor: true });
  editor.type(".x", "[1,");
  expect(editor.raw.at(-1)).toContain("not JSON yet");
  expect(editor.value()).toEqual({});
  editor.type(".x", "[1, 2]");
  expect(editor.value()).toEqual({ x: [1, 2] });
  expect(editor.raw.at(-1)).toBeNull();
});

describe("half a value inside a form", () => {
  const list: JsonObject = { type: "object", properties: { l: { type: "array", items: {} } } };
  const map: JsonObject = { type: "object", properties: { m: { type: "object" } }, required: ["m"] };

  test("goes with its item", () => {
    const editor = show(list, {}, { editor: true });
    editor.click("Add an item to l");
    editor.type(".l.0", '{"a');
    expect(editor.raw.at(-1)).toContain("not JSON yet");
    editor.click("Remove item 1");
    expect(editor.raw.at(-1)).toBeNull();
    editor.click("Add an item to l");
    expect(editor.at<HTMLTextAreaElement>(".l.0").value).toBe("null");
    expect(editor.raw.at(-1)).toBeNull();
  });

  test("goes with its field, and not to the next", () => {
    const editor = show(map, { m: { x: null, y: null } }, { editor: true });
    editor.type(".m.x", '{"a');
    editor.click("Remove x");
    expect(editor.at<HTMLTextAreaElement>(".m.y").value).toBe("null");
    expect(editor.raw.at(-1)).toBeNull();
    editor.type(".m-new", "x");
    editor.press(".m-new", "Enter");
    expect(editor.at<HTMLTextAreaElement>(".m.x").value).toBe("null");
    // One that is called something else is still the same.
    editor.type(".m.x", '{"b');
    editor.type(".m.x-key", "z");
    editor.press(".m.x-key", "Enter");
    expect(editor.at<HTMLTextAreaElement>(".m.z").value).toBe('{"b');
    expect(editor.raw.at(-1)).toContain("not JSON yet");
    editor.click("Remove z");
    expect(editor.raw.at(-1)).toBeNull();
  });

  test("moves with its item", () => {
    const editor = show(list, { l: [null, null] }, { editor: true });
    editor.type(".l.0", '{"a');
    editor.click("Move item 1 down");
    expect(editor.at<HTMLTextAreaElement>(".l.0").value).toBe("null");
    expect(editor.at<HTMLTextAreaElement>(".l.1").value).toBe('{"a');
    expect(editor.raw.at(-1)).toContain("not JSON yet");
    editor.click("Remove item 2");
    expect(editor.raw.at(-1)).toBeNull();
  });

  test("is there again after a reload, and refused again", () => {
    const before = show(list, { l: [null, 1] }, { editor: true });
    before.type(".l.0", '{"a');
    before.click("Move item 1 down");
    leave();
    const after = show(list, { l: [1, null] }, { editor: true });
    expect(after.at<HTMLTextAreaElement>(".l.0").value).toBe("1");
    expect(after.at<HTMLTextAreaElement>(".l.1").value).toBe('{"a');
    expect(after.raw.at(-1)).toContain("not JSON yet");
    // A new field at the place is another one.
    after.click("Remove item 2");
    after.click("Add another to l");
    expect(after.at<HTMLTextAreaElement>(".l.1").value).toBe("null");
    leave();
    const last = show(list, { l: [1, null] }, { editor: true });
    expect(last.at<HTMLTextAreaElement>(".l.1").value).toBe("null");
  });

  test("is not found again where another value stands now, or by a field that comes later", () => {
    const before = show(list, { l: [null] }, { editor: true });
    before.type(".l.0", '{"a');
    leave();
    const changed = show(list, { l: [7] }, { editor: true });
    expect(changed.at<HTMLTextAreaElement>(".l.0").value).toBe("7");
    leave();
    const again = show(list, { l: [null] }, { editor: true });
    again.type(".l.0", '{"a');
    leave();
    const empty = show(list, {}, { editor: true });
    empty.click("Add an item to l");
    expect(empty.at<HTMLTextAreaElement>(".l.0").value).toBe("null");
    expect(empty.raw.at(-1) ?? null).toBeNull();
  });
});

describe("all text taken away", () => {
  /** Those who show an editor put something in the place of nothing. */
  const filled = { editor: true, instead: {} };

  test("is shown as that while somebody is there", () => {
    const editor = show(schema, { a: "x" }, filled);
    editor.click("Raw JSON");
    const text = editor.at<HTMLTextAreaElement>("-raw");
    text.focus();
    editor.type("-raw", "");
    expect(editor.value()).toEqual({});
    expect(text.value).toBe("");
    expect(editor.raw.at(-1) ?? null).toBeNull();
    editor.type("-raw", " ");
    expect(text.value).toBe(" ");
    editor.type("-raw", '{"a": "y"}');
    expect(editor.value()).toEqual({ a: "y" });
    editor.type("-raw", "");
    editor.leave("-raw");
    expect(text.value).toBe("{}");
  });

  test("gives way to a value from elsewhere", () => {
    const editor = show(schema, {}, filled);
    editor.click("Raw JSON");
    editor.type("-raw", "");
    expect(editor.at<HTMLTextAreaElement>("-raw").value).toBe("");
    editor.give({ a: "new" });
    expect(editor.at<HTMLTextAreaElement>("-raw").value).toBe('{\n  "a": "new"\n}');
    editor.give({});
    expect(editor.at<HTMLTextAreaElement>("-raw").value).toBe("{}");
  });

  test("in an item, where nothing can be absent", () => {
    const editor = show({ type: "array", items: {} }, [[1]], { editor: true });
    editor.type(".0", "");
    expect(editor.value()).toEqual([null]);
    expect(editor.at<HTMLTextAreaElement>(".0").value).toBe("");
    editor.type(".0", "2");
    expect(editor.value()).toEqual([2]);
    editor.type(".0", "");
    editor.leave(".0");
    expect(editor.at<HTMLTextAreaElement>(".0").value).toBe("null");
  });

  test("where nothing is nothing stays nothing", () => {
    const editor = show(schema, { a: "x" }, { editor: true });
    editor.click("Raw JSON");
    editor.type("-raw", "  ");
    expect(editor.value()).toBeUndefined();
    editor.leave("-raw");
    expect(editor.at<HTMLTextAreaElement>("-raw").value.trim()).toBe("");
  });
});

test("null at the top is a value, in both views", () => {
  const editor = show({ ...schema, type: ["object", "null"] }, {}, { editor: true });
  editor.click("Raw JSON");
  editor.type("-raw", "null");
  expect(editor.value()).toBeNull();
  editor.click("Form");
  expect(editor.changes).toEqual([null]);
  expect(editor.box.querySelector(".form-null")?.textContent).toBe("null");
  editor.click("Raw JSON");
  expect(editor.at<HTMLTextAreaElement>("-raw").value).toBe("null");
});
