/** Text in the JSON fields of a form that is not JSON yet: no value has it, so it is kept beside the value. */

import { useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { keepDraft, keptDraft } from "../ui/draft";
import type { HalfTyped } from "./RawJson";

const draftOf = (form: string): string => `halves:${form}`;

/** Lets go of what was half typed into a form that nobody goes on with. */
export const forgetHalves = (form: string): void => keepDraft(draftOf(form), undefined);

export function useHalves(form: string) {
  const now = useRef(new Map<string, HalfTyped>());
  const state = useRef<"opening" | "open" | "leaving">("opening");
  const before = useMemo(() => keptDraft<Record<string, HalfTyped>>(draftOf(form)) ?? {}, [form]);
  const halves = useMemo(() => {
    const keep = () =>
      keepDraft(draftOf(form), now.current.size > 0 ? Object.fromEntries(now.current) : undefined);
    return {
      keep,
      // A field that comes later is another one, even at the same place.
      halfTyped: (field: string) => (state.current === "opening" ? before[field] : undefined),
      onHalfTyped: (field: string, half: HalfTyped | null) => {
        if (half !== null) now.current.set(field, half);
        else if (!now.current.delete(field)) return;
        if (state.current === "open") keep();
      },
    };
  }, [form, before]);
  // Fields say goodbye one by one, also when the whole form goes; by then this has been said.
  useLayoutEffect(
    () => () => {
      state.current = "leaving";
    },
    [],
  );
  // After those of all fields that are there from the beginning.
  useEffect(() => {
    state.current = "open";
    halves.keep();
  }, [halves]);
  return halves;
}
