/** Searching in all events, whether their rows are on the page or not. */

import type { Json } from "../api/client";
import { isBranch } from "../json/exact";
import { allEntries } from "./entries";
import type { LedgerEvent } from "./event";

const texts = new WeakMap<LedgerEvent, string>();

/** Everything that an event says, in small letters: what it is called, its keys and its values. */
function textOf(event: LedgerEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const [entry] = allEntries([event]);
  const said = [entry?.word ?? "", entry?.about ?? "", event.author, `#${event.seq}`];
  const stack: Json[] = [event.body as unknown as Json];
  while (stack.length > 0) {
    const at = stack.pop() as Json;
    if (!isBranch(at)) said.push(String(at));
    else if (Array.isArray(at))
      for (let index = at.length - 1; index >= 0; index -= 1) stack.push(at[index] as Json);
    else for (const [key, value] of Object.entries(at).reverse()) stack.push(value, key);
  }
  const text = said.join("\n").toLowerCase();
  texts.set(event, text);
  return text;
}

/** Whether an event says a text, without regard to case. */
export const says = (event: LedgerEvent, sought: string): boolean =>
  textOf(event).includes(sought.toLowerCase());

/** The numbers of the events that say a text. */
export const findEvents = (events: readonly LedgerEvent[], sought: string): number[] =>
  events.filter((event) => says(event, sought)).map(({ seq }) => seq);
