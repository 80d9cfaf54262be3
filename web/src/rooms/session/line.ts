/** The calls of one model turn, in their order. One of them may be open in the form; it keeps its place. */

import type { PreparedCall } from "./ModelDecision";

export interface Line {
  prepared: PreparedCall[];
  /** Where the call in the form was taken from; null is a new one, which comes last. */
  place: number | null;
}

/** All calls, with the one in the form where it belongs. */
export const withOpen = ({ prepared, place }: Line, open: PreparedCall): PreparedCall[] =>
  prepared.toSpliced(place ?? prepared.length, 0, open);

/** Takes a call out, to be put back where it was. What is open goes back before that. */
export function take(line: Line, index: number, open: PreparedCall | null): Line {
  const all = open ? withOpen(line, open) : line.prepared;
  const place = open && (line.place ?? line.prepared.length) <= index ? index + 1 : index;
  return { prepared: all.toSpliced(place, 1), place };
}

/** Takes a call away. */
export function remove({ prepared, place }: Line, index: number): Line {
  return {
    prepared: prepared.toSpliced(index, 1),
    place: place !== null && index < place ? place - 1 : place,
  };
}
