/** References. The form rewrites what it draws, so whatever is referred to is a definition of its own first. */

import type { JsonObject } from "../api/client";
import { mapInside, type Schema, SNAKE } from "./keywords";
import { escapeToken, fromRef, getAt, has, isObject, own, put, toRef } from "./paths";

const DEFINITIONS = ["$defs", "definitions"];
/** Keywords whose schemas have names. */
const NAMED = [...DEFINITIONS, "properties", "patternProperties", "dependentSchemas", "dependencies"];
const NUMBERED = ["allOf", "anyOf", "oneOf", "prefixItems"];

/**
 * A schema with all references to definitions: what they refer to elsewhere is copied there. References that lead
 * nowhere, or only to each other, allow anything: the server has the last word.
 */
export function linked(root: JsonObject, given: JsonObject, walk: (schema: Schema) => Schema): JsonObject {
  const names = new Map<string, string>();
  const added: JsonObject = {};
  const taken = isObject(root.$defs) ? Object.keys(root.$defs) : [];

  const definition = (path: string[], target: Schema): string => {
    const pointer = path.map(escapeToken).join("/");
    const known = names.get(pointer);
    if (known !== undefined) return known;
    const wanted = nameOf(path);
    let name = wanted;
    for (let count = 2; taken.includes(name); count += 1) name = `${wanted} ${count}`;
    taken.push(name);
    // Before what is inside is looked at: it may refer to itself.
    names.set(pointer, name);
    put(added, name, link(target));
    return name;
  };
  const resolve = (ref: string): string | undefined => {
    const path = find(root, ref);
    if (path !== undefined) {
      const [first = "", name = ""] = path;
      if (path.length === 0) return "#";
      if (path.length === 2 && DEFINITIONS.includes(first)) return toRef([first, name]);
      return toRef(["$defs", definition(path, getAt(root, path) as Schema)]);
    }
    // In a part that no keyword leads to, such as `components`.
    const elsewhere = find(given, ref);
    if (elsewhere === undefined) return undefined;
    return toRef(["$defs", definition(elsewhere, walk(getAt(given, elsewhere) as Schema))]);
  };
  const link = (schema: Schema): Schema => {
    if (typeof schema === "boolean") return schema;
    const { $ref, ...result } = mapInside(schema, link);
    const to = typeof $ref === "string" ? resolve($ref) : undefined;
    return to === undefined ? result : { $ref: to, ...result };
  };

  const result = link(root) as JsonObject;
  if (Object.keys(added).length > 0) result.$defs = { ...(result.$defs as JsonObject | undefined), ...added };
  return withoutCircles(result, result);
}

/** Where a reference leads in a schema, in the schema's own words. */
function find(root: JsonObject, ref: string): string[] | undefined {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  for (const tokens of fromRef(ref)) {
    let at: unknown = root;
    const path: string[] = [];
    for (const token of tokens) {
      const other = own(SNAKE, token);
      const key = other !== undefined && isObject(at) && !has(at, token) ? other : token;
      path.push(key);
      at = getAt(at, [key]);
    }
    if (isObject(at) || typeof at === "boolean") return path;
  }
  return undefined;
}

/** What is at a path is called as the nearest name on the way there. */
function nameOf(path: string[]): string {
  let name = "";
  for (let at = 0; at < path.length; at += 1) {
    const token = path[at] ?? "";
    if (NAMED.includes(token)) name = path[++at] ?? name;
    else if (NUMBERED.includes(token)) at += 1;
    else if (token !== "items" && token !== "additionalProperties") name = token;
  }
  return name === "" ? "Part" : name;
}

function withoutCircles(schema: JsonObject, root: JsonObject): JsonObject {
  const result = mapInside(schema, (inner) => (isObject(inner) ? withoutCircles(inner, root) : inner));
  if (typeof result.$ref === "string" && !ends(result.$ref, root)) delete result.$ref;
  return result;
}

function ends(ref: string, root: JsonObject): boolean {
  const seen = new Set<string>();
  let at: string | undefined = ref;
  while (at !== undefined) {
    if (seen.has(at)) return false;
    seen.add(at);
    const path = find(root, at);
    const target: unknown = path && getAt(root, path);
    at = isObject(target) && typeof target.$ref === "string" ? target.$ref : undefined;
  }
  return true;
}
