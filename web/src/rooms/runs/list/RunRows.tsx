import { Link } from "wouter";
import type { Run } from "../../../api/client";
import { Day, Since } from "../../../ui/time";
import { runHref } from "../address";
import { tookMs } from "../data/result";
import type { Summary } from "../data/summary";
import { verdictOf } from "../data/verdict";
import { Counts } from "../parts/Counts";
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
  choose(id: string): void;
}

function Row({ run, summary, chosen, choose }: RowProps) {
  const took = tookMs(run);
  const time = took === null ? <Since at={run.started_at} /> : inTime(took);
  return (
    <tr className={chosen ? "chosen" : undefined}>
      <td>
        <input
          type="checkbox"
          checked={chosen}
          onChange={() => choose(run.id)}
          aria-label={`Compare ${run.title}, began ${new Date(run.started_at).toLocaleString()}`}
        />
      </td>
      <th scope="row">
        <Link href={runHref(run.id)}>{run.title || run.id}</Link>
        <span className="narrow soft">
          <Day at={run.started_at} /> · {time}
        </span>
        <span className="narrow soft">{summary && <Counts summary={summary} />}</span>
      </th>
      <td>
        <VerdictBadge verdict={verdictOf(run.status)} word={run.status} />
      </td>
      <td className="wide">{summary ? <Counts summary={summary} /> : <span className="soft">…</span>}</td>
      <td className="wide">
        <Day at={run.started_at} />
      </td>
      <td className="wide">{time}</td>
    </tr>
  );
}
