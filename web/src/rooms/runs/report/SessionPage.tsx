import { type MouseEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { allEntries, conversation, type Entry } from "../../../ledger/entries";
import type { LedgerEvent } from "../../../ledger/event";
import { type StateView, stateOf } from "../../../ledger/state";
import { Icon } from "../../../ui/Icon";
import { useTitle } from "../../../ui/title";
import { EntryCard } from "../../session/EntryCard";
import { caseHref, runHref, useAddress } from "../address";
import { nameOf, readResult } from "../data/result";
import { Crumbs } from "../parts/Crumbs";
import type { Report } from "./embedded";
import { ledgerOf, saveAs } from "./ledger";

const PAGE = 200;

/** A session inside a report: its entries as the page shows them, the one that the address names in view. */
export function SessionPage({ report, id }: { report: Report; id: string }) {
  const [params] = useAddress();
  const told = report.sessions.find(({ session }) => session.id === id);
  const one = useMemo(
    () => readResult(report.run)?.cases.find(({ sessions }) => sessions.includes(id)),
    [report.run, id],
  );
  const way: [string, string | null][] = [[nameOf(report.run), runHref(report.run.id)]];
  if (one) way.push([one.name, caseHref(report.run.id, one.n)]);
  const title = told ? `Session of ${told.session.description || told.session.agent || id}` : "Session";
  useTitle(title);
  return (
    <div className="stack">
      <Crumbs way={[...way, [`Session (${told?.session.part ?? "?"})`, null]]} />
      <div className="page-head">
        <h1>{title}</h1>
        {told && told.events.length > 0 && <Ledger session={id} events={told.events} />}
      </div>
      {told ? (
        <Events key={id} events={told.events} wanted={Number(params.get("e")) || null} session={id} />
      ) : (
        <p>The events of this session are not in this report.</p>
      )}
    </div>
  );
}

/** The session's ledger as a file, as far as it is in this report. */
function Ledger({ session, events }: { session: string; events: LedgerEvent[] }) {
  const isCut = useMemo(() => events.some((event) => event.truncated), [events]);
  return (
    <div className="row">
      {isCut && <span className="soft">Large values were cut for this report.</span>}
      <button
        type="button"
        className="button small"
        onClick={() => saveAs(`${session}.jsonl`, ledgerOf(events))}
      >
        <Icon name="export" />
        Save the ledger
      </button>
    </div>
  );
}

interface EventsProps {
  events: LedgerEvent[];
  wanted: number | null;
  session: string;
}

/** A page of the session's timeline, as the page of the server shows it. */
function Events({ events, wanted, session }: EventsProps) {
  const [params] = useAddress();
  const { changes } = useMemo(() => stateOf(events), [events]);
  const brief = useMemo(() => conversation(events), [events]);
  const whole = useMemo(() => allEntries(events), [events]);
  const hidden = wanted !== null && !brief.some(({ seq }) => seq === wanted);
  const view = params.get("view") ?? (hidden ? "all" : "conversation");
  const entries = view === "all" ? whole : brief;
  const found = entries.findIndex(({ seq }) => seq === wanted);
  const first = Math.floor(Math.max(0, found) / PAGE) * PAGE;
  const shown = entries.slice(first, first + PAGE);
  const href = (seq: number | undefined, of = view) =>
    `/sessions/${encodeURIComponent(session)}?view=${of}${seq === undefined ? "" : `&e=${seq}`}`;
  const pages = (
    <nav className="buttons" aria-label="More events">
      {first > 0 && <Link href={href(entries[first - PAGE]?.seq)}>Earlier events</Link>}
      <span className="soft">
        {entries.length === 0
          ? "no events"
          : `${first + 1} to ${first + shown.length} of ${entries.length} ${view === "all" ? "events" : "entries"}`}
      </span>
      {first + PAGE < entries.length && <Link href={href(entries[first + PAGE]?.seq)}>Later events</Link>}
    </nav>
  );
  return (
    <>
      <div className="row apart">
        {pages}
        <nav className="segments" aria-label="What to show">
          <Segment href={href(undefined, "conversation")} on={view !== "all"} label="Conversation" />
          <Segment href={href(undefined, "all")} on={view === "all"} label={`All events (${whole.length})`} />
        </nav>
      </div>
      <Cards
        entries={shown}
        changes={changes}
        wanted={wanted}
        session={session}
        brief={view !== "all"}
        href={href}
      />
      {entries.length > PAGE && pages}
    </>
  );
}

function Segment({ href, on, label }: { href: string; on: boolean; label: string }) {
  return (
    <Link className="segment" href={href} aria-current={on ? "true" : undefined}>
      {label}
    </Link>
  );
}

interface CardsProps {
  entries: readonly Entry[];
  changes: StateView["changes"];
  wanted: number | null;
  session: string;
  brief: boolean;
  href(seq: number): string;
}

function Cards({ entries, changes, wanted, session, brief, href }: CardsProps) {
  const [, go] = useLocation();
  const [folded, setFolded] = useState<ReadonlyMap<number, boolean>>(new Map());
  const toggle = useCallback((seq: number, open: boolean) => {
    setFolded((before) => new Map(before).set(seq, open));
  }, []);
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (wanted === null) return;
    place.current?.scrollIntoView({ block: "center" });
    place.current?.focus({ preventScroll: true });
  }, [wanted]);
  // A card names its event by the part of the address that tells a report which room is open.
  const follow = (event: MouseEvent) => {
    const link = (event.target as Element).closest("a[href^='#e']");
    const seq = /^#e(\d+)$/.exec(link?.getAttribute("href") ?? "")?.[1];
    if (seq === undefined) return;
    event.preventDefault();
    go(href(Number(seq)));
  };
  return (
    <ol className="report-cards" aria-label="Events" onClickCapture={follow}>
      {entries.map((entry) => {
        const here = entry.seq === wanted;
        return (
          <li key={entry.seq} ref={here ? place : undefined} tabIndex={here ? -1 : undefined}>
            <EntryCard
              session={session}
              entry={offline(entry)}
              brief={brief}
              open={folded.get(entry.seq) ?? (here || entry.kind !== "quiet")}
              sought={here}
              changes={changes.get(entry.seq)}
              onToggle={toggle}
            />
          </li>
        );
      })}
    </ol>
  );
}

/** An entry that asks nothing of a server: what is not in the report cannot be shown. */
function offline(entry: Entry): Entry {
  const { turn: _turn, truncated: _cut, ...event } = entry.event;
  return { ...entry, event };
}
