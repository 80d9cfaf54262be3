import { type ReactNode, useMemo } from "react";
import { Link } from "wouter";
import type { Run } from "../../../api/client";
import { Icon } from "../../../ui/Icon";
import { Notice, ProblemNotice } from "../../../ui/Notice";
import { Day } from "../../../ui/time";
import { useTitle } from "../../../ui/title";
import { useCaseLines } from "../cases";
import { nameOf, type Result, readResult, tookMs } from "../data/result";
import { passRate, percent } from "../data/summary";
import { verdictOf } from "../data/verdict";
import { Counts } from "../parts/Counts";
import { Crumbs } from "../parts/Crumbs";
import { Facts } from "../parts/Facts";
import { took as inTime } from "../parts/took";
import { VerdictBadge } from "../parts/VerdictBadge";
import { useRun, useSource } from "../source";
import { CaseTable } from "./CaseTable";
import { Onwards, Underway } from "./Underway";
import { VariantTable } from "./VariantTable";

/** One run: its counts, and each of its cases. */
export function RunRoom({ id }: { id: string }) {
  const read = useRun(id);
  const result = useMemo(() => (read.data ? readResult(read.data) : null), [read.data]);
  const goesOn = read.data?.status === "running";
  const cases = useCaseLines(id, read.data === undefined || (goesOn && !read.data.gone));
  useTitle(read.data ? nameOf(read.data) : "Run");
  if (!read.data) return <NotYet error={read.error}>Reading the run …</NotYet>;
  return (
    <div className="stack">
      <RunHead run={read.data} result={result} />
      {goesOn && <Underway run={read.data} />}
      {!goesOn && !result && <NoResult run={read.data} />}
      {result?.table && <VariantTable table={result.table} />}
      {cases.problem !== null && <Notice tone="error">{cases.problem}</Notice>}
      {!cases.complete && cases.problem === null && !goesOn && (
        <p className="soft" role="status">
          Reading the cases …
        </p>
      )}
      {(result || cases.lines.length > 0 || goesOn) && (
        // What a run came to that goes on once more is looked at anew.
        <CaseTable run={id} lines={cases.lines} goesOn={goesOn} />
      )}
    </div>
  );
}

export function NotYet({ error, children }: { error: unknown; children: ReactNode }) {
  const { many } = useSource();
  return (
    <div className="stack">
      <h1>Run</h1>
      {error ? <ProblemNotice error={error} /> : <p role="status">{children}</p>}
      {many && (
        <p>
          <Link href="/runs">All runs</Link>
        </p>
      )}
    </div>
  );
}

function RunHead({ run, result }: { run: Run; result: Result | null }) {
  const { many, reportHref } = useSource();
  const report = reportHref(run.id);
  const took = tookMs(run);
  const rate = passRate(result?.summary ?? null);
  return (
    <header className="stack tight">
      {many && (
        <Crumbs
          way={[
            ["Runs", "/runs"],
            [nameOf(run), null],
          ]}
        />
      )}
      <div className="row apart">
        <div className="row">
          <h1>{nameOf(run)}</h1>
          <VerdictBadge verdict={verdictOf(run.status)} word={run.status} />
        </div>
        {report && run.ended_at && (
          <a className="button small" href={report} download>
            <Icon name="export" />
            Download report
          </a>
        )}
      </div>
      {result && (
        <p className="run-counts">
          <Counts summary={result.summary} />
          {rate !== null && <strong>{percent(rate)} passed</strong>}
        </p>
      )}
      <Facts
        facts={[
          ["Began", <Day key="began" at={run.started_at} />],
          ["Took", took === null ? null : inTime(took)],
          ["Suite", run.name ? run.title : null],
          ["Branch", run.branch ?? null],
          ["Commit", run.commit ? <code key="commit">{run.commit.slice(0, 12)}</code> : null],
          ["Model", run.model ?? null],
          ["Seed", result?.seed ? <code key="seed">{result.seed}</code> : null],
          ["EvalSet", result?.eval_set ?? null],
          ["Run", <code key="run">{run.id}</code>],
        ]}
      />
      {result?.interrupted && (
        <Notice tone="warn">
          <p>This run was interrupted: not all of its cases were played to the end.</p>
          <Onwards run={run} />
        </Notice>
      )}
    </header>
  );
}

function NoResult({ run }: { run: Run }) {
  if (run.result) {
    return (
      <Notice tone="warn">
        A newer version of Rehearsal wrote this result, in a form that this page does not know. Its sessions
        can be found among all sessions.
      </Notice>
    );
  }
  return (
    <Notice tone="warn">
      <p>
        This run has no result: it was ended before it could write one. What its cases came to is kept, as far
        as they ended.
      </p>
      <Onwards run={run} />
    </Notice>
  );
}
