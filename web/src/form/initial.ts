/** What a form holds before anybody touched it. */

import type { Json, JsonObject } from "../api/client";
import { fromRef, getAt, has, isObject, put } from "./paths";
import { MARK } from "./prepare";
import { engineOf } from "./validator";

/**
 * `{}` for objects, with the objects that must be there inside. Nothing else is invented: a yes or no that nobody gave
 * and a map that nobody touched are asked for, and no default is sent.
 */
export function initialValue(schema: JsonObject): Json | undefined {
  const { drawn } = engineOf(schema);
  return isMap(resolve(drawn, drawn, []).node) ? undefined : start(drawn, drawn);
}

/** Whether all fields of an object are named by whoever fills it in: empty, it says something that nobody said. */
export function isMap(node: JsonObject): boolean {
  const { type, properties, additionalProperties: more } = node;
  if (type !== "object" || Array.isArray(node.anyOf) || more === false) return false;
  return !isObject(properties) || Object.keys(properties).length === 0;
}

/** So many objects are there from the beginning. What is inside of more comes when somebody asks for it. */
const MOST_OBJECTS = 100;
const FEW_OBJECTS = 4;

/** The beginning of a part of a form; with `fixed`, required fields that can have one value only have it. */
export const start = (schema: JsonObject, root: JsonObject, fixed = false): Json | undefined =>
  begin(schema, root, fixed).begun;

/** Whether an object that is not there yet holds so many that it is not drawn before somebody asks for it. */
export const isLarge = (schema: JsonObject, root: JsonObject): boolean =>
  begin(schema, root, false, FEW_OBJECTS + 1).count > FEW_OBJECTS;

function begin(schema: JsonObject, root: JsonObject, fixed: boolean, most = MOST_OBJECTS) {
  let count = 0;
  // All of one level before the next: what is cut is what is deepest.
  const waiting: (() => void)[] = [];
  const object = (schema: JsonObject, seen: string[]): JsonObject | undefined => {
    const { node, refs } = resolve(schema, root, seen);
    // A required field that contains itself never ends; nobody can fill it in either.
    if (refs === null || count >= most) return undefined;
    const { properties } = node;
    if (node.type !== "object" || Array.isArray(node.anyOf)) return undefined;
    count += 1;
    const result: JsonObject = {};
    const required = Array.isArray(node.required) ? node.required : [];
    waiting.push(() => {
      for (const name of required) {
        const property = isObject(properties) && has(properties, String(name)) && properties[String(name)];
        if (!isObject(property)) continue;
        const is = resolve(property, root, refs).node;
        if (is[MARK.nullable] === true) continue;
        let value: Json | undefined;
        if (fixed && Array.isArray(is.enum) && is.enum.length === 1) value = is.enum[0];
        else if (is.type === "object" && !isMap(is)) value = object(property, refs);
        if (value !== undefined) put(result, String(name), value);
      }
    });
    return result;
  };
  const begun: Json | undefined = object(schema, []);
  for (const each of waiting) each();
  return { begun, count };
}

/** What a new item of a list begins as: in a list nothing can be absent, so what has no empty value is `null`. */
export function startItem(schema: JsonObject, root: JsonObject): Json {
  const { node } = resolve(schema, root, []);
  if (Array.isArray(node.enum)) return node.enum.length === 1 ? (node.enum[0] ?? null) : null;
  if (node.type === "string") return "";
  if (node.type === "boolean") return false;
  if (node.type === "array") return [];
  return start(schema, root, true) ?? null;
}

/** A node with its references and `allOf` put together, as far as beginnings need them. */
function resolve(
  schema: JsonObject,
  root: JsonObject,
  seen: string[],
): { node: JsonObject; refs: string[] | null } {
  let node = schema;
  let refs = seen;
  while (typeof node[MARK.ref] === "string") {
    const { [MARK.ref]: to, ...around } = node;
    const ref = String(to);
    if (refs.includes(ref)) return { node, refs: null };
    refs = [...refs, ref];
    const target = getAt(root, fromRef(ref)[0] ?? []);
    if (!isObject(target)) return { node: around, refs };
    node = { ...target, ...around };
  }
  if (Array.isArray(node.allOf)) {
    const { allOf, ...around } = node;
    let merged: JsonObject = around;
    for (const part of allOf as Json[]) {
      if (!isObject(part)) continue;
      const inner = resolve(part, root, refs);
      if (inner.refs === null) return { node, refs: null };
      merged = {
        ...inner.node,
        ...merged,
        ...both("properties", inner.node, merged),
        required: [...list(inner.node.required), ...list(merged.required)],
      };
    }
    node = merged;
  }
  return { node, refs };
}

const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

function both(key: string, a: JsonObject, b: JsonObject): JsonObject {
  if (!isObject(a[key]) && !isObject(b[key])) return {};
  return { [key]: { ...(a[key] as JsonObject), ...(b[key] as JsonObject) } };
}
