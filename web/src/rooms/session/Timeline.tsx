import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { allEntries, conversation, type Entry } from "../../ledger/entries";
import type { LogView } from "../../ledger/log";
import type { StateView } from "../../ledger/state";
import { Icon } from "../../ui/Icon";
import { Notice } from "../../ui/Notice";
import { useTopOf } from "../../ui/place";
import { dayOf } from "../../ui/time";
import { EntryCard } from "./EntryCard";
import { EventSearch, useEventSearch } from "./EventSearch";
import { Waterfall } from "./Waterfall";

/** How near the end somebody must be for the timeline to move along with what happens. */
const NEAR_END_PX = 160;

interface TimelineProps {
  session: string;
  log: LogView;
  /** What events changed of the state. */
  changes: StateView["changes"];
}

/** With more entries than these, ways to both ends stand above them. */
const MANY = 10;

/** The session's events. Only the rows in view are on the page, however many there are. */
export function Timeline({ session, log, changes }: TimelineProps) {
  const [params] = useSearchParams();
  const [path, go] = useLocation();
  const sought = useSoughtEvent();
  const [folded, setFolded] = useState<ReadonlyMap<number, boolean>>(new Map());
  // Quiet entries are one line until somebody wants to know.
  const [all, setAll] = useState<boolean | null>(null);
  const brief = useMemo(() => conversation(log.events), [log.events]);
  const whole = useMemo(() => allEntries(log.events), [log.events]);
  // A link to an event shows it, even one that is not part of the conversation.
  const hidden = sought !== null && !brief.some((entry) => entry.seq === sought);
  const showsAll = params.get("view") === "all" || (hidden && params.get("view") === null);
  const entries = showsAll ? whole : brief;
  const showsTime = params.get("view") === "durations";
  const shownSeqs = useMemo(() => new Set(entries.map((entry) => entry.seq)), [entries]);
  const search = useEventSearch(session, log.events, shownSeqs);
  const target = search.current ?? sought;

  const show = (view: "all" | "conversation" | "durations") => {
    const next = new URLSearchParams(params);
    next.set("view", view);
    // The event that the address names stays in it.
    go(`${path}?${next}${window.location.hash}`, { replace: true });
  };
  // The same function at every scroll, so that rows which stay as they are need not be drawn again.
  const toggle = useCallback((seq: number, open: boolean) => {
    setFolded((before) => new Map(before).set(seq, open));
  }, []);
  const foldAll = (open: boolean) => {
    setFolded(new Map());
    setAll(open);
  };
  return (
    <section className="timeline" aria-labelledby="timeline-heading">
      <div className="timeline-head">
        <h2 id="timeline-heading">Timeline</h2>
        <fieldset className="segments">
          <legend className="visually-hidden">What to show</legend>
          <Segment label="Conversation" on={!showsAll && !showsTime} onChoose={() => show("conversation")} />
          <Segment label={`All events (${log.events.length})`} on={showsAll} onChoose={() => show("all")} />
          <Segment label="Durations" on={showsTime} onChoose={() => show("durations")} />
        </fieldset>
        {!showsTime && (
          <div className="buttons">
            <button type="button" className="button small" onClick={() => foldAll(true)}>
              Expand all
            </button>
            <button type="button" className="button small" onClick={() => foldAll(false)}>
              Collapse all
            </button>
            {entries.length > MANY && (
              <>
                <button type="button" className="button small" onClick={toTop}>
                  <Icon name="up" />
                  To the top
                </button>
                <button type="button" className="button small" onClick={toEnd}>
                  <Icon name="down" />
                  To the newest
                </button>
              </>
            )}
          </div>
        )}
        {!showsTime && <EventSearch state={search} onAll={() => show("all")} />}
      </div>
      {log.problem !== null && <Notice tone="error">{log.problem}</Notice>}
      {!log.complete && log.problem === null && <p className="soft">Reading the events…</p>}
      {showsTime ? (
        <Waterfall
          events={log.events}
          onGo={(seq) => {
            show("all");
            window.location.hash = `e${seq}`;
          }}
        />
      ) : (
        <Rows
          session={session}
          entries={entries}
          brief={!showsAll}
          known={log.events.length}
          complete={log.complete}
          sought={target}
          changes={changes}
          isOpen={({ seq, kind }) => folded.get(seq) ?? all ?? (kind !== "quiet" || seq === search.current)}
          onToggle={toggle}
        />
      )}
      {entries.length > MANY && !showsTime && (
        <button type="button" className="button small" onClick={toTop}>
          <Icon name="up" />
          Back to the top
        </button>
      )}
    </section>
  );
}

const toTop = () => window.scrollTo({ top: 0 });
const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight });

function Segment({ label, on, onChoose }: { label: string; on: boolean; onChoose(): void }) {
  return (
    <button type="button" className="segment" aria-pressed={on} onClick={onChoose}>
      {label}
    </button>
  );
}

interface RowsProps {
  session: string;
  entries: readonly Entry[];
  brief: boolean;
  /** How many events are known, whether they are shown or not. */
  known: number;
  complete: boolean;
  sought: number | null;
  changes: StateView["changes"];
  isOpen(entry: Entry): boolean;
  onToggle(seq: number, open: boolean): void;
}

function Rows(props: RowsProps) {
  const { session, entries, brief, known, complete, sought, changes, isOpen, onToggle } = props;
  const list = useRef<HTMLOListElement>(null);
  const margin = useTopOf(list);
  const rows = useWindowVirtualizer({
    count: entries.length,
    estimateSize: (index) => (entries[index]?.kind === "quiet" ? 44 : 120),
    getItemKey: (index) => entries[index]?.seq ?? index,
    scrollMargin: margin,
    overscan: 6,
  });

  // A link to an event brings it into view once it is there, and again when what stands above it has grown.
  const shown = useRef({ sought: null as number | null, margin: 0 });
  const moved = useMoves();
  useEffect(() => {
    const isNew = shown.current.sought !== sought;
    if (isNew) moved.current = false;
    if (sought === null || (!isNew && (moved.current || shown.current.margin === margin))) return;
    const index = entries.findIndex((entry) => entry.seq === sought);
    if (index < 0) return;
    shown.current = { sought, margin };
    rows.scrollToIndex(index, { align: "center" });
  }, [sought, entries, rows, margin, moved]);
  useFollowingEnd(known, complete);
  useOpeningAtEnd(complete && sought === null && entries.length > 0, () => {
    if (rows.getTotalSize() > LONG_WINDOWS * window.innerHeight)
      rows.scrollToIndex(entries.length - 1, { align: "end" });
  });

  return (
    <ol ref={list} className="rows" aria-label="Events" style={{ height: rows.getTotalSize() }}>
      {rows.getVirtualItems().map((item) => {
        const entry = entries[item.index];
        if (!entry) return null;
        return (
          <li
            key={item.key}
            ref={rows.measureElement}
            data-index={item.index}
            data-seq={entry.seq}
            data-kind={entry.event.body.type}
            aria-setsize={entries.length}
            aria-posinset={item.index + 1}
            style={{ transform: `translateY(${item.start - margin}px)` }}
          >
            {isNewDay(entries[item.index - 1], entry) && (
              <p className="day-divider soft">{dayOf(entry.event.at)}</p>
            )}
            <EntryCard
              session={session}
              entry={entry}
              brief={brief}
              open={isOpen(entry)}
              sought={entry.seq === sought}
              changes={changes.get(entry.seq)}
              onToggle={onToggle}
            />
          </li>
        );
      })}
    </ol>
  );
}

const isNewDay = (before: Entry | undefined, entry: Entry): boolean =>
  before !== undefined && dayOf(before.event.at) !== dayOf(entry.event.at);

/** What a person does to look at something else. */
const MOVES = ["wheel", "touchmove", "pointerdown", "keydown"] as const;

/** Whether somebody has moved the page since this was last set to false. */
function useMoves(): RefObject<boolean> {
  const moved = useRef(false);
  useEffect(() => {
    const move = () => {
      moved.current = true;
    };
    for (const name of MOVES) window.addEventListener(name, move, { passive: true, capture: true });
    return () => {
      for (const name of MOVES) window.removeEventListener(name, move, { capture: true });
    };
  }, []);
  return moved;
}

/** A timeline of more windows than these opens at its newest entry. */
const LONG_WINDOWS = 2;

/** Brings a long timeline to its end, once, when everything is there and nobody has moved yet. */
function useOpeningAtEnd(ready: boolean, bring: () => void): void {
  const opened = useRef(false);
  const moved = useMoves();
  useEffect(() => {
    if (!ready || opened.current) return;
    opened.current = true;
    if (moved.current || window.location.hash !== "") return;
    // After the room has been brought to its beginning, as every room is.
    requestAnimationFrame(bring);
  });
}

/** Moves along with what happens, for those who look at the end. */
function useFollowingEnd(known: number, complete: boolean): void {
  // Whether the page was brought to the end and nobody has touched it since: rows grow once they are measured.
  const held = useRef(false);
  useEffect(() => {
    let top = window.scrollY;
    const letGo = () => {
      held.current = false;
    };
    const look = () => {
      if (window.scrollY < top) letGo();
      top = window.scrollY;
    };
    window.addEventListener("scroll", look, { passive: true });
    for (const move of MOVES) window.addEventListener(move, letGo, { passive: true, capture: true });
    return () => {
      window.removeEventListener("scroll", look);
      for (const move of MOVES) window.removeEventListener(move, letGo, { capture: true });
    };
  }, []);
  // Reading what there is shows the beginning; only what happens after that is followed.
  const before = useRef({ known, complete });
  const happened = known > before.current.known && before.current.complete;
  // Asked while the new rows are not on the page: once they are, everybody is far from the end.
  const moves = happened && (held.current || isNearEnd());
  useEffect(() => {
    before.current = { known, complete };
    if (!moves) return;
    held.current = true;
    requestAnimationFrame(() => window.scrollTo({ top: document.documentElement.scrollHeight }));
  }, [known, complete, moves]);
}

function isNearEnd(): boolean {
  const left = document.documentElement.scrollHeight - window.innerHeight - window.scrollY;
  return left < NEAR_END_PX;
}

/** The event that the address names: `#e12`. */
function useSoughtEvent(): number | null {
  const [sought, setSought] = useState(soughtEvent);
  useEffect(() => {
    const look = () => setSought(soughtEvent());
    window.addEventListener("hashchange", look);
    return () => window.removeEventListener("hashchange", look);
  }, []);
  return sought;
}

function soughtEvent(): number | null {
  const number = /^#e(\d+)$/.exec(window.location.hash)?.[1];
  return number === undefined ? null : Number(number);
}
