import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Json, JsonObject } from "../../src/api/client";
import { initialValue } from "../../src/form/initial";
import { validate } from "../../src/form/validate";
import { closeAll, show } from "./form-help";

vi.mock("../../src/form/SchemaForm", async (original) => {
  const { SchemaForm } = await original<typeof import("../../src/form/SchemaForm")>();
  return {
    SchemaForm: (props: Parameters<typeof SchemaForm>[0]) => {
      if (JSON.stringify(props.value).includes("trap")) throw new Error("cannot be drawn");
      return SchemaForm(props);
    },
  };
});

// React says what it caught.
beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterEach(() => {
  closeAll();
  vi.restoreAllMocks();
});

const schema: JsonObject = { type: "object", properties: { a: { type: "string" } } };
const LINE = "The form of this schema cannot be drawn";

test("a form that cannot be drawn gives way to the text, and people go on", () => {
  const editor = show(schema, { a: "trap" }, { editor: true });
  expect(editor.box.textContent).toContain(LINE);
  editor.type("-raw", '{"a": "trap 2"}');
  expect(editor.value()).toEqual({ a: "trap 2" });
  editor.type("-raw", '{"a": ');
  expect(editor.raw.at(-1)).toContain("not JSON yet");
});

test("one that can be drawn again is shown when somebody asks for it", () => {
  const editor = show(schema, { a: "x" }, { editor: true });
  editor.type(".a", "trap");
  expect(editor.value()).toEqual({ a: "trap" });
  expect(editor.box.textContent).toContain(LINE);
  editor.click("Form");
  expect(editor.box.textContent).toContain(LINE);
  editor.type("-raw", '{"a": "free"}');
  editor.click("Form");
  expect(editor.at(".a").value).toBe("free");
  expect(editor.box.textContent).not.toContain(LINE);
});

test("a schema that cannot be read at all allows anything, as text", () => {
  // Half a character cannot be part of an address.
  const odd: JsonObject = { $ref: "#/$defs/\ud800", $defs: { "\ud800": { type: "string" } } };
  expect(initialValue(odd)).toBeUndefined();
  expect(validate(odd, 5)).toEqual([]);
  const editor = show(odd, { a: 1 } as Json, { editor: true });
  expect(editor.box.textContent).toContain(LINE);
  editor.type("-raw", "[1]");
  expect(editor.value()).toEqual([1]);
});
