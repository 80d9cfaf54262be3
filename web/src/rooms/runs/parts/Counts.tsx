/** Counts of verdicts, as a bar for the eye and as words. */

import { counted, type Summary } from "../data/summary";

const SLICES = [
  ["passed", "passed"],
  ["unjudged", "unjudged"],
  ["terminated", "terminated"],
  ["failed", "failed"],
  ["errors", "error"],
  ["not_run", "unjudged"],
] as const;

export function Counts({ summary, bar = true }: { summary: Summary; bar?: boolean }) {
  return (
    <span className="counts">
      {bar && <Bar summary={summary} />}
      <span>{counted(summary).join(" · ")}</span>
    </span>
  );
}

/** The words beside it say the same. */
export function Bar({ summary }: { summary: Summary }) {
  return (
    <span className="verdict-bar" aria-hidden="true">
      {SLICES.map(([key, look]) =>
        summary[key] > 0 ? <span key={key} className={look} style={{ flexGrow: summary[key] }} /> : null,
      )}
    </span>
  );
}
