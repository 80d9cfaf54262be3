/** What waits for a person, in the order in which it should be answered. */

import type { Cue } from "./client";
import { MOST_CUES, useOpenCues } from "./queries";

const rank = (cue: Cue): number => (cue.status === "abandoned" ? 2 : cue.head ? 0 : 1);

/** Whoever has waited longest comes first; what is not its turn yet, or was given up, comes after. */
export const byWait = (cues: readonly Cue[]): Cue[] =>
  cues.toSorted(
    (a, b) =>
      rank(a) - rank(b) || Date.parse(a.opened_at) - Date.parse(b.opened_at) || a.position - b.position,
  );

/** How many wait, in words for a narrow place; empty for none. */
export function waitingCount(cues: readonly Cue[]): string {
  const open = cues.filter((cue) => cue.status === "open").length;
  if (open === 0) return "";
  return cues.length >= MOST_CUES ? `${open}+` : String(open);
}

export const useWaiting = (): Cue[] => byWait(useOpenCues().data?.cues ?? []);

/** What each kind of cue asks for. */
export const WAITS_FOR: { [kind: string]: string } = {
  model: "the model's next step",
  tool: "a tool's result",
  user: "what the user says",
};
