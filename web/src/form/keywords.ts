/** Where schemas are inside schemas. */

import type { Json, JsonObject } from "../api/client";
import { escapeToken, isObject, put } from "./paths";

export type Schema = JsonObject | boolean;

export const ONE = [
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
export const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
export const MAPS = [
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
];
/** What google.genai calls keywords. */
export const SNAKE: Record<string, string> = {
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
        // `dependencies` may list names instead of giving a schema.
        put(
          map,
          name,
          Array.isArray(inner) ? inner : change(asSchema(inner), `/${key}/${escapeToken(name)}`),
        );
      }
      put(result, key, map);
    } else put(result, key, value);
  }
  return result;
}

const asSchema = (value: Json | undefined): Schema =>
  isObject(value) || typeof value === "boolean" ? value : {};
