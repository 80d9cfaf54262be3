/**
 * References of the schema that a form is drawn from, followed one step at a time. RJSF would follow all of them, to the
 * end, for every field: definitions that name the next one twice double at each level.
 */

import { RJSF_REF_CYCLE_KEY } from "@rjsf/utils";
import type { Json, JsonObject } from "../api/client";
import { mapInside, type Schema } from "./keywords";
import { fromRef, getAt, has, isObject, put } from "./paths";
import { CONDITIONS, MARK } from "./prepare";

/** How RJSF marks what is in itself: a symbol, used as any other key. */
const CIRCLE = RJSF_REF_CYCLE_KEY as unknown as string;
const DEFINITIONS = ["$defs", "definitions"];

/** A schema whose references are hidden from RJSF, with a mark where a field would contain itself. */
export function hidden(schema: JsonObject): JsonObject {
  const result = hide(schema) as JsonObject;
  markCircles(result);
  return result;
}

function hide(schema: Schema): Schema {
  if (!isObject(schema)) return schema;
  const inside = mapInside(schema, (inner, key) => (CONDITIONS.includes(key) ? inner : hide(inner)));
  const { $ref, ...rest } = inside;
  return typeof $ref === "string" ? { [MARK.ref]: $ref, ...rest } : inside;
}

export const target = (ref: Json | undefined, root: JsonObject): JsonObject | undefined => {
  const found = typeof ref === "string" ? getAt(root, fromRef(ref)[0] ?? []) : undefined;
  return isObject(found) ? found : undefined;
};

/** A node with what it refers to put in its place, and the same for all that holds at that place. */
export function followed(schema: JsonObject, root: JsonObject, seen: readonly string[] = []): JsonObject {
  let node = schema;
  let refs = seen;
  while (typeof node[MARK.ref] === "string") {
    const { [MARK.ref]: ref, [CIRCLE]: _, ...around } = node;
    const leads = refs.includes(String(ref)) ? undefined : target(ref, root);
    refs = [...refs, String(ref)];
    node = leads === undefined ? around : { ...without(leads, DEFINITIONS), ...around };
  }
  const inner = (value: Json): Json => (isObject(value) ? followed(value, root, refs) : value);
  const result: JsonObject = { ...node };
  for (const key of ["then", "else"]) if (isObject(node[key])) result[key] = inner(node[key]);
  if (Array.isArray(node.allOf)) result.allOf = node.allOf.map(inner);
  for (const key of ["dependentSchemas", "dependencies", "patternProperties"])
    if (isObject(node[key])) result[key] = mapped(node[key], inner);
  // RJSF puts these together with what the patterns say.
  if (isObject(node.patternProperties) && isObject(node.properties))
    result.properties = mapped(node.properties, inner);
  return result;
}

function mapped(map: JsonObject, change: (value: Json) => Json): JsonObject {
  const result: JsonObject = {};
  for (const name of Object.keys(map)) put(result, name, change(map[name] as Json));
  return result;
}

function without(schema: JsonObject, keys: readonly string[]): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(schema)) if (!keys.includes(key)) put(result, key, schema[key]);
  return result;
}

/** Fields that refer back to what they are in are drawn when somebody asks for them: there is no end to them. */
function markCircles(root: JsonObject): void {
  // From each definition, the nodes that refer to others and are drawn with it.
  const edges = new Map<JsonObject, JsonObject[]>();
  const collect = (schema: unknown, into: JsonObject[]): void => {
    if (!isObject(schema)) return;
    if (MARK.ref in schema) into.push(schema);
    for (const key of ["properties", "dependentSchemas", "dependencies"])
      if (isObject(schema[key])) for (const inner of Object.values(schema[key])) collect(inner, into);
    if (Array.isArray(schema.allOf)) for (const inner of schema.allOf) collect(inner, into);
    for (const key of ["then", "else"]) collect(schema[key], into);
  };
  const edgesOf = (definition: JsonObject): JsonObject[] => {
    let found = edges.get(definition);
    if (found === undefined) {
      found = [];
      collect(definition, found);
      edges.set(definition, found);
    }
    return found;
  };
  const reaches = (from: JsonObject, to: JsonObject): boolean => {
    const seen = new Set([from]);
    for (const at of seen) {
      if (at === to) return true;
      for (const edge of edgesOf(at)) {
        const next = target(edge[MARK.ref], root);
        if (next) seen.add(next);
      }
    }
    return false;
  };
  const definitions = [
    root,
    ...DEFINITIONS.flatMap((key) => (isObject(root[key]) ? Object.values(root[key]) : [])),
  ].filter(isObject);
  for (const definition of definitions) {
    for (const edge of edgesOf(definition)) {
      const leads = target(edge[MARK.ref], root);
      if (leads && !has(edge, CIRCLE) && edge !== definition && reaches(leads, definition))
        put(edge, CIRCLE, true);
    }
  }
}
