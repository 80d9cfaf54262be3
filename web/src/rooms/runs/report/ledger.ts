/** A session's ledger as a file, made of what a report has inside it. */

import { writeJson } from "../../../json/exact";
import type { LedgerEvent } from "../../../ledger/event";

/** JSON Lines: one event in each, with all the digits of its numbers. */
export const ledgerOf = (events: readonly LedgerEvent[]): string =>
  events.map((event) => `${writeJson(event)}\n`).join("");

/** How long a browser may take to begin with a file. */
const KEPT_MS = 10_000;

/** Gives a text to a person as a file. Nothing is fetched for it. */
export function saveAs(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
