/** Two runs side by side: what changed from the one to the other. */

import { type Case, checksOf } from "./case";
import type { Check } from "./check";
import { keyOf } from "./result";

export interface Pair {
  key: string;
  before: Case;
  after: Case;
  /** What changed besides the verdict, in words. */
  changes: string[];
}

export interface Comparison {
  /** Passed before and does not now. */
  broken: Pair[];
  /** Passes now and did not before. */
  fixed: Pair[];
  /** Another verdict, neither of them a pass. */
  shifted: Pair[];
  /** The same verdict, another score, outcome of an evaluation, or a duration worth a word. */
  moved: Pair[];
  same: Pair[];
  onlyBefore: Case[];
  onlyAfter: Case[];
}

/** Durations jitter: only these differences are worth a word. */
const LONGER_BY_MS = 100;
const LONGER_BY_SHARE = 0.25;

export function compare(before: readonly Case[], after: readonly Case[]): Comparison {
  const result: Comparison = {
    broken: [],
    fixed: [],
    shifted: [],
    moved: [],
    same: [],
    onlyBefore: [],
    onlyAfter: [],
  };
  const left = keyed(before);
  for (const [key, now] of keyed(after)) {
    const then = left.get(key);
    left.delete(key);
    if (!then) result.onlyAfter.push(now);
    else sort(result, { key, before: then, after: now, changes: changesOf(then, now) });
  }
  result.onlyBefore.push(...left.values());
  return result;
}

function sort(result: Comparison, pair: Pair): void {
  const [then, now] = [pair.before.verdict, pair.after.verdict];
  if (then !== now) {
    if (then === "passed") result.broken.push(pair);
    else if (now === "passed") result.fixed.push(pair);
    else result.shifted.push(pair);
  } else if (pair.changes.length > 0) result.moved.push(pair);
  else result.same.push(pair);
}

/** By file, name and repeat. */
const keyed = (cases: readonly Case[]): Map<string, Case> =>
  named(cases, (one) => `${keyOf(one)}#${one.repeat}`);

/** By the name of the evaluation; each turn of a conversation may be asked the same. */
const checksByName = (one: Case): Map<string, Check> => named(checksOf(one), (check) => check.name);

/** Things by their names. Those that have the same one are told apart by their order. */
function named<T>(things: readonly T[], nameOf: (thing: T) => string): Map<string, T> {
  const counts = new Map<string, number>();
  const found = new Map<string, T>();
  for (const thing of things) {
    const name = nameOf(thing);
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    found.set(count === 1 ? name : `${name} (${count})`, thing);
  }
  return found;
}

function changesOf(before: Case, after: Case): string[] {
  const changes: string[] = [];
  const then = checksByName(before);
  for (const [name, check] of checksByName(after)) {
    const was = then.get(name);
    then.delete(name);
    if (!was) changes.push(`${name}: new, ${check.status}`);
    else if (was.status !== check.status) changes.push(`${name}: ${was.status} → ${check.status}`);
    else if (was.score !== check.score) {
      changes.push(`${name}: score ${score(was.score)} → ${score(check.score)}`);
    }
  }
  for (const gone of then.keys()) changes.push(`${gone}: no longer asked`);
  const took = durationChange(before.duration_ms, after.duration_ms);
  if (took) changes.push(took);
  return changes;
}

const score = (value: number | null | undefined): string =>
  value == null ? "none" : String(Number(value.toFixed(3)));

function durationChange(before: number, after: number): string | null {
  const by = after - before;
  if (Math.abs(by) < LONGER_BY_MS || Math.abs(by) < LONGER_BY_SHARE * Math.max(before, after)) return null;
  const seconds = (ms: number) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
  return `${by > 0 ? "slower" : "faster"}: ${seconds(before)} → ${seconds(after)}`;
}
