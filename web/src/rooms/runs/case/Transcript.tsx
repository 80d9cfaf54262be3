import { useMemo } from "react";
import { Link } from "wouter";
import { ProblemNotice } from "../../../ui/Notice";
import { linesOf } from "../data/transcript";
import { MoreButton, useMore } from "../parts/More";
import { useSource, useTranscript } from "../source";

const ROWS = 200;

/** What was said and done, with what the evaluations point at marked. */
export function Transcript({ session, marked }: { session: string; marked: ReadonlySet<number> }) {
  const source = useSource();
  const read = useTranscript(session);
  const lines = useMemo(() => linesOf(read.data?.events ?? []), [read.data]);
  const { shown, left, more } = useMore(lines, ROWS);
  return (
    <section className="card stack tight" aria-labelledby="transcript">
      <h2 id="transcript">Transcript</h2>
      {read.isPending && <p className="soft">Reading what was said …</p>}
      {read.error && <ProblemNotice error={read.error} />}
      {read.data && lines.length === 0 && <p className="soft">Nothing was said.</p>}
      <ol className="transcript">
        {shown.map((line) => (
          <li key={line.seq} className={marked.has(line.seq) ? `${line.kind} marked` : line.kind}>
            <Link href={source.sessionHref(session, line.seq)} aria-label={`Event ${line.seq}`}>
              {line.seq}
            </Link>
            <div className="line">
              <strong>{line.who}</strong> <span>{line.text}</span>
              {marked.has(line.seq) && <span className="mark soft">an evaluation points here</span>}
            </div>
          </li>
        ))}
      </ol>
      <MoreButton left={left} more={more} what="lines" />
      {read.data && !read.data.complete && (
        <p className="soft">
          This session is long. <Link href={source.sessionHref(session)}>All of its events</Link> are in its
          own room.
        </p>
      )}
    </section>
  );
}
