import { afterEach, expect, test } from "vitest";
import type { JsonObject } from "../../src/api/client";
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

test("whole numbers that would be changed are refused", () => {
  const editor = show(schema, {}, { editor: true });
  editor.click("Raw JSON");
  editor.type("-raw", '{"n": 9007199254740993}');
  expect(editor.value()).toEqual({});
  expect(editor.raw.at(-1)).toContain("changed on the way");
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
