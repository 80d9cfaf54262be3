import { useMemo } from "react";
import { Link } from "wouter";
import { Problem, type Run } from "../../../api/client";
import { Command } from "../../../ui/Copy";
import { Notice } from "../../../ui/Notice";
import { useTitle } from "../../../ui/title";
import { caseHref, runHref } from "../address";
import { useCaseLines } from "../cases";
import {
  again,
  type Case,
  caseOf,
  checksOf,
  inOrder,
  metricsOf,
  type Told,
  terminatedBy,
} from "../data/case";
import { eventsOf } from "../data/check";
import { failuresAround, nameOf } from "../data/result";
import { Crumbs } from "../parts/Crumbs";
import { Facts } from "../parts/Facts";
import { took as inTime } from "../parts/took";
import { VerdictBadge } from "../parts/VerdictBadge";
import { NotYet } from "../run/RunRoom";
import { useCase, useCaseSessions, useRun, useSource } from "../source";
import { CaseSessions } from "./CaseSessions";
import { Checks } from "./Checks";
import { Mocks } from "./Mocks";
import { Steps } from "./Steps";
import { TokenTable } from "./TokenTable";
import { Transcript } from "./Transcript";

/** One case of a run: what it came to, and why. */
export function CaseRoom({ id, n }: { id: string; n: number }) {
  const run = useRun(id);
  const read = useCase(id, n - 1);
  const one = useMemo(() => (read.data ? caseOf(read.data, n - 1) : null), [read.data, n]);
  const { lines } = useCaseLines(id, run.data?.status === "running");
  const cases = useMemo(() => lines.toSorted(inOrder), [lines]);
  useTitle(one ? `${one.name}${one.repeat > 0 ? ` #${one.repeat + 1}` : ""}` : "Case");
  if (run.data && read.error instanceof Problem && read.error.status < 500) {
    return (
      <div className="stack">
        <h1>There is no such case</h1>
        <p>
          {cases.length.toLocaleString()} cases of this run have ended.{" "}
          <Link href={runHref(id)}>See them</Link>.
        </p>
      </div>
    );
  }
  if (!run.data || !one) return <NotYet error={run.error ?? read.error}>Reading the case …</NotYet>;
  return <OneCase run={run.data} one={one} cases={cases} />;
}

interface CaseProps {
  run: Run;
  one: Case;
  /** All that have ended, in the order of the suite. */
  cases: readonly Told[];
}

function OneCase({ run, one, cases }: CaseProps) {
  const sessions = useCaseSessions(one.sessions);
  // Evidence points at the ledger of the agent's own session. It comes first, but the session itself knows best.
  const main = sessions.find(({ data }) => data?.part === "main")?.data?.id ?? one.sessions[0] ?? null;
  const marked = useMemo(() => eventsOf(checksOf(one)), [one]);
  const metrics = useMemo(() => metricsOf(one), [one]);
  const command = again(one);
  return (
    <div className="stack">
      <CaseHead run={run} one={one} cases={cases} />
      <Reasons one={one} />
      <div className="case-columns">
        <div className="stack">
          {one.steps.length > 0 && <Steps steps={one.steps} session={main} />}
          {metrics.length > 0 && (
            <section aria-labelledby="metrics" className="stack tight">
              <h2 id="metrics">Metrics</h2>
              <Checks checks={metrics} session={main} />
            </section>
          )}
          <Mocks mocks={one.mocks} session={main} />
        </div>
        <div className="stack">
          {main && <Transcript session={main} marked={marked} />}
          <CaseSessions ids={one.sessions} sessions={sessions} />
          <TokenTable usage={one.token_usage} />
          <section className="card stack tight" aria-labelledby="again">
            <h2 id="again">Again</h2>
            {command && <p className="soft">This command plays exactly this run of it again.</p>}
            {command ? <Command text={command} /> : <p>Seed {one.seed}</p>}
          </section>
        </div>
      </div>
    </div>
  );
}

function CaseHead({ run, one, cases }: CaseProps) {
  const { many } = useSource();
  const up: [string, string | null] = [nameOf(run), runHref(run.id)];
  const way: [string, string | null][] = many ? [["Runs", "/runs"], up] : [up];
  const repeat = one.repeat > 0 ? ` #${one.repeat + 1}` : "";
  return (
    <header className="stack tight">
      <div className="row apart">
        <Crumbs way={[...way, [`${one.name}${repeat}`, null]]} />
        <OtherCases run={run} one={one} cases={cases} />
      </div>
      <div className="row">
        <h1>
          {one.name}
          {repeat}
        </h1>
        <VerdictBadge verdict={one.verdict} />
      </div>
      {one.description && <p>{one.description}</p>}
      <Facts
        facts={[
          ["File", one.file && <code>{one.file}</code>],
          ["Took", inTime(one.duration_ms)],
          ["Seed", <code key="seed">{one.seed}</code>],
          ["Tags", one.tags?.join(", ") ?? null],
          ["Folder", one.folder && <code>{one.folder}</code>],
        ]}
      />
    </header>
  );
}

/** The way to the cases beside it, and to those that did not pass. */
function OtherCases({ run, one, cases }: CaseProps) {
  const { at, count, before, after } = useMemo(() => failuresAround(cases, one.n), [cases, one.n]);
  const here = cases.findIndex(({ n }) => n === one.n);
  const [previous, next] = [cases[here - 1], here < 0 ? undefined : cases[here + 1]];
  return (
    <nav aria-label="Other cases" className="buttons">
      {previous && <Link href={caseHref(run.id, previous.n)}>Previous</Link>}
      {here >= 0 && (
        <span className="soft">
          {here + 1} of {cases.length}
        </span>
      )}
      {next && <Link href={caseHref(run.id, next.n)}>Next</Link>}
      {(before !== null || after !== null) && (
        <span className="row failures">
          {before !== null && <Link href={caseHref(run.id, before)}>Previous failure</Link>}
          {at !== null && (
            <span className="soft">
              failure {at} of {count}
            </span>
          )}
          {after !== null && <Link href={caseHref(run.id, after)}>Next failure</Link>}
        </span>
      )}
    </nav>
  );
}

/** Why it came to that, beside what its evaluations say. */
function Reasons({ one }: { one: Case }) {
  const part = one.error?.phase ? ` (${one.error.phase.replaceAll("_", " ")})` : "";
  return (
    <>
      {one.error && (
        <Notice tone="error">
          <strong>Error{part}</strong>
          <pre>{one.error.message}</pre>
        </Notice>
      )}
      {one.verdict === "terminated" && (
        <Notice tone="warn">Stopped before its end: {terminatedBy(one) ?? "a limit was reached"}.</Notice>
      )}
      {one.verdict === "unjudged" && (
        <Notice tone="warn">
          Nothing was asked of it, so nobody can say that it passed. Add <code>evaluations</code> to a step.
        </Notice>
      )}
      {one.verdict === "unknown" && (
        <Notice tone="warn">
          This result has a verdict that this page does not know. It is not taken for a pass.
        </Notice>
      )}
    </>
  );
}
