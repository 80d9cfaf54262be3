// JSON as Rehearsal means it: whole numbers of any size stay what they are. Those that a number cannot hold are BigInt
// here, in both directions.

// Any value that JSON has. `bigint` stands for whole numbers beyond 2^53.
export type Json = string | number | bigint | boolean | null | Json[] | { [key: string]: Json };

// Nothing that people write begins like this: it is a character that is assigned to nobody.
const MARK = "\u{10FFFF}whole:";
const MARKED = new RegExp(`^${MARK}-?\\d+$`, "u");
const WRITTEN = new RegExp(`"${MARK}(-?\\d+)"`, "gu");
const NUMBERS = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Reads JSON. */
export function parse(text: string): unknown {
  // Whole numbers of up to 15 digits are safe: nearly always there is nothing to look for.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(marked(text), (_key, value: unknown) =>
    typeof value === "string" && MARKED.test(value) ? BigInt(value.slice(MARK.length)) : value,
  );
}

/** The text with each whole number that a number cannot hold as a string that says so. */
function marked(text: string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < text.length) {
    const quote = text.indexOf('"', at);
    const start = quote < 0 ? text.length : quote;
    parts.push(
      text.slice(at, start).replace(NUMBERS, (token) => (isTooLarge(token) ? `"${MARK}${token}"` : token)),
    );
    at = endOfString(text, start);
    parts.push(text.slice(start, at));
  }
  return parts.join("");
}

function isTooLarge(token: string): boolean {
  return /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return Math.min(at + 1, text.length);
}

/**
 * Writes JSON on one line.
 *
 * What JSON has not is refused by name: JavaScript would leave it out, or write something else in its place.
 */
export function stringify(given: unknown): string {
  const text = JSON.stringify(given, function (this: unknown, key: string, value: unknown) {
    const kind = foreign(value) ?? (value === undefined && Array.isArray(this) ? "undefined" : undefined);
    if (kind !== undefined)
      throw new TypeError(`JSON has no ${kind}${key === "" ? "" : `, which stands at \`${key}\``}`);
    return typeof value === "bigint" ? `${MARK}${value}` : value;
  });
  return text.replace(WRITTEN, "$1");
}

function foreign(value: unknown): string | undefined {
  if (typeof value === "function" || typeof value === "symbol") return typeof value;
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  return ["Map", "Set", "WeakMap", "WeakSet", "Promise", "RegExp", "Error"].includes(tag) ? tag : undefined;
}
