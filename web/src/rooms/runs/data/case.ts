/** One run of a scenario or of a case of an EvalSet. */

import type { Schemas } from "../../../api/client";
import { type Check, ofMetric } from "./check";
import { checksOfStep } from "./step";
import { type Verdict, verdictOf } from "./verdict";

/** A case as the result says it, with what rooms need of it. */
export type Case = Schemas["CaseResult"] & {
  /** Its place in the result, from 1; the address has it. */
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
