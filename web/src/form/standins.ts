/**
 * Numbers beyond 2^53 for an interpreter that knows the numbers of this language only. Each gets a stand-in: in the same
 * order as they are, the same where they are the same, and beyond all others.
 */

import { type Big, isBig } from "../json/exact";
import { isObject, put } from "./paths";

type Huge = Big | number;

const isHuge = (value: unknown): value is Huge =>
  isBig(value) || (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER);

/** The number that is written: what is read of `1e23` is a little less. */
function exact(value: Huge): bigint {
  if (isBig(value)) return BigInt(value.digits);
  const [digits = "", power = "0"] = String(value).split("e");
  const [before = "", after = ""] = digits.split(".");
  return BigInt(before + after) * 10n ** BigInt(Number(power) - after.length);
}

/** All numbers in a value, or in a schema, that need a stand-in. */
export function hugeIn(value: unknown, found = new Set<bigint>()): Set<bigint> {
  if (isHuge(value)) found.add(exact(value));
  else if (Array.isArray(value)) for (const item of value) hugeIn(item, found);
  else if (isObject(value)) for (const key of Object.keys(value)) hugeIn(value[key], found);
  return found;
}

const FIRST = 2 ** 53;

/** Puts the stand-ins of some numbers into a copy, in which what is undefined is as in JSON. */
export function standIns(numbers: Iterable<bigint>): (value: unknown) => unknown {
  const all = [...numbers].sort((a, b) => (a < b ? -1 : 1));
  const below = all.filter((number) => number < 0n).length;
  // From there on, every second whole number is one of this language.
  const known = new Map(
    all.map((number, at) => [number, at < below ? -FIRST - 2 * (below - 1 - at) : FIRST + 2 * (at - below)]),
  );
  const stand = (value: unknown): unknown => {
    if (isHuge(value)) return known.get(exact(value)) ?? Number(value);
    if (Array.isArray(value)) return value.map((item) => stand(item) ?? null);
    if (!isObject(value)) return value;
    const result = {};
    for (const key of Object.keys(value)) if (value[key] !== undefined) put(result, key, stand(value[key]));
    return result;
  };
  return stand;
}
