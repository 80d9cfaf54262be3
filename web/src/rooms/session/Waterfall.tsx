import { useMemo, useState } from "react";
import type { LedgerEvent } from "../../ledger/event";
import { type Span, spansOf } from "../../ledger/spans";
import { duration } from "../../ui/time";

/** So many bars are on the page at a time. */
const SHOWN = 200;

/** How long each decision and each call took, and when: one bar each, on the session's time. */
export function Waterfall({ events, onGo }: { events: readonly LedgerEvent[]; onGo(seq: number): void }) {
  const spans = useMemo(() => spansOf(events), [events]);
  const [from, setFrom] = useState<number | null>(null);
  const first = Math.max(0, from ?? spans.length - SHOWN);
  const shown = spans.slice(first, first + SHOWN);
  const until = Date.parse(events.at(-1)?.at ?? "");
  const begin = shown[0]?.begin ?? 0;
  const end = shown.reduce((latest, span) => Math.max(latest, span.end ?? until), begin + 1);
  if (spans.length === 0) return <p className="soft">Nothing has been decided or called yet.</p>;
  return (
    <div className="stack tight">
      {first > 0 && (
        <button
          type="button"
          className="button small start-self"
          onClick={() => setFrom(Math.max(0, first - SHOWN))}
        >
          {Math.min(SHOWN, first)} earlier of {first}
        </button>
      )}
      <ol className="waterfall" aria-label="Durations">
        {shown.map((span) => (
          <Bar key={span.seq} span={span} begin={begin} length={end - begin} until={until} onGo={onGo} />
        ))}
      </ol>
      {first + SHOWN < spans.length && (
        <button type="button" className="button small start-self" onClick={() => setFrom(first + SHOWN)}>
          Later ones
        </button>
      )}
    </div>
  );
}

interface BarProps {
  span: Span;
  begin: number;
  length: number;
  until: number;
  onGo(seq: number): void;
}

function Bar({ span, begin, length, until, onGo }: BarProps) {
  const took = (span.end ?? until) - span.begin;
  const part = (ms: number) => `${Math.min(100, Math.max(0, (ms / length) * 100))}%`;
  return (
    <li className={`waterfall-row ${span.kind}${span.failed ? " failed" : ""}`}>
      <button type="button" className="button plain small mono clip" onClick={() => onGo(span.seq)}>
        {span.kind === "model" ? `${span.name} decides` : span.name}
      </button>
      <span className="waterfall-line" aria-hidden="true">
        <span className="waterfall-bar" style={{ marginLeft: part(span.begin - begin), width: part(took) }} />
      </span>
      <span className="soft">
        {span.end === null ? "goes on" : duration(took)}
        {span.failed && ", failed"}
      </span>
    </li>
  );
}
