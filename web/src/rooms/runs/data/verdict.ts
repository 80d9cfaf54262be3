/** What runs, cases, steps and evaluations come to, in a word each. */

export type Verdict =
  | "passed"
  | "failed"
  | "error"
  | "terminated"
  | "unjudged"
  | "running"
  | "interrupted"
  | "unknown";

export const VERDICTS = ["failed", "error", "terminated", "unjudged", "passed"] as const;

/** The words of steps and evaluations that mean the same as a verdict. */
const SAME: Record<string, Verdict> = {
  passed: "passed",
  failed: "failed",
  error: "error",
  errored: "error",
  terminated: "terminated",
  unjudged: "unjudged",
  unscored: "unjudged",
  skipped: "unjudged",
  not_evaluated: "unjudged",
  running: "running",
  interrupted: "interrupted",
};

/** Reads a word. One that is not known is never taken for a pass. */
export const verdictOf = (word: unknown): Verdict =>
  (typeof word === "string" && Object.hasOwn(SAME, word) && SAME[word]) || "unknown";

/** How bad, so that what needs a look comes first. */
const ORDER: Verdict[] = [
  "error",
  "failed",
  "terminated",
  "interrupted",
  "unjudged",
  "unknown",
  "running",
  "passed",
];

export const rank = (verdict: Verdict): number => ORDER.indexOf(verdict);

/** The worst of them; nothing that is not there passed. */
export function worst(verdicts: readonly Verdict[]): Verdict {
  let found: Verdict | null = null;
  for (const verdict of verdicts) if (found === null || rank(verdict) < rank(found)) found = verdict;
  return found ?? "unknown";
}
