import { appendFileSync } from "node:fs";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import type { Json, JsonObject } from "../../src/api/client";
import { initialValue } from "../../src/form/initial";
import { validate } from "../../src/form/validate";
import { closeAll, show } from "./form-help";

afterEach(closeAll);
const KEYS = [
  "type",
  "properties",
  "items",
  "prefixItems",
  "additionalProperties",
  "enum",
  "const",
  "$ref",
  "allOf",
  "anyOf",
  "oneOf",
  "required",
  "minimum",
  "maximum",
  "multipleOf",
  "pattern",
  "format",
  "default",
  "title",
  "description",
  "if",
  "then",
  "else",
  "not",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "$defs",
  "definitions",
  "nullable",
  "deprecated",
  "readOnly",
  "minItems",
  "maxItems",
  "uniqueItems",
  "contains",
  "propertyNames",
  "exclusiveMinimum",
  "additionalItems",
  "any_of",
  "ref",
];
const refs = fc.constantFrom(
  "#",
  "#/$defs/a",
  "#/$defs/b",
  "#/properties/a",
  "#/properties/a/anyOf/0",
  "#/properties/b/items",
  "#/properties/a/properties/b",
  "#/definitions/a",
  "#/x",
  "#/%",
  "#a",
  "#/anyOf/0",
  "#/properties/a/allOf/1",
  "#/properties/b/oneOf/0",
);
const { schema } = fc.letrec<{ schema: Json; node: Json }>((tie) => ({
  schema: tie("node"),
  node: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    fc.constantFrom<Json>(
      {},
      true,
      false,
      { type: "string" },
      { type: "integer" },
      { type: ["integer", "null"] },
      { type: "object" },
      { type: "array" },
      { type: "null" },
    ),
    refs.map(($ref): Json => ({ $ref })),
    fc.uniqueArray(fc.constantFrom(...KEYS), { maxLength: 5 }).chain((keys) =>
      fc
        .tuple(
          ...keys.map((key) => {
            if (key === "$ref" || key === "ref") return refs.map((v) => [key, v] as [string, Json]);
            if (key === "type")
              return fc
                .constantFrom<Json>(
                  "string",
                  "object",
                  "array",
                  "integer",
                  "boolean",
                  "null",
                  ["object", "null"],
                  ["string", "array"],
                  "OBJECT",
                  5,
                )
                .map((v) => [key, v] as [string, Json]);
            if (["allOf", "anyOf", "oneOf", "prefixItems", "any_of"].includes(key))
              return fc.array(tie("node"), { maxLength: 3 }).map((v) => [key, v as Json] as [string, Json]);
            if (
              [
                "properties",
                "patternProperties",
                "$defs",
                "definitions",
                "dependentSchemas",
                "dependencies",
              ].includes(key)
            )
              return fc
                .dictionary(fc.constantFrom("a", "b", "c"), tie("node"), { maxKeys: 3 })
                .map((v) => [key, JSON.parse(JSON.stringify(v)) as Json] as [string, Json]);
            if (
              [
                "items",
                "additionalProperties",
                "if",
                "then",
                "else",
                "not",
                "contains",
                "propertyNames",
                "additionalItems",
              ].includes(key)
            )
              return tie("node").map((v) => [key, v as Json] as [string, Json]);
            if (key === "required")
              return fc.constantFrom<Json>(["a"], ["a", "b"], true).map((v) => [key, v] as [string, Json]);
            return fc
              .oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom<Json>(1, true, "x", ["a", null]))
              .map((v) => [key, v as Json] as [string, Json]);
          }),
        )
        .map((e) => Object.fromEntries(e as [string, Json][]) as Json),
    ),
  ),
}));
test("junk never throws", () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const seen = new Map<string, string>();
  let now = "";
  vi.spyOn(console, "error").mockImplementation((...a) => {
    const k = String(a.map(String).join(" ")).split("\n")[0]!.slice(0, 140).replace(/[\d]+/g, "N");
    if (!seen.has(k) || seen.get(k)!.length > now.length) seen.set(k, now);
  });
  let bad = 0;
  fc.assert(
    fc.property(schema, fc.jsonValue({ maxDepth: 3 }), (s, v) => {
      const whole = { type: "object", ...(typeof s === "object" ? (s as JsonObject) : {}) } as JsonObject;
      const root: JsonObject = {
        type: "object",
        properties: { a: whole, b: { type: "array", items: whole }, c: whole },
        $defs: { a: whole, b: { type: "string" } },
      };
      for (const one of [whole, root, s as JsonObject]) {
        if (typeof one !== "object") continue;
        initialValue(one);
        validate(one, v as Json);
        for (const value of [v as Json, initialValue(one), { a: v, b: [v], c: { a: v } } as Json]) {
          now = JSON.stringify(one) + " <<< " + JSON.stringify(value);
          appendFileSync("/tmp/fuzzlog", now + "\n");
          const form = show(one, value, { editor: true });
          if (form.changes.length) bad++;
          // press everything once
          for (const b of [...form.box.querySelectorAll("button")].slice(0, 6)) {
            try {
              (b as HTMLButtonElement).click();
            } catch (e) {
              throw e;
            }
          }
          closeAll();
        }
      }
    }),
    { numRuns: Number(process.env.RUNS ?? 300) },
  );
  for (const [k, v] of seen) process.stderr.write(k + "\n    " + v.slice(0, 700) + "\n");
  expect(bad).toBe(0);
}, 500_000);
