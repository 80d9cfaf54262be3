/** A verdict: a word, a shape and a colour. */

import type { Verdict } from "../data/verdict";

const SHAPES: Record<Verdict, string> = {
  passed: "M4 12l5 5L20 6",
  failed: "M6 6l12 12M18 6L6 18",
  error: "M12 9v4m0 3v.5M10.3 3.9 2.5 18a2 2 0 0 0 1.7 3h15.6a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0Z",
  terminated: "M8 3h8l5 5v8l-5 5H8l-5-5V8l5-5Zm1 9h6",
  unjudged: "M7.5 8a4.5 4.5 0 1 1 6.4 4.1c-1.2.6-1.9 1.4-1.9 2.7m0 4.6v.2",
  running: "M12 7v5l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z",
  interrupted: "M8 5v14M16 5v14",
  unknown: "M5 12h14",
};

/** `word` is what the result said where that is another word for the same, such as `skipped`. */
export function VerdictBadge({ verdict, word }: { verdict: Verdict; word?: string }) {
  return (
    <span className={`badge ${verdict}`}>
      <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
        <path
          d={SHAPES[verdict]}
          fill="none"
          stroke="currentColor"
          strokeWidth="2.5"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      {word ?? verdict}
    </span>
  );
}
