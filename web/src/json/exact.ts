/**
 * JSON whose whole numbers stay what they are.
 *
 * A number of this language holds whole numbers up to 2^53; ids of 64 bits are larger, and would be shown and sent as
 * other numbers than they are. Those are read as `Big`, and written as the digits they came with.
 */

import type { Json, JsonObject } from "../api/client";

/** A whole number that a number of this language would change. */
export class Big {
  constructor(readonly digits: string) {}

  toString(): string {
    return this.digits;
  }

  /** About how much it is: for comparing with limits. */
  valueOf(): number {
    return Number(this.digits);
  }

  /** For writers that do not know it; `writeJson` does. */
  toJSON(): number {
    return Number(this.digits);
  }
}

export const isBig = (value: unknown): value is Big => value instanceof Big;

/** Whether a value holds others: an array or an object. A big number is a value by itself. */
export const isBranch = (value: Json | undefined): value is Json[] | JsonObject =>
  value !== null && typeof value === "object" && !isBig(value);

/** Whether a number of this language is written with these digits again. */
function isKept(digits: string): boolean {
  const number = Number(digits);
  return Number.isSafeInteger(number) || String(number) === digits;
}

/** The whole number that these digits say, exactly: `-?[0-9]+`. */
export function whole(digits: string): Json {
  const plain = digits.replace(/^(-?)0+(?=\d)/, "$1");
  return isKept(plain) ? Number(plain) : (new Big(plain) as unknown as Json);
}

/** Marks big numbers while they are on their way through `JSON`, which knows no others. */
const MARK = `\u0000${Math.random().toString(36).slice(2)}:`;
const LONG = /\d{16}/;
const NEXT = /"|-?\d{16,}/g;

/** Reads JSON; what is none throws a `SyntaxError` as `JSON.parse` does. */
export function readJsonText(text: string): Json {
  const plain = JSON.parse(text) as Json;
  if (!LONG.test(text)) return plain;
  const parts: string[] = [];
  let from = 0;
  NEXT.lastIndex = 0;
  for (let found = NEXT.exec(text); found; found = NEXT.exec(text)) {
    const [token] = found;
    const end = found.index + token.length;
    if (token === '"') NEXT.lastIndex = endOfString(text, end);
    else if (stands(text, found.index, end) && !isKept(token)) {
      parts.push(text.slice(from, found.index), JSON.stringify(MARK + token));
      from = end;
    }
  }
  if (parts.length === 0) return plain;
  return unmarked(JSON.parse(parts.join("") + text.slice(from)) as Json);
}

/** Behind the quote that ends the string. (A pattern over a text of megabytes runs out of stack.) */
function endOfString(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 34) return at + 1;
    at += code === 92 ? 2 : 1;
  }
  return at;
}

/** Whether digits are a whole number, and not what stands behind a point or before an exponent. */
function stands(text: string, start: number, end: number): boolean {
  return !/[\d.eE+-]/.test(text[start - 1] ?? "") && !/[.eE]/.test(text[end] ?? "");
}

/** Puts big numbers in the place of their marks. Values may be nested deeper than calls can be. */
function unmarked(value: Json): Json {
  const whole: Json[] = [value];
  const branches: (Json[] | JsonObject)[] = [whole];
  for (let branch = branches.pop(); branch; branch = branches.pop()) {
    const places = branch as { [key: string | number]: Json };
    for (const key of Array.isArray(branch) ? branch.keys() : Object.keys(branch)) {
      const item = places[key];
      if (isBranch(item)) branches.push(item);
      else if (typeof item === "string" && item.startsWith(MARK)) {
        places[key] = new Big(item.slice(MARK.length)) as unknown as Json;
      }
    }
  }
  return whole[0] as Json;
}

/** Writes JSON, big numbers with all their digits. */
export function writeJson(value: unknown, indent?: number): string {
  let any = false;
  const text = JSON.stringify(
    value,
    function (this: unknown, key: string, now: unknown) {
      // What comes here has been through `toJSON`; what it was is still in its place.
      const was = (this as { [key: string]: unknown })[key];
      if (!isBig(was)) return now;
      any = true;
      return MARK + was.digits;
    },
    indent,
  );
  if (!any) return text;
  const mark = JSON.stringify(MARK).slice(1, -1).replaceAll("\\", "\\\\");
  return text.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}
