/** One run of a scenario or of a case of an EvalSet. */

import type { CaseLine, Schemas } from "../../../api/client";
import { type Check, ofMetric } from "./check";
import { checksOfStep } from "./step";
import { type Verdict, verdictOf } from "./verdict";

/** What lists and filters need of a case. */
export interface Told {
  /** Its number in the run, from 1; the address has it. */
  n: number;
  name: string;
  file?: string | null;
  description?: string;
  tags?: readonly string[];
  repeat: number;
  verdict: Verdict;
  duration_ms: number;
}

/** A case in a line. */
export type Line = CaseLine & Told;

export const lineOf = (found: CaseLine): Line => ({
  ...found,
  n: found.number + 1,
  verdict: verdictOf(found.status),
});

/** The order of the suite, the repeats of a case together. */
export const inOrder = (a: Line, b: Line): number => a.place - b.place || a.repeat - b.repeat;

/** A whole case as its line. */
export const lineOfCase = (one: Case): Line => ({
  number: one.n - 1,
  n: one.n,
  place: one.n - 1,
  repeat: one.repeat,
  name: one.name,
  ...(one.description ? { description: one.description } : {}),
  ...(one.tags ? { tags: one.tags } : {}),
  ...(one.file == null ? {} : { file: one.file }),
  status: one.status,
  verdict: one.verdict,
  ...(one.fault == null ? {} : { fault: one.fault }),
  ...whyOf(one),
  duration_ms: one.duration_ms,
  turns: one.turns,
  tokens: Object.values(one.token_usage).reduce(
    (sum, used) => sum + (used ? used.input + used.output : 0),
    0,
  ),
  ...(one.cost == null ? {} : { cost: one.cost }),
});

/** Why it did not pass, in a line, as the server says it. */
function whyOf(one: Case): { why?: string } {
  if (one.verdict === "passed") return {};
  const failed = checksOf(one).find((check) => check.status === "failed" || check.status === "error");
  const said = one.error?.message ?? terminatedBy(one) ?? failed?.message;
  return said ? { why: said.split("\n", 1)[0] ?? "" } : {};
}

/** A case as the result says it, with what rooms need of it. */
export type Case = Schemas["CaseResult"] & {
  /** Its number in the run, from 1; the address has it. */
  n: number;
  verdict: Verdict;
};

export const caseOf = (found: Schemas["CaseResult"], index: number): Case => ({
  ...found,
  n: index + 1,
  verdict: verdictOf(found.status),
});

/** What judged the whole case. */
export const metricsOf = (one: Case): Check[] =>
  Object.entries(one.metrics).map(([name, metric]) => ofMetric(name, metric));

/** All that judged a case, in the order it was done. */
export const checksOf = (one: Case): Check[] => [...one.steps.flatMap(checksOfStep), ...metricsOf(one)];

/** What ended it before its end, in words. */
export const terminatedBy = (one: Case): string | null =>
  one.termination_detail ?? one.termination_reason?.replaceAll("_", " ") ?? null;

/** The command that repeats just this run; nothing where the result does not say enough. */
export const again = (one: Case): string | null =>
  one.file ? `rehearse run ${quoted(one.file)} --case-seed ${one.seed}` : null;

/** A word as a shell reads it, quoted as the command line quotes it. */
export const quoted = (word: string): string =>
  /^[A-Za-z0-9_\-./:=@,+%]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
