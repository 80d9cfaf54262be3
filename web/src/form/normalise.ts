/**
 * Schemas as JSON Schema says them, from whatever dialect the server passed on: types in capitals, `nullable`, names
 * with underscores and limits as strings (google.genai), limits that are flags (draft 4).
 */

import type { Json, JsonObject } from "../api/client";
import { whole } from "../json/exact";
import { LISTS, MAPS, mapInside, ONE, type Schema, SNAKE } from "./keywords";
import { isNumber, isObject, own, put } from "./paths";
import { linked } from "./refs";

const TEXTS = ["$ref", "title", "description", "format", "pattern"];
const NUMBERS = [
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minimum",
  "maximum",
];
const FLAGS = ["exclusiveMinimum", "exclusiveMaximum"];
const LIMITS = [...NUMBERS, ...FLAGS, "multipleOf"];
const TYPES = new Set(["string", "integer", "number", "boolean", "object", "array", "null"]);

export function normalise(schema: Schema): Schema {
  const result = walk(schema);
  return isObject(result) && isObject(schema) ? linked(result, schema, walk) : result;
}

function walk(schema: Schema): Schema {
  if (typeof schema === "boolean") return schema;
  return nullable(mapInside(plain(schema), walk));
}

/** One level: names, types and limits; keywords that hold things other than schemas are left out. */
function plain(schema: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [given, value] of Object.entries(schema)) {
    const known = own(SNAKE, given);
    const key = known !== undefined && !(known in schema) ? known : given;
    // Nothing here is fetched, so nothing needs an address; a word elsewhere may look like one.
    if (key === "$schema" || key === "$id" || key === "id") continue;
    if (value === null && key !== "default" && key !== "const") continue;
    if (key === "type") {
      const type = typeName(value);
      if (type !== undefined) result.type = type;
    } else if (NUMBERS.includes(key) && typeof value === "string" && value.trim() !== "") {
      const digits = /^-?\d+$/.test(value.trim());
      if (Number.isFinite(Number(value))) result[key] = digits ? whole(value.trim()) : Number(value);
    } else if (key === "pattern" || key === "format") {
      // A pattern in another language's dialect is the server's to check.
      if (typeof value === "string" && (key === "format" || compiles(value))) result[key] = value;
    } else if (key === "patternProperties" && isObject(value)) {
      result[key] = Object.fromEntries(Object.entries(value).filter(([pattern]) => compiles(pattern)));
    } else if (key === "required" && Array.isArray(value)) {
      result[key] = value.filter((name) => typeof name === "string");
    } else if (holds(key, value)) put(result, key, value);
  }
  flagsToLimits(result);
  order(result);
  return result;
}

/** Whether a keyword holds what it must; what it holds otherwise means nothing. */
function holds(key: string, value: Json): boolean {
  if (key === "default" || key === "const") return true;
  if (key === "enum" || key === "propertyOrdering") return Array.isArray(value) && value.length > 0;
  if (TEXTS.includes(key)) return typeof value === "string";
  if (LIMITS.includes(key)) return isNumber(value) || (FLAGS.includes(key) && typeof value === "boolean");
  if (LISTS.includes(key) && Array.isArray(value)) return value.length > 0 || key === "items";
  if (ONE.includes(key)) return isObject(value) || typeof value === "boolean";
  if (MAPS.includes(key) || key === "dependentRequired") return isObject(value);
  return typeof value !== "object" && !LISTS.includes(key) && key !== "required";
}

function typeName(value: Json | undefined): Json | undefined {
  const names = (Array.isArray(value) ? value : [value])
    .filter((name) => typeof name === "string")
    .map((name) => name.toLowerCase().replace(/^type\./, ""))
    .filter((name) => TYPES.has(name));
  return names.length === 0 ? undefined : Array.isArray(value) ? names : names[0];
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

/** Draft 4 says `exclusiveMinimum: true` beside `minimum`. */
function flagsToLimits(schema: JsonObject): void {
  for (const [flag, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    const is = schema[flag];
    if (typeof is !== "boolean") continue;
    delete schema[flag];
    const at = schema[limit];
    if (is && at !== undefined) {
      schema[flag] = at;
      delete schema[limit];
    }
  }
}

function order(schema: JsonObject): void {
  const { properties, propertyOrdering } = schema;
  delete schema.propertyOrdering;
  if (!isObject(properties) || !Array.isArray(propertyOrdering)) return;
  const first = propertyOrdering.filter(
    (name): name is string => typeof name === "string" && name in properties,
  );
  const names = [...new Set([...first, ...Object.keys(properties)])];
  const ordered: JsonObject = {};
  for (const name of names) put(ordered, name, properties[name]);
  schema.properties = ordered;
}

/** OpenAPI's `nullable: true`, in JSON Schema's words. */
function nullable(schema: JsonObject): JsonObject {
  const { nullable: is, ...rest } = schema;
  if (is !== true) return rest;
  if (Array.isArray(rest.enum) && !rest.enum.includes(null)) rest.enum = [...rest.enum, null];
  if (typeof rest.type === "string") return { ...rest, type: [rest.type, "null"] };
  if (Array.isArray(rest.type)) return { ...rest, type: [...new Set([...rest.type, "null"])] };
  for (const key of ["anyOf", "oneOf"])
    if (Array.isArray(rest[key])) return { ...rest, [key]: [...(rest[key] as Json[]), { type: "null" }] };
  for (const key of ["$ref", "allOf"]) {
    const { [key]: is, ...around } = rest;
    if (is !== undefined) return { ...around, anyOf: [{ [key]: is }, { type: "null" }] };
  }
  return rest;
}
