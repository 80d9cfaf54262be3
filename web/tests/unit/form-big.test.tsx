import { afterEach, describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/api/client";
import { initialValue } from "../../src/form/initial";
import { isObject, same } from "../../src/form/paths";
import { readJson } from "../../src/form/text";
import { validate } from "../../src/form/validate";
import { readJsonText, whole, writeJson } from "../../src/json/exact";
import { closeAll, show } from "./form-help";

afterEach(closeAll);

const BIG = "9223372036854775807";
const read = (text: string) => readJsonText(text) as JsonObject;
/** A schema as it comes from the server. */
const a = (text: string): JsonObject => read(`{"type":"object","properties":{"a":${text}}}`);
const said = (schema: JsonObject, value: string) =>
  validate(schema, read(value)).map(({ pointer, message }) => `${pointer} ${message}`);

describe("whole numbers beyond 2^53", () => {
  test.each(["integer", "number"])("are entered and shown in a field of type %s", (type) => {
    const form = show(a(`{"type":"${type}"}`), {});
    form.type(".a", BIG);
    expect(writeJson(form.value())).toBe(`{"a":${BIG}}`);
    expect(form.at(".a").value).toBe(BIG);
    form.type(".a", `-${BIG}`);
    expect(writeJson(form.value())).toBe(`{"a":-${BIG}}`);
    form.give(read('{"a":18446744073709551615}'));
    expect(form.at(".a").value).toBe("18446744073709551615");
    form.type(".a", "7");
    expect(form.value()).toEqual({ a: 7 });
  });

  test("are kept as they are typed", () => {
    const form = show(a('{"type":"integer"}'), {});
    form.type(".a", `000${BIG}`);
    expect(form.at(".a").value).toBe(`000${BIG}`);
    expect(writeJson(form.value())).toBe(`{"a":${BIG}}`);
    // What is no number of anybody's stays text, and is refused.
    form.type(".a", "9".repeat(400));
    expect(form.value()).toEqual({ a: "9".repeat(400) });
    expect(form.at(".a").value).toBe("9".repeat(400));
  });

  test("are read and written exactly as text", () => {
    const editor = show(a('{"type":"integer"}'), read(`{"a":${BIG}}`), { editor: true });
    expect(editor.at(".a").value).toBe(BIG);
    editor.click("Raw JSON");
    expect(editor.at("-raw").value).toBe(`{\n  "a": ${BIG}\n}`);
    editor.type("-raw", '{"a": 9223372036854775806}');
    expect(writeJson(editor.value())).toBe('{"a":9223372036854775806}');
    editor.click("Form");
    expect(editor.at(".a").value).toBe("9223372036854775806");
  });

  test("one that differs in its last digit is another one", () => {
    const [one, other] = [whole(BIG), whole("9223372036854775806")];
    expect(same(one, whole(BIG))).toBe(true);
    expect(same(one, other)).toBe(false);
    expect(same([{ n: one }], [{ n: other }])).toBe(false);
    expect(same(one, { digits: BIG })).toBe(false);
    expect(same(one, BIG)).toBe(false);
    // Written alike, they are the same.
    expect(same(whole("100000000000000000000"), 1e20)).toBe(true);
    expect(isObject(one)).toBe(false);
  });

  test("in lists, maps and choices", () => {
    const form = show(
      a('{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object"},{"type":"integer"}]}}'),
      read(`{"a":[${BIG},"${BIG}"]}`),
    );
    expect(form.chosen(".a.0-kind")).toBe("Whole number");
    expect(form.chosen(".a.1-kind")).toBe("Text");
    expect(form.at(".a.0").value).toBe(BIG);
    form.type(".a.0", "9223372036854775806");
    expect(form.at(".a.0").value).toBe("9223372036854775806");
    expect(writeJson(form.value())).toBe(`{"a":[9223372036854775806,"${BIG}"]}`);
    expect(said(a('{"type":"array","items":{"type":"integer"}}'), `{"a":[${BIG}]}`)).toEqual([]);
    closeAll();
    const map = show(
      a('{"type":"object","additionalProperties":{"type":"integer"}}'),
      read(`{"a":{"x":${BIG}}}`),
    );
    expect(map.at(".a.x").value).toBe(BIG);
    closeAll();
    const types = show(a('{"type":["integer","string"]}'), read(`{"a":${BIG}}`));
    expect(types.chosen(".a-kind")).toBe("Whole number");
  });

  test("that do not fit are shown with all their digits", () => {
    const form = show(a('{"type":"string"}'), read(`{"a":${BIG}}`));
    expect(form.box.textContent).toContain(`${BIG} does not fit this field`);
    closeAll();
    const object = show(a('{"type":"object","properties":{"b":{"type":"string"}}}'), read(`{"a":${BIG}}`));
    expect(object.box.textContent).toContain(`${BIG} does not fit this field`);
    expect(object.has(".a.digits")).toBe(false);
  });

  test("in a schema are shown and begun with as they are", () => {
    const schema = read(
      `{"type":"object","required":["c"],"properties":{
        "a":{"type":"integer","default":${BIG},"minimum":-9223372036854775808,"maximum":${BIG}},
        "e":{"enum":[9223372036854775806,${BIG}]},
        "c":{"type":"object","properties":{"k":{"const":${BIG}}},"required":["k"]},
        "p":{"anyOf":[{"const":${BIG}},{"type":"object","properties":{"k":{"const":${BIG}}},"required":["k"]}]}
      }}`,
    );
    const form = show(schema, initialValue(schema));
    expect(form.at(".a").placeholder).toBe(BIG);
    expect(form.at(".a-hint").textContent).toBe(`-9223372036854775808 to ${BIG}. Default: ${BIG}.`);
    form.choose(".e", BIG);
    expect(writeJson(form.value())).toBe(`{"c":{},"e":${BIG}}`);
    const options = [...form.at<HTMLSelectElement>(".p-kind").options].map((one) => one.textContent);
    expect(options).toEqual(["Not set", BIG, `${BIG} (2)`].map((one, at) => (at === 1 ? `${BIG} (1)` : one)));
    form.choose(".p-kind", `${BIG} (2)`);
    expect(writeJson(form.value())).toBe(`{"c":{},"e":${BIG},"p":{"k":${BIG}}}`);
  });
});

describe("checks are exact", () => {
  test.each<[string, string, string | null]>([
    [`{"type":"integer","maximum":${BIG}}`, BIG, null],
    [`{"type":"integer","maximum":${BIG}}`, "9223372036854775808", `must be at most ${BIG}`],
    [`{"type":"integer","maximum":9223372036854775806}`, BIG, "must be at most 9223372036854775806"],
    [`{"type":"integer","exclusiveMaximum":9223372036854775808}`, BIG, null],
    [`{"type":"integer","exclusiveMaximum":${BIG}}`, BIG, `must be less than ${BIG}`],
    [`{"type":"integer","minimum":-9223372036854775808}`, "-9223372036854775808", null],
    [
      `{"type":"integer","minimum":-9223372036854775808}`,
      "-9223372036854775809",
      "must be at least -9223372036854775808",
    ],
    [`{"type":"integer","minimum":${BIG}}`, "5", `must be at least ${BIG}`],
    [`{"type":"integer","maximum":${BIG}}`, "5", null],
    [`{"type":"INTEGER","maximum":"${BIG}"}`, BIG, null],
    [`{"type":"INTEGER","maximum":"9223372036854775806"}`, BIG, "must be at most 9223372036854775806"],
    [`{"maximum":${BIG},"exclusiveMaximum":true}`, BIG, `must be less than ${BIG}`],
    [`{"type":"integer","maximum":10}`, BIG, "must be at most 10"],
    [`{"type":"number","maximum":1e30}`, BIG, null],
    [`{"type":"number","maximum":1e18}`, BIG, "must be at most 1000000000000000000"],
    [`{"enum":[9223372036854775806,1]}`, BIG, "must be one of 9223372036854775806, 1"],
    [`{"enum":[${BIG},1]}`, BIG, null],
    [`{"const":9223372036854775806}`, BIG, "must be 9223372036854775806"],
    [`{"const":{"n":[${BIG}]}}`, `{"n":[${BIG}]}`, null],
    [`{"uniqueItems":true}`, "[9223372036854775806,9223372036854775807]", null],
    [`{"uniqueItems":true}`, `[${BIG},${BIG}]`, "must not have the same item twice"],
    [`{"type":"integer","multipleOf":10}`, "9223372036854775810", null],
    [`{"anyOf":[{"type":"integer","exclusiveMaximum":9223372036854775808},{"type":"null"}]}`, BIG, null],
    [`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, BIG, null],
    [`{"not":{"maximum":9223372036854775806}}`, BIG, null],
    [`{"type":"string"}`, BIG, "must be text"],
    [`{"type":"object"}`, BIG, "must be an object"],
    [`{"$ref":"#/properties/b/anyOf/0"}`, BIG, null],
  ])("%s and %s", (schema, value, message) => {
    expect(said(a(schema), `{"a":${value}}`)).toEqual(message === null ? [] : [`/a ${message}`]);
  });

  test("what stands beside a big number is still checked", () => {
    const schema = read(
      `{"type":"object","properties":{"a":{"type":"integer"},"b":{"$ref":"#/$defs/B"}},"$defs":{"B":{"maximum":3}}}`,
    );
    expect(said(schema, `{"a":${BIG},"b":4}`)).toEqual(["/b must be at most 3"]);
  });

  test("conditions are asked with it", () => {
    const schema = read(
      `{"type":"object","properties":{"a":{"type":"integer"}},
        "if":{"properties":{"a":{"const":${BIG}}},"required":["a"]},
        "then":{"properties":{"yes":{"type":"string"}}},"else":{"properties":{"no":{"type":"string"}}}}`,
    );
    const form = show(schema, read(`{"a":${BIG}}`));
    expect(form.has(".yes")).toBe(true);
    form.type(".a", "9223372036854775806");
    expect(form.has(".no")).toBe(true);
  });
});

test("text of numbers that nobody can hold is refused", () => {
  expect(readJson("9".repeat(400))).toEqual({
    problem: "This is not JSON yet. Line 1, column 1: the number is too large.",
  });
  expect(said(a('{"type":"integer"}'), `{"a":"${"9".repeat(400)}"}`)).toEqual(["/a is too large"]);
  expect(readJson(`[${BIG}]`)).toEqual({ value: [whole(BIG)] as Json });
});

describe.each(["18446744073709551617", "-9223372036854775809"])("%s, which no 64 bits hold", (digits) => {
  test("is the same in a field, as text, as a default and as a choice", () => {
    const schema = a(`{"type":"integer","default":${digits}}`);
    const editor = show(schema, {}, { editor: true });
    expect(editor.at(".a").placeholder).toBe(digits);
    expect(editor.at(".a-hint").textContent).toBe(`Default: ${digits}.`);
    editor.type(".a", digits);
    expect(writeJson(editor.value())).toBe(`{"a":${digits}}`);
    editor.click("Raw JSON");
    expect(editor.at("-raw").value).toBe(`{\n  "a": ${digits}\n}`);
    editor.type("-raw", `{"a": ${digits} }`);
    editor.click("Form");
    expect(editor.at(".a").value).toBe(digits);
    expect(said(schema, `{"a":${digits}}`)).toEqual([]);
    closeAll();
    const next = String(BigInt(digits) + 1n);
    const form = show(a(`{"enum":[${next},${digits}]}`), {});
    form.choose(".a", digits);
    expect(writeJson(form.value())).toBe(`{"a":${digits}}`);
    expect(form.chosen(".a")).toBe(digits);
    expect(said(a(`{"enum":[${next}]}`), `{"a":${digits}}`)).toHaveLength(1);
  });
});
