/**
 * Schemas as JSON Schema says them, from whatever dialect the server passed on: types in capitals, `nullable`, names
 * with underscores and limits as strings (google.genai), limits that are flags (draft 4).
 */

import type { Json, JsonObject } from "../api/client";
import { fromPointer, getAt, isObject, put } from "./paths";

const ONE = [
  "items",
  "additionalItems",
  "contains",
  "additionalProperties",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
const PLAIN = ["default", "const", "enum", "required", "type", "dependentRequired"];
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
const SNAKE: Record<string, string> = {
  any_of: "anyOf",
  one_of: "oneOf",
  all_of: "allOf",
  prefix_items: "prefixItems",
  additional_properties: "additionalProperties",
  min_items: "minItems",
  max_items: "maxItems",
  min_length: "minLength",
  max_length: "maxLength",
  min_properties: "minProperties",
  max_properties: "maxProperties",
  property_ordering: "propertyOrdering",
  defs: "$defs",
  ref: "$ref",
};
const TYPES = new Set(["string", "integer", "number", "boolean", "object", "array", "null"]);

export type Schema = JsonObject | boolean;

/** Calls `change` for every schema directly inside a schema, wherever JSON Schema allows one. */
export function mapInside(schema: JsonObject, change: (inner: Schema, at: string) => Schema): JsonObject {
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    const isSchema = isObject(value) || typeof value === "boolean";
    if (LISTS.includes(key) && Array.isArray(value)) {
      put(
        result,
        key,
        value.map((inner, index) => change(asSchema(inner), `/${key}/${index}`)),
      );
    } else if (ONE.includes(key) && isSchema) {
      put(result, key, change(value as Schema, `/${key}`));
    } else if (MAPS.includes(key) && isObject(value)) {
      const map: JsonObject = {};
      for (const [name, inner] of Object.entries(value)) {
        const token = name.replaceAll("~", "~0").replaceAll("/", "~1");
        // `dependencies` may list names instead of giving a schema.
        put(map, name, Array.isArray(inner) ? inner : change(asSchema(inner), `/${key}/${token}`));
      }
      put(result, key, map);
    } else put(result, key, value);
  }
  return result;
}

const asSchema = (value: Json | undefined): Schema =>
  isObject(value) || typeof value === "boolean" ? value : {};

export function normalise(schema: Schema): Schema {
  const result = walk(schema);
  return isObject(result) ? withoutDeadEnds(result, result) : result;
}

function walk(schema: Schema): Schema {
  if (typeof schema === "boolean") return schema;
  return nullable(mapInside(plain(schema), walk));
}

/** References that lead nowhere, or only to each other, allow anything: the server has the last word. */
function withoutDeadEnds(schema: JsonObject, root: JsonObject): JsonObject {
  const result = mapInside(schema, (inner) => (isObject(inner) ? withoutDeadEnds(inner, root) : inner));
  if (typeof result.$ref === "string" && !leads(result.$ref, root)) delete result.$ref;
  return result;
}

function leads(ref: string, root: JsonObject): boolean {
  const seen = new Set<string>();
  let at: string = ref;
  while (!seen.has(at)) {
    seen.add(at);
    if (at !== "#" && !at.startsWith("#/")) return false;
    let pointer = at.slice(1);
    try {
      pointer = decodeURIComponent(pointer);
    } catch {
      // A percent sign that stands for itself.
    }
    const target = getAt(root, fromPointer(pointer));
    if (typeof target === "boolean") return true;
    if (!isObject(target)) return false;
    if (typeof target.$ref !== "string") return true;
    at = target.$ref;
  }
  return false;
}

/** One level: names, types and limits; keywords that hold things other than schemas are left out. */
function plain(schema: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [given, value] of Object.entries(schema)) {
    const known = SNAKE[given];
    const key = known !== undefined && !(known in schema) ? known : given;
    // Nothing here is fetched, so nothing needs an address; a word elsewhere may look like one.
    if (key === "$schema" || key === "$id" || key === "id") continue;
    if (value === null && key !== "default" && key !== "const") continue;
    if (key === "type") {
      const type = typeName(value);
      if (type !== undefined) result.type = type;
    } else if (NUMBERS.includes(key) && typeof value === "string" && value.trim() !== "") {
      if (Number.isFinite(Number(value))) result[key] = Number(value);
    } else if (key === "pattern" || key === "format") {
      // A pattern in another language's dialect is the server's to check.
      if (typeof value === "string" && (key === "format" || compiles(value))) result[key] = value;
    } else if (key === "patternProperties" && isObject(value)) {
      result[key] = Object.fromEntries(Object.entries(value).filter(([pattern]) => compiles(pattern)));
    } else if (typeof value !== "object" || isKeyword(key)) put(result, key, value);
    else if (key === "propertyOrdering" && Array.isArray(value)) result[key] = value;
  }
  flagsToLimits(result);
  order(result);
  ownTitles(result);
  return result;
}

const isKeyword = (key: string): boolean => [...ONE, ...LISTS, ...MAPS, ...PLAIN].includes(key);

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
    if (is && typeof at === "number") {
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

/** Frameworks make titles of names, such as "Max Results" of `max_results`; those who play an agent know the names. */
function ownTitles(schema: JsonObject): void {
  const { properties } = schema;
  if (!isObject(properties)) return;
  const named: JsonObject = {};
  for (const [name, property] of Object.entries(properties)) {
    if (
      isObject(property) &&
      typeof property.title === "string" &&
      letters(property.title) === letters(name)
    ) {
      const { title: _, ...rest } = property;
      put(named, name, rest);
    } else put(named, name, property);
  }
  schema.properties = named;
}

const letters = (text: string): string => text.toLowerCase().replace(/[\s_-]/g, "");

/** OpenAPI's `nullable: true`, in JSON Schema's words. */
function nullable(schema: JsonObject): JsonObject {
  const { nullable: is, ...rest } = schema;
  if (is !== true) return rest;
  if (Array.isArray(rest.enum) && !rest.enum.includes(null)) rest.enum = [...rest.enum, null];
  if (typeof rest.type === "string") return { ...rest, type: [rest.type, "null"] };
  if (Array.isArray(rest.type)) return { ...rest, type: [...new Set([...rest.type, "null"])] };
  if (Array.isArray(rest.anyOf)) return { ...rest, anyOf: [...rest.anyOf, { type: "null" }] };
  if (typeof rest.$ref === "string") {
    const { $ref, ...around } = rest;
    return { ...around, anyOf: [{ $ref }, { type: "null" }] };
  }
  return rest;
}
