/**
 * The schema that the form is drawn from. It says less than the schema that values are checked against: every node has
 * one type, or choices with names; "may be null" is a mark, because a field that may be null is still one field.
 */

import type { Json, JsonObject } from "../api/client";
import { writeJson } from "../json/exact";
import { mapInside, type Schema } from "./keywords";
import { fromRef, has, isObject, put, same } from "./paths";

/** Marks on nodes of a prepared schema. */
export const MARK = {
  /** Where the node is in the schema that values are checked against. */
  at: "x-at",
  /** The choice is taken by values of this type. */
  type: "x-type",
  nullable: "x-nullable",
  /** What a choice is called. */
  label: "x-label",
  /** Names of the values of an enum. */
  names: "x-names",
  /** Anything goes: edited as JSON. */
  any: "x-any",
  /** What the node refers to: followed one step at a time. */
  ref: "x-ref",
} as const;

const NOTES = ["title", "description", "default", "deprecated", "readOnly", MARK.nullable];
const DEFINITIONS = ["$defs", "definitions"];
const SHAPE = [
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
];
/** Schemas inside these are conditions: they are asked, not drawn. */
export const CONDITIONS = ["/if", "/not", "/propertyNames", "/contains"];

export function prepare(schema: Schema, at = ""): JsonObject {
  if (typeof schema === "boolean") return { [MARK.any]: true, [MARK.at]: at };
  const inside = mapInside(schema, (inner, key) =>
    CONDITIONS.includes(key) || closes(schema, inner, key) ? inner : prepare(inner, at + key),
  );
  return { ...node(inside, schema), [MARK.at]: at };
}

/** Nothing more may be there. */
const closes = (schema: JsonObject, inner: Schema, key: string): boolean =>
  inner === false &&
  (key === "/additionalProperties" ||
    key === "/additionalItems" ||
    (key === "/items" && "prefixItems" in schema));

function node(schema: JsonObject, original: JsonObject): JsonObject {
  if ("const" in schema) return fixed({ ...schema, enum: [schema.const ?? null] });
  if (Array.isArray(schema.enum)) return fixed(schema);
  if (Array.isArray(schema.type)) return types(schema);
  if (schema.type === "null") return fixed({ ...schema, enum: [null] });
  const key = Array.isArray(schema.anyOf) ? "anyOf" : "oneOf";
  if (Array.isArray(schema[key]))
    return choices(schema, schema[key] as JsonObject[], original[key] as Json[]);
  return typed(schema);
}

/** One of a few values: a list to choose from, of whatever type they are. */
function fixed({ type: _type, const: _const, ...schema }: JsonObject): JsonObject {
  return schema;
}

function types(schema: JsonObject): JsonObject {
  const all = schema.type as string[];
  const names = [...new Set(all.filter((name) => name !== "null"))];
  const { type: _type, ...rest } = schema;
  if (names.length === 0) return fixed({ ...rest, enum: [null] });
  const mark: JsonObject = all.includes("null") ? { [MARK.nullable]: true } : {};
  if (names.length === 1) return typed({ ...rest, type: names[0] ?? "string", ...mark });
  const notes = pick(rest, [...NOTES, ...DEFINITIONS]);
  const options = names.map((name) => ({
    ...without(typed({ ...rest, type: name }), [...NOTES, ...DEFINITIONS]),
    [MARK.type]: name,
    [MARK.label]: TYPE_WORDS[name] ?? name,
  }));
  return { ...notes, ...mark, anyOf: options };
}

function choices(schema: JsonObject, prepared: JsonObject[], original: Json[]): JsonObject {
  const { anyOf: _any, oneOf: _one, ...base } = schema;
  const shapes = original.map((option) => isObject(option) && SHAPE.some((key) => key in option));
  // `anyOf: [{required: [a]}, {required: [b]}]` draws nothing of its own: it is checked, not drawn.
  if (!shapes.includes(true)) return typed(base);
  const isNull = (option: JsonObject) => same(option.enum, [null]);
  const options = prepared.filter((option) => !isNull(option));
  const mark: JsonObject = options.length < prepared.length ? { [MARK.nullable]: true } : {};
  const [only] = options;
  if (only === undefined) return fixed({ ...base, enum: [null] });
  if (options.length === 1) return { ...only, ...without(base, ["type"]), ...mark };
  if (options.every((option) => Array.isArray(option.enum) && option.enum.length === 1)) {
    const names = options.map((option) => option.title ?? option.description ?? null);
    return {
      ...fixed(base),
      ...mark,
      enum: options.flatMap((option) => option.enum as Json[]),
      [MARK.names]: names,
    };
  }
  const shared = without(base, NOTES);
  const rest = Object.keys(without(shared, ["type", ...DEFINITIONS])).length > 0;
  const named = name(options);
  return {
    ...pick(base, [...NOTES, ...DEFINITIONS]),
    ...mark,
    anyOf: named.map((option) =>
      // What stands beside the choices holds for each of them.
      rest ? { ...pick(option, Object.values(MARK)), allOf: [without(shared, DEFINITIONS), option] } : option,
    ),
  };
}

/** A node with one type, found from what else it says when it does not say. */
function typed(schema: JsonObject): JsonObject {
  const result = { ...schema };
  const says = (...keys: string[]) => keys.some((key) => key in schema);
  if (!says("type", "$ref", "allOf", "if")) {
    if (says("properties", "additionalProperties", "patternProperties", "required")) result.type = "object";
    else if (says("items", "prefixItems", "minItems", "maxItems")) result.type = "array";
    else if (says("pattern", "minLength", "maxLength", "format")) result.type = "string";
    else if (says("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
      result.type = "number";
    else result[MARK.any] = true;
  }
  if (result.type === "array") {
    if (Array.isArray(result.prefixItems)) {
      if ("items" in result) result.additionalItems = result.items ?? true;
      result.items = result.prefixItems;
      delete result.prefixItems;
    }
    if (!("items" in result)) result.items = { [MARK.any]: true };
  }
  return result;
}

export const TYPE_WORDS: Record<string, string> = {
  string: "Text",
  integer: "Whole number",
  number: "Number",
  boolean: "Yes or no",
  object: "Object",
  array: "List",
  null: "Null",
};

function name(options: JsonObject[]): JsonObject[] {
  const labels = options.map(labelOf);
  return options.map((option, index) => {
    const label = labels[index] ?? "";
    const twins = labels.filter((other) => other === label).length > 1;
    return { ...option, [MARK.label]: twins ? `${label} (${index + 1})` : label };
  });
}

function labelOf(option: JsonObject): string {
  const title = option[MARK.label] ?? option.title;
  if (typeof title === "string" && title !== "") return title;
  if (typeof option.$ref === "string") return fromRef(option.$ref)[0]?.at(-1) ?? "Object";
  if (Array.isArray(option.enum)) {
    return option.enum.map((value) => (typeof value === "string" ? value : writeJson(value))).join(" or ");
  }
  if (isObject(option.properties)) {
    const tags = Object.values(option.properties)
      .map((property) => (isObject(property) && Array.isArray(property.enum) ? property.enum : []))
      .find((values) => values.length === 1);
    if (tags?.[0] !== undefined) return String(tags[0]);
    const names = Object.keys(option.properties);
    return names.length === 0 ? "Object" : `Object with ${names.slice(0, 3).join(", ")}`;
  }
  const type = option.type;
  if (type === "array" && isObject(option.items)) return `List of ${labelOf(option.items).toLowerCase()}`;
  return (typeof type === "string" && TYPE_WORDS[type]) || "Anything";
}

function pick(schema: JsonObject, keys: readonly string[]): JsonObject {
  const result: JsonObject = {};
  for (const key of keys) if (has(schema, key)) put(result, key, schema[key]);
  return result;
}

function without(schema: JsonObject, keys: readonly string[]): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(schema)) if (!keys.includes(key)) put(result, key, schema[key]);
  return result;
}
