import { memo, useEffect, useMemo, useRef } from "react";
import { Link } from "wouter";
import type { Json } from "../../../api/client";
import { oneLine, pretty } from "../../../json/show";
import type { LedgerEvent } from "../../../ledger/event";
import { Icon } from "../../../ui/Icon";
import { Clock } from "../../../ui/time";
import { useTitle } from "../../../ui/title";
import { caseHref, runHref, useAddress } from "../address";
import { readResult } from "../data/result";
import { lineOf } from "../data/transcript";
import { Crumbs } from "../parts/Crumbs";
import type { Report } from "./embedded";
import { ledgerOf, saveAs } from "./ledger";

const PAGE = 200;
const LONGEST = 50_000;

/** A session inside a report: its events in order, the one that the address names in view. */
export function SessionPage({ report, id }: { report: Report; id: string }) {
  const [params] = useAddress();
  const told = report.sessions.find(({ session }) => session.id === id);
  const one = useMemo(
    () => readResult(report.run)?.cases.find(({ sessions }) => sessions.includes(id)),
    [report.run, id],
  );
  const way: [string, string | null][] = [[report.run.title || report.run.id, runHref(report.run.id)]];
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

function Events({
  events,
  wanted,
  session,
}: {
  events: LedgerEvent[];
  wanted: number | null;
  session: string;
}) {
  const at =
    wanted === null
      ? 0
      : Math.max(
          0,
          events.findIndex((event) => event.seq === wanted),
        );
  const first = Math.floor(at / PAGE) * PAGE;
  const shown = events.slice(first, first + PAGE);
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (wanted === null) return;
    place.current?.scrollIntoView({ block: "center" });
    place.current?.focus({ preventScroll: true });
  }, [wanted]);
  const to = (index: number) => `/sessions/${encodeURIComponent(session)}?e=${events[index]?.seq}`;
  const pages = (
    <nav className="buttons" aria-label="More events">
      {first > 0 && <Link href={to(first - PAGE)}>Earlier events</Link>}
      <span className="soft">
        {events.length === 0
          ? "no events"
          : `${first + 1} to ${first + shown.length} of ${events.length} events`}
      </span>
      {first + PAGE < events.length && <Link href={to(first + PAGE)}>Later events</Link>}
    </nav>
  );
  return (
    <>
      {pages}
      <ol className="card transcript events">
        {shown.map((event) => {
          const here = event.seq === wanted;
          return (
            <li
              key={event.seq}
              id={`e${event.seq}`}
              ref={here ? place : undefined}
              tabIndex={here ? -1 : undefined}
              className={`${lineOf(event)?.kind ?? "other"}${here ? " marked" : ""}`}
            >
              <Link
                href={`/sessions/${encodeURIComponent(session)}?e=${event.seq}`}
                aria-label={`Event ${event.seq}`}
              >
                {event.seq}
              </Link>
              <EventLine event={event} />
            </li>
          );
        })}
      </ol>
      {events.length > PAGE && pages}
    </>
  );
}

const EventLine = memo(function EventLine({ event }: { event: LedgerEvent }) {
  const line = lineOf(event);
  const kind = event.body?.type ?? "event";
  const whole = pretty(event.body);
  return (
    <div className="line">
      <span className="row soft event-head">
        <Clock at={event.at} />
        <span>{kind.replaceAll("_", " ")}</span>
        <span>{event.author}</span>
      </span>
      {line && (
        <div>
          <strong>{line.who}</strong> {line.text}
        </div>
      )}
      <details className="run-value">
        <summary className="soft">
          {line ? "As it was written" : <code>{oneLine((event.body ?? null) as unknown as Json)}</code>}
        </summary>
        <pre>{whole.slice(0, LONGEST)}</pre>
        {whole.length > LONGEST && <p>… and {(whole.length - LONGEST).toLocaleString()} more characters.</p>}
      </details>
    </div>
  );
});
