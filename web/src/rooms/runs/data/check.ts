/** An evaluation of a scenario or a metric of a case, and what it found. */

import type { Json } from "../../../api/client";
import { list, number, numbers, object, text, words } from "./read";
import { type Verdict, verdictOf } from "./verdict";

export interface Evidence {
  text: string;
  /** The numbers of events on the ledger of the agent's session. */
  events: number[];
}

export interface Check {
  name: string;
  kind: string | null;
  line: number | null;
  description: string | null;
  /** The word of the result, such as `unscored`. */
  word: string;
  status: Verdict;
  message: string;
  score: number | null;
  value: Json | undefined;
  evidence: Evidence[];
}

export function readCheck(value: unknown, name?: string): Check {
  const found = object(value);
  const evidence = list(found.evidence).map(readEvidence);
  const word = text(found.status) || (found.success === false ? "failed" : "not said");
  return {
    name: name ?? (text(found.name) || "unnamed"),
    kind: words(found.type),
    line: number(found.line),
    description: words(found.description),
    word,
    status: verdictOf(word),
    message: text(found.message) || evidence[0]?.text || "",
    score: number(found.score),
    value: found.value,
    evidence,
  };
}

function readEvidence(value: unknown): Evidence {
  if (typeof value === "string") return { text: value, events: [] };
  const evidence = object(value);
  return { text: text(evidence.text), events: numbers(evidence.events) };
}

/** The numbers of all events that they point at. */
export function eventsOf(checks: readonly Check[]): Set<number> {
  return new Set(checks.flatMap((check) => check.evidence.flatMap((evidence) => evidence.events)));
}
