/** How many runs of cases came to what. */

import type { Run, Schemas } from "../../../api/client";
import type { Verdict } from "./verdict";

export type Summary = Schemas["Summary"];

/** Counts verdicts. One that is not known counts as unjudged: nobody can say that it passed. */
export function count(verdicts: readonly Verdict[]): Summary {
  const summary = { total: 0, passed: 0, failed: 0, errors: 0, terminated: 0, unjudged: 0, not_run: 0 };
  for (const verdict of verdicts) {
    summary.total += 1;
    if (verdict === "passed") summary.passed += 1;
    else if (verdict === "failed") summary.failed += 1;
    else if (verdict === "error") summary.errors += 1;
    else if (verdict === "terminated") summary.terminated += 1;
    else summary.unjudged += 1;
  }
  return summary;
}

/** The counts of a run; nothing while it has no result. */
export const summaryOf = (run: Run): Summary | null => run.summary ?? run.result?.summary ?? null;

/** The share that passed of those that were started and say something about the agent; nothing where none does. */
export function passRate(summary: Summary | null): number | null {
  if (!summary) return null;
  const started = summary.total - summary.not_run - (summary.invalid ?? 0);
  return started > 0 ? summary.passed / started : null;
}

const plural = (one: number, word: string) => `${one.toLocaleString()} ${word}`;

/** The counts that are not zero, as words, what needs a look first. */
export function counted(summary: Summary): string[] {
  const said: string[] = [];
  if (summary.failed) said.push(plural(summary.failed, "failed"));
  if (summary.errors) said.push(plural(summary.errors, summary.errors === 1 ? "error" : "errors"));
  if (summary.terminated) said.push(plural(summary.terminated, "terminated"));
  if (summary.unjudged) said.push(plural(summary.unjudged, "unjudged"));
  if (summary.not_run) said.push(plural(summary.not_run, "not run"));
  if (summary.passed || said.length === 0) said.push(plural(summary.passed, "passed"));
  return said;
}

/** The 95 % Wilson interval of a pass rate. */
export function wilson(passed: number, runs: number): [number, number] {
  if (runs === 0) return [0, 1];
  const z = 1.959964;
  const share = passed / runs;
  const scale = 1 + (z * z) / runs;
  const middle = (share + (z * z) / (2 * runs)) / scale;
  const reach = (z * Math.sqrt((share * (1 - share)) / runs + (z * z) / (4 * runs * runs))) / scale;
  // At the ends the interval touches them, whatever the rounding of its terms says.
  return [passed === 0 ? 0 : Math.max(0, middle - reach), passed === runs ? 1 : Math.min(1, middle + reach)];
}

/** A share in percent. Only all is 100 %, and only none is 0 %. */
export function percent(share: number): string {
  const rounded = Math.round(share * 100);
  if (rounded === 100 && share < 1) return ">99 %";
  if (rounded === 0 && share > 0) return "<1 %";
  return `${rounded} %`;
}
