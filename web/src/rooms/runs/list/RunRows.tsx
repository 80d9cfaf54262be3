import { Link } from "wouter";
import type { Progress, Run } from "../../../api/client";
import { Day, Since } from "../../../ui/time";
import { runHref } from "../address";
import { aboutOf, nameOf, tookMs } from "../data/result";
import type { Summary } from "../data/summary";
import { verdictOf } from "../data/verdict";
import { Bar, Counts } from "../parts/Counts";
import { took as inTime } from "../parts/took";
import { VerdictBadge } from "../parts/VerdictBadge";

interface Props {
  runs: readonly Run[];
  summaries: ReadonlyMap<string, Summary | null>;
  chosen: readonly string[];
  choose(id: string): void;
}

export function RunRows({ runs, summaries, chosen, choose }: Props) {
  return (
    <div className="card table-card">
      <table className="runs-table">
        <caption className="visually-hidden">Runs, newest first</caption>
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">Compare</span>
            </th>
            <th scope="col">Run</th>
            <th scope="col">Verdict</th>
            <th scope="col" className="wide">
              Cases
            </th>
            <th scope="col" className="wide">
              Began
            </th>
            <th scope="col" className="wide">
              Took
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <Row
              key={run.id}
              run={run}
              summary={summaries.get(run.id) ?? null}
              chosen={chosen.includes(run.id)}
              full={chosen.length >= 2}
              choose={choose}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  run: Run;
  summary: Summary | null;
  chosen: boolean;
  /** Whether as many are chosen as can be compared. */
  full: boolean;
  choose(id: string): void;
}

function Row({ run, summary, chosen, full, choose }: RowProps) {
  const took = tookMs(run);
  const time = took === null ? <Since at={run.started_at} /> : inTime(took);
  const cases = summary ? <Counts summary={summary} /> : run.progress && <Far progress={run.progress} />;
  return (
    <tr className={chosen ? "chosen" : undefined}>
      <td>
        <input
          type="checkbox"
          checked={chosen}
          disabled={full && !chosen}
          onChange={() => choose(run.id)}
          aria-label={`Compare ${nameOf(run)}, began ${new Date(run.started_at).toLocaleString()}`}
        />
      </td>
      <th scope="row">
        <Link href={runHref(run.id)}>{nameOf(run)}</Link>
        <About run={run} />
        <span className="narrow soft">
          <Day at={run.started_at} /> · {time}
        </span>
        <span className="narrow soft">{cases}</span>
      </th>
      <td>
        <VerdictBadge verdict={verdictOf(run.status)} word={run.status} />
      </td>
      <td className="wide">{cases ?? <span className="soft">…</span>}</td>
      <td className="wide">
        <Day at={run.started_at} />
      </td>
      <td className="wide">{time}</td>
    </tr>
  );
}

/** How far a run is, or was when it was last heard. */
function Far({ progress: { ended, planned } }: { progress: Progress }) {
  return (
    <span className="counts">
      <Bar summary={{ ...ended, not_run: Math.max(0, planned - ended.total) }} />
      <span>
        {ended.total.toLocaleString()} of {planned.toLocaleString()} ended
      </span>
    </span>
  );
}

function About({ run }: { run: Run }) {
  const about = aboutOf(run);
  return about.length > 0 ? <span className="soft block">{about.join(" · ")}</span> : null;
}
