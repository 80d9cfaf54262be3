/** Places in a value, and values with one place changed. */

import type { Json, JsonObject } from "../api/client";
import { isBig } from "../json/exact";

export type Path = readonly (string | number)[];

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isBig(value);

export const isNumber = (value: unknown): boolean => typeof value === "number" || isBig(value);

/** A key of its own: `"toString" in {}` is true, and not what anybody asks here. */
export const has = (object: object, key: string): boolean => Object.hasOwn(object, key);

/** What a table holds under a key. */
export const own = <T>(table: Record<string, T>, key: string): T | undefined =>
  has(table, key) ? table[key] : undefined;

export const escapeToken = (token: string): string => token.replaceAll("~", "~0").replaceAll("/", "~1");
export const unescapeToken = (token: string): string => token.replaceAll("~1", "/").replaceAll("~0", "~");

export const fromPointer = (pointer: string): string[] =>
  pointer === "" ? [] : pointer.slice(1).split("/").map(unescapeToken);

/** What a reference may mean: its pointer decoded, or as it stands, because a percent sign may stand for itself. */
export function fromRef(ref: string): string[][] {
  const plain = ref.replace(/^#/, "");
  try {
    return [fromPointer(decodeURIComponent(plain)), fromPointer(plain)];
  } catch {
    return [fromPointer(plain)];
  }
}

/** A reference that everybody reads alike. */
export const toRef = (path: string[]): string =>
  `#${path.map((token) => `/${encodeURI(escapeToken(token)).replaceAll("#", "%23")}`).join("")}`;

/** What is at a place; nothing where there is no such place. */
export function getAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const token of path) {
    if (Array.isArray(at)) at = at[Number(token)];
    else if (isObject(at) && has(at, String(token))) at = at[String(token)];
    else return undefined;
  }
  return at;
}

/** A place as people say it: items of lists are counted from one, as the form does. */
export function placeInWords(pointer: string, value: unknown): string {
  if (pointer === "") return "the whole";
  let at = value;
  const words = fromPointer(pointer).map((token) => {
    const word = Array.isArray(at) ? `item ${Number(token) + 1}` : token;
    at = getAt(at, [token]);
    return word;
  });
  return words.join(" › ");
}

/** Sets a key without ever reaching a prototype: a field may be called `__proto__`. */
export function put(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

function copy(object: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(object)) put(result, key, object[key]);
  return result;
}

/**
 * The value with one place changed and everything else as it was, the order of keys included. `undefined` takes a
 * field away; in a list, where nothing can be absent, it becomes `null`.
 */
export function setAt(value: Json | undefined, path: Path, to: Json | undefined): Json | undefined {
  const [token, ...rest] = path;
  if (token === undefined) return to;
  if (typeof token === "number") {
    const list = Array.isArray(value) ? [...value] : [];
    while (list.length < token) list.push(null);
    list[token] = setAt(list[token], rest, to) ?? null;
    return list;
  }
  const object = isObject(value) ? copy(value) : {};
  const changed = setAt(has(object, token) ? object[token] : undefined, rest, to);
  if (changed === undefined) delete object[token];
  else put(object, token, changed);
  return object;
}

/** The same JSON, whatever the order of keys. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  // Written alike, they are the same number.
  if (isBig(a) || isBig(b)) return isNumber(a) && isNumber(b) && String(a) === String(b);
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => same(item, b[index]));
  }
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => has(b, key) && same(a[key], b[key]));
  }
  return false;
}
