import { useDeferredValue, useId, useMemo, useState } from "react";
import { get, inWords } from "../../api/client";
import type { LedgerEvent } from "../../ledger/event";
import { findEvents, says } from "../../ledger/search";
import { Icon } from "../../ui/Icon";

export interface EventSearchState {
  search: string;
  setSearch(search: string): void;
  /** The event that is looked at; nothing while nothing is looked for. */
  current: number | null;
  /** What was found, in words. */
  words: string;
  many: boolean;
  go(step: number): void;
  /** How many are found in events that are not shown now. */
  elsewhere: number;
  /** Events that are here in part, and were not searched whole for this text. */
  parts: number;
  searchParts(): void;
  isReading: boolean;
  problem: string | null;
}

/** Looks through all events of a session; of those that are large, also through what is not here, when asked. */
export function useEventSearch(
  session: string,
  events: readonly LedgerEvent[],
  shown: ReadonlySet<number>,
): EventSearchState {
  const [search, setSearch] = useState("");
  const sought = useDeferredValue(search.trim());
  const [index, setIndex] = useState(0);
  const [whole, setWhole] = useState<{
    sought: string;
    read: ReadonlySet<number>;
    found: ReadonlySet<number>;
  } | null>(null);
  const [isReading, setReading] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const known = whole?.sought === sought ? whole : null;
  const found = useMemo(() => {
    if (sought === "") return [];
    const here = new Set(findEvents(events, sought));
    for (const seq of known?.found ?? []) here.add(seq);
    return [...here].sort((a, b) => a - b);
  }, [events, sought, known]);
  const inView = useMemo(() => found.filter((seq) => shown.has(seq)), [found, shown]);
  const parts = useMemo(
    () => (sought === "" ? [] : events.filter(({ seq, truncated }) => truncated && !known?.read.has(seq))),
    [events, sought, known],
  );
  const at = Math.min(index, Math.max(0, inView.length - 1));
  const searchParts = async () => {
    if (isReading) return;
    setReading(true);
    setProblem(null);
    const read = new Set(known?.read);
    const hits = new Set(known?.found);
    try {
      // One after the other: each may be large, and none is kept.
      for (const { seq } of parts) {
        const event = await get<LedgerEvent>(`/v1/sessions/${session}/events/${seq}`);
        read.add(seq);
        if (says(event, sought)) hits.add(seq);
      }
    } catch (error) {
      setProblem(inWords(error));
    }
    setWhole({ sought, read, found: hits });
    setReading(false);
  };
  const part = parts.length > 0 ? " in what is here" : "";
  const words =
    sought === ""
      ? ""
      : inView.length === 0
        ? found.length > 0
          ? "nothing found in the conversation"
          : `nothing found${part}`
        : `${at + 1} of ${inView.length} found${part}`;
  return {
    search,
    setSearch: (text) => {
      setSearch(text);
      setIndex(0);
    },
    current: inView[at] ?? null,
    words,
    many: inView.length > 1,
    go: (step) => {
      if (inView.length > 0) setIndex((at + step + inView.length) % inView.length);
    },
    elsewhere: found.length - inView.length,
    parts: parts.length,
    searchParts: () => void searchParts(),
    isReading,
    problem,
  };
}

/** The field, what was found, and the ways from one to the next. */
export function EventSearch({ state, onAll }: { state: EventSearchState; onAll(): void }) {
  const field = useId();
  return (
    <search className="event-search">
      <label className="json-search" htmlFor={field}>
        <Icon name="search" />
        <span className="visually-hidden">Search all events</span>
        <input
          id={field}
          type="search"
          placeholder="Search all events"
          value={state.search}
          onChange={(event) => state.setSearch(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") state.go(event.shiftKey ? -1 : 1);
          }}
        />
      </label>
      <span className="soft" role="status">
        {state.words}
      </span>
      {state.many && (
        <>
          <button type="button" className="button small" onClick={() => state.go(-1)}>
            <Icon name="up" />
            Previous
          </button>
          <button type="button" className="button small" onClick={() => state.go(1)}>
            <Icon name="down" />
            Next
          </button>
        </>
      )}
      {state.elsewhere > 0 && (
        <button type="button" className="button small" onClick={onAll}>
          {state.elsewhere} more in all events
        </button>
      )}
      {state.parts > 0 && (
        <button
          type="button"
          className="button small"
          aria-disabled={state.isReading || undefined}
          onClick={state.searchParts}
        >
          {state.isReading
            ? "Reading…"
            : `Search ${state.parts === 1 ? "the large event" : `${state.parts} large events`} whole`}
        </button>
      )}
      {state.problem !== null && <span role="alert">{state.problem}</span>}
    </search>
  );
}
