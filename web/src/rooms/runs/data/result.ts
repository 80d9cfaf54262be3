/** What a run came to: its cases, and the repeats of each together. */

import type { Run, Schemas } from "../../../api/client";
import { type Case, caseOf, inOrder, type Line, type Told } from "./case";
import { rank, type Verdict, worst } from "./verdict";

export type Result = Omit<Schemas["RunResult"], "results"> & { cases: Case[] };

/** The form of results that this page knows; the server gives what earlier versions kept in it. */
const VERSION = 2;

/** What a run came to; nothing while there is no result, or one of a form of tomorrow. */
export function readResult(run: Run): Result | null {
  if (run.result?.version !== VERSION) return null;
  const { results, ...rest } = run.result;
  return { ...rest, cases: results.map(caseOf) };
}

/** How long a run took; nothing while it runs. */
export const tookMs = (run: Run): number | null =>
  run.duration_ms ?? (run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : null);

/**
 * The cases of a result with their numbers in the run. A result has them in the order of the suite, and does not say the
 * numbers.
 */
export function numbered(cases: readonly Case[], lines: readonly Line[]): Case[] {
  const sorted = lines.toSorted(inOrder);
  return cases.map((one, at) => ({ ...one, n: sorted[at]?.n ?? one.n }));
}

/** A scenario with all its repeats. */
export interface Group<C extends Told = Line> {
  key: string;
  name: string;
  file: string | null;
  verdict: Verdict;
  passed: number;
  /** What needs a look first, then by repeat. */
  cases: C[];
  meanMs: number;
}

export const keyOf = (one: Told): string => JSON.stringify([one.file ?? null, one.name]);

export function group<C extends Told>(cases: readonly C[]): Group<C>[] {
  const groups = new Map<string, C[]>();
  for (const one of cases) {
    const key = keyOf(one);
    const found = groups.get(key);
    if (found) found.push(one);
    else groups.set(key, [one]);
  }
  const all = [...groups].map(([key, members]) => groupOf(key, members));
  // What needs a look comes first; otherwise as they were run.
  return all.toSorted((a, b) => rank(a.verdict) - rank(b.verdict));
}

function groupOf<C extends Told>(key: string, members: C[]): Group<C> {
  const first = members[0];
  return {
    key,
    name: first?.name ?? "",
    file: first?.file ?? null,
    verdict: worst(members.map((one) => one.verdict)),
    passed: members.filter((one) => one.verdict === "passed").length,
    cases: members.toSorted((a, b) => rank(a.verdict) - rank(b.verdict) || a.repeat - b.repeat || a.n - b.n),
    meanMs: members.reduce((sum, one) => sum + one.duration_ms, 0) / members.length,
  };
}

/** The cases that fit: of this verdict, with all the words somewhere in their name, file, tags or description. */
export function filter<C extends Told>(cases: readonly C[], verdict: string, text: string): readonly C[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!verdict && wanted.length === 0) return cases;
  return cases.filter((one) => {
    if (verdict && one.verdict !== verdict) return false;
    if (wanted.length === 0) return true;
    const said = [one.name, one.file, one.description, ...(one.tags ?? [])].join("\n").toLowerCase();
    return wanted.every((word) => said.includes(word));
  });
}

/** What a person called the run, or else what was run. */
export const nameOf = (run: Run): string => run.name || run.title || run.id;

/** What tells it from other runs of the same: the suite behind its name, where it was run from, who played. */
export function aboutOf(run: Run): string[] {
  const place = [run.branch, run.commit?.slice(0, 8)].filter(Boolean).join(" ");
  return [run.name ? run.title : "", place, run.model ?? ""].filter((text) => text !== "");
}

export interface Failures {
  /** Its place among those that did not pass, from 1; nothing for one that passed. */
  at: number | null;
  count: number;
  before: number | null;
  after: number | null;
}

/** The cases that did not pass around this one, in this order, by their numbers. */
export function failuresAround(cases: readonly Told[], n: number): Failures {
  const failed = cases.filter((one) => one.verdict !== "passed").map((one) => one.n);
  const at = failed.indexOf(n);
  const here = cases.findIndex((one) => one.n === n);
  const place = here < 0 ? cases.length : here;
  const bad = (one: Told) => one.verdict !== "passed";
  return {
    at: at < 0 ? null : at + 1,
    count: failed.length,
    before: cases.slice(0, place).findLast(bad)?.n ?? null,
    after: cases.slice(place + 1).find(bad)?.n ?? null,
  };
}
