import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/api/client";
import { getAt, same, setAt } from "../../src/form/paths";
import { readJson } from "../../src/form/text";
import { validate } from "../../src/form/validate";
import { whole as exactly, readJsonText, writeJson } from "../../src/json/exact";
import { closeAll, enter, show } from "./form-help";

afterEach(closeAll);

interface Pair {
  schema: JsonObject;
  value: Json;
}

const NODE: JsonObject = {
  type: "object",
  title: "Node",
  properties: {
    name: { type: "string", default: "n" },
    next: { $ref: "#/$defs/Node" },
    kids: { type: "array", items: { $ref: "#/$defs/Node" } },
  },
  required: ["name"],
};
const DEFS: JsonObject = {
  Node: NODE,
  Level: { enum: ["low", "high"], default: "low" },
  Either: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "string" }] },
};

/** Whole numbers, most of them beyond 2^53. */
const big = fc
  .oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }),
    fc.bigInt({ min: 2n ** 53n - 2n, max: 2n ** 53n + 4n }),
    fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
  )
  .map((number) => exactly(String(number)));
const copy = (value: Json): Json => readJsonText(writeJson(value));
const json = (depth = 2) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.jsonValue({ maxDepth: depth }).map((value) => copy(value as Json)) },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.string(), big).map(([key, number]): Json => [number, { [key]: number }]),
    },
  );
const name = fc.oneof(
  fc.constantFrom("a", "b", "name", "limit", "a b", "a.b", "x/y", "", "toString", "0"),
  fc.string({ maxLength: 4 }),
);

/** Schemas of every kind, each with a value that fits. */
const { pair } = fc.letrec<{ pair: Pair; node: JsonObject }>((tie) => ({
  node: fc
    .record({
      name: fc.string(),
      next: fc.option(tie("node"), { nil: undefined, maxDepth: 3 }),
      kids: fc.option(fc.array(tie("node"), { maxLength: 2, depthIdentifier: "n" }), {
        nil: undefined,
        maxDepth: 2,
      }),
    })
    .map((node) => JSON.parse(JSON.stringify(node)) as JsonObject),
  pair: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc
      .string()
      .map((value): Pair => ({ schema: { type: "string", default: "d", description: "Some text" }, value })),
    fc.oneof(fc.integer(), big).map((value): Pair => ({ schema: { type: "integer", default: 3 }, value })),
    big.map((value): Pair => ({ schema: { type: "number", minimum: value, maximum: value }, value })),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .map((value): Pair => ({ schema: { type: "number" }, value: value + 0 })),
    fc.boolean().map((value): Pair => ({ schema: { type: "boolean", default: true }, value })),
    fc
      .uniqueArray(json(1), { minLength: 1, maxLength: 4, comparator: same })
      .chain((values) =>
        fc.constantFrom(...values).map((value): Pair => ({ schema: { enum: values }, value })),
      ),
    json(1).map((value): Pair => ({ schema: { const: value }, value })),
    json().map((value): Pair => ({ schema: {}, value })),
    fc
      .date({ noInvalidDate: true, min: new Date("1900-01-01"), max: new Date("2100-01-01") })
      .map((date): Pair => ({ schema: { type: "string", format: "date-time" }, value: date.toISOString() })),
    fc.constantFrom<Pair>(
      { schema: { type: ["string", "null"] }, value: null },
      { schema: { type: ["integer", "string"] }, value: "1" },
      { schema: { type: "NUMBER", nullable: true }, value: null },
      { schema: { $ref: "#/$defs/Level" }, value: "high" },
    ),
    tie("node").map((value): Pair => ({ schema: { $ref: "#/$defs/Node" }, value })),
    fc.oneof(tie("node"), fc.string()).map((value): Pair => ({ schema: { $ref: "#/$defs/Either" }, value })),
    fc.dictionary(name, fc.oneof(fc.integer(), big), { maxKeys: 3 }).map(
      (value): Pair => ({
        schema: { type: "object", additionalProperties: { type: "integer" } },
        value: plain(value),
      }),
    ),
    fc.array(tie("pair"), { maxLength: 3 }).map(
      (pairs): Pair => ({
        schema: { type: "array", prefixItems: pairs.map((one) => one.schema) },
        value: pairs.map((one) => one.value),
      }),
    ),
    tie("pair").chain((inner) =>
      fc.integer({ min: 0, max: 3 }).map(
        (count): Pair => ({
          schema: { type: "array", items: inner.schema, minItems: 0 },
          value: Array<Json>(count).fill(inner.value),
        }),
      ),
    ),
    fc.tuple(tie("pair"), tie("pair"), fc.constantFrom("anyOf", "oneOf")).map(
      ([one, other, key]): Pair => ({
        schema: { [key]: [one.schema, other.schema, { type: "null" }] },
        value: one.value,
      }),
    ),
    fc
      .tuple(
        fc.dictionary(name, tie("pair"), { maxKeys: 3 }),
        fc.dictionary(name, json(1), { maxKeys: 1 }),
        fc.boolean(),
      )
      .map(([fields, extra, required]): Pair => object(fields, extra, required)),
    fc
      .tuple(
        fc.dictionary(name, tie("pair"), { maxKeys: 2 }),
        fc.dictionary(name, tie("pair"), { maxKeys: 2 }),
      )
      .map(([a, b]): Pair => {
        const [one, two] = [object(a, {}, true), object(b, {}, false)];
        return {
          schema: { allOf: [one.schema, two.schema] },
          value: { ...(one.value as JsonObject), ...(two.value as JsonObject) },
        };
      }),
  ),
}));

function plain(value: object): Json {
  return copy(value as Json);
}

function object(fields: Record<string, Pair>, extra: Record<string, Json>, required: boolean): Pair {
  const names = Object.keys(fields);
  const others = Object.entries(extra).filter(([one]) => !Object.hasOwn(fields, one));
  const some = names.filter((_, index) => required || index % 2 === 0);
  return {
    schema: {
      type: "object",
      properties: plain(Object.fromEntries(names.map((one) => [one, fields[one]?.schema ?? {}]))),
      ...(required ? { required: some } : {}),
    },
    value: plain({
      ...Object.fromEntries(some.map((one) => [one, fields[one]?.value ?? null])),
      ...Object.fromEntries(others),
    }),
  };
}

const whole = (schema: JsonObject): JsonObject => ({ ...schema, $defs: DEFS });
const runs = { numRuns: 700 };

function isIdentity(schema: JsonObject, value: Json): void {
  const form = show(schema, value, { editor: true });
  const text = () => form.box.querySelector<HTMLTextAreaElement>("#f-raw");
  const views = form.box.querySelector(".form-views");
  if (views) {
    // Form, raw, form, raw.
    form.click("Raw JSON");
    expect(text()?.value).toBe(writeJson(value, 2));
    form.click("Form");
    form.click("Raw JSON");
  }
  expect(text()?.value).toBe(writeJson(value, 2));
  // Written anew, it arrives in the form as it is.
  enter(text() as HTMLTextAreaElement, writeJson(value));
  if (views) form.click("Form");
  expect(form.changes).toEqual([]);
  expect(writeJson(form.value())).toBe(writeJson(value));
  closeAll();
}

describe("raw JSON, form, raw JSON is the identity", () => {
  test("for values that fit", () => {
    fc.assert(
      fc.property(pair, ({ schema, value }) => isIdentity(whole(schema), copy(value))),
      runs,
    );
  }, 500_000);

  test("for values that do not", () => {
    fc.assert(
      fc.property(pair, json(), ({ schema }, value) => isIdentity(whole(schema), value)),
      runs,
    );
  }, 500_000);

  test("for nothing yet", () => {
    fc.assert(
      fc.property(pair, ({ schema }) => {
        const form = show(whole(schema), undefined);
        expect(form.changes).toEqual([]);
        closeAll();
      }),
      runs,
    );
  }, 500_000);
});

describe("an edit of one field changes that field only", () => {
  test("whatever the schema", () => {
    fc.assert(
      fc.property(pair, fc.nat(), fc.constantFrom("7", "-", "x"), ({ schema, value }, pick, text) => {
        const form = show(whole(schema), value);
        const controls = [...form.box.querySelectorAll<HTMLInputElement>(".form-text, .form-number")];
        const control = controls[pick % controls.length];
        if (control) {
          const path = pathOf(control.id, value);
          const before = form.value();
          enter(control, text);
          const after = form.value();
          if (control.value !== text) throw new Error(`lost ${text}: ${control.value}`);
          const now = getAt(after, path);
          expect(String(now)).toBe(text);
          expect(writeJson(setAt(after, path, "?"))).toBe(writeJson(setAt(before, path, "?")));
        }
        closeAll();
      }),
      runs,
    );
  }, 500_000);

  /** Ids are made of the path; in lists its parts are numbers. */
  function pathOf(id: string, value: Json): (string | number)[] {
    let at: unknown = value;
    return id
      .split(".")
      .slice(1)
      .map((part) => {
        const token = part.replace(/%([0-9a-f]+);/g, (_, code: string) =>
          String.fromCharCode(Number.parseInt(code, 16)),
        );
        const key = Array.isArray(at) ? Number(token) : token;
        at = getAt(at, [key]);
        return key;
      });
  }
});

test("values that fit have no problems, and checking never throws", () => {
  fc.assert(
    fc.property(pair, json(), ({ schema, value }, other) => {
      // `oneOf` may fit twice, and `allOf` may contradict itself, which is the generator's doing.
      if (!/"(?:oneOf|allOf)"/.test(writeJson(schema))) {
        expect(validate(whole(schema), copy(value))).toEqual([]);
      }
      for (const { message } of validate(whole(schema), other)) expect(message).not.toBe("");
    }),
    { numRuns: 4000 },
  );
}, 120_000);

test("reading text is reading JSON", () => {
  fc.assert(
    fc.property(json(4), (value) => {
      expect(readJson(writeJson(value, 1))).toEqual({ value });
    }),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        json(2).chain((value) => fc.nat().map((cut) => writeJson(value).slice(0, cut % 50))),
      ),
      (text) => {
        let parsed: unknown;
        try {
          parsed = readJsonText(text);
        } catch {
          parsed = undefined;
        }
        const read = readJson(text);
        if (parsed === undefined) expect("problem" in read || read.value === undefined).toBe(true);
        else if ("value" in read) expect(read.value).toEqual(parsed);
      },
    ),
    { numRuns: 2000 },
  );
});
