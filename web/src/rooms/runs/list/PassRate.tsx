import { useEffect, useId, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { Day } from "../../../ui/time";
import { runHref } from "../address";
import { inWords, type Point } from "../data/points";
import { counted, percent } from "../data/summary";
import { draw, type Plot } from "./plot";

interface Props {
  points: readonly Point[];
  /** How many runs have counts that are still being read. */
  unread: number;
  joined: boolean;
}

/** Pass rates over time: a plot, what it says in words, and the same as a table. */
export default function PassRate({ points, unread, joined }: Props) {
  const heading = useId();
  const [at, setAt] = useState<number | null>(null);
  const said = useMemo(() => inWords(points), [points]);
  const point = at === null ? points.at(-1) : points[at];
  return (
    <section className="card plot-card" aria-labelledby={heading}>
      <header>
        <h2 id={heading}>Pass rate over time</h2>
        {point && (
          <p className="plot-point soft">
            <Day at={point.at} /> · <Link href={runHref(point.id)}>{point.title}</Link> ·{" "}
            <strong>{percent(point.rate)}</strong> ({point.summary.passed} of {point.summary.total})
          </p>
        )}
      </header>
      {points.length > 1 ? (
        <Canvas points={points} joined={joined} said={said} onPoint={setAt} />
      ) : (
        unread === 0 && (
          <p className="soft">
            {points.length === 1 ? "One run so far: a second one makes it a line." : said}
          </p>
        )
      )}
      {unread > 0 && (
        <p className="soft">
          Reading the counts of {unread.toLocaleString()} more {unread === 1 ? "run" : "runs"} …
        </p>
      )}
      {points.length > 1 && <PointTable points={points} />}
    </section>
  );
}

interface CanvasProps {
  points: readonly Point[];
  joined: boolean;
  said: string;
  onPoint(index: number | null): void;
}

function Canvas({ points, joined, said, onPoint }: CanvasProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const tell = useRef(onPoint);
  tell.current = onPoint;
  useEffect(() => {
    if (!place.current) return;
    plot.current = draw(place.current, points, joined, (index) => tell.current(index));
    return () => plot.current?.end();
  }, [points, joined]);
  return <div ref={place} className="plot" role="img" aria-label={`Pass rates. ${said}`} />;
}

function PointTable({ points }: { points: readonly Point[] }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="soft">The same as a table</summary>
      {open && (
        <div className="scroll">
          <table>
            <caption className="visually-hidden">Pass rates, newest first</caption>
            <thead>
              <tr>
                <th scope="col">Began</th>
                <th scope="col">Run</th>
                <th scope="col">Passed</th>
                <th scope="col">Counts</th>
              </tr>
            </thead>
            <tbody>
              {points.toReversed().map((point) => (
                <tr key={point.id}>
                  <th scope="row">
                    <Day at={point.at} />
                  </th>
                  <td>
                    <Link href={runHref(point.id)}>{point.title}</Link>
                  </td>
                  <td>{percent(point.rate)}</td>
                  <td>{counted(point.summary).join(", ")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
