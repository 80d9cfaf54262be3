/** What became of a question that is not asked any more, read from the ledger. */

import type { Cue } from "../api/client";
import type { LedgerEvent } from "./event";

export type Closing = "answered" | "dismissed" | "failed";

/** Null while the ledger does not tell yet. */
export function closing(events: readonly LedgerEvent[], cue: Cue): Closing | null {
  const since = Date.parse(cue.opened_at);
  let end: Closing | null = null;
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index] as LedgerEvent;
    if (Date.parse(event.at) < since) break;
    // What failed after it was answered was answered all the same.
    if (answers(event, cue)) return "answered";
    // A run that ends puts away what it asked for.
    if (end !== "failed") end = closes(event, cue) ?? end;
  }
  return end;
}

function answers({ body, turn, author }: LedgerEvent, cue: Cue): boolean {
  if (cue.kind === "model") return body.type === "model_response" && turn === (cue.turn_id ?? cue.id);
  // Where nobody is left to give a result, the server ends the call itself.
  if (cue.kind === "tool")
    return body.type === "tool_result" && body.call === cue.call_id && author !== "rehearsal";
  return body.type === "user_message";
}

function closes({ body }: LedgerEvent, cue: Cue): Closing | null {
  if (body.type === "run_failed") return "failed";
  return body.type === "cue_dismissed" && body.cue === cue.id ? "dismissed" : null;
}
