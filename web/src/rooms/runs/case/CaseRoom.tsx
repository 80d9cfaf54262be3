import { useMemo } from "react";
import { Link } from "wouter";
import type { Run } from "../../../api/client";
import { Command } from "../../../ui/Copy";
import { Notice } from "../../../ui/Notice";
import { useTitle } from "../../../ui/title";
import { caseHref, runHref } from "../address";
import { again, type Case, checksOf, metricsOf, terminatedBy } from "../data/case";
import { eventsOf } from "../data/check";
import { failuresAround, nameOf, readResult } from "../data/result";
import { Crumbs } from "../parts/Crumbs";
import { Facts } from "../parts/Facts";
import { took as inTime } from "../parts/took";
import { VerdictBadge } from "../parts/VerdictBadge";
import { NotYet } from "../run/RunRoom";
import { useCaseSessions, useRunResult, useSource } from "../source";
import { CaseSessions } from "./CaseSessions";
import { Checks } from "./Checks";
import { Mocks } from "./Mocks";
import { Steps } from "./Steps";
import { TokenTable } from "./TokenTable";
import { Transcript } from "./Transcript";

/** One case of a run: what it came to, and why. */
export function CaseRoom({ id, n }: { id: string; n: number }) {
  const read = useRunResult(id);
  const result = useMemo(() => (read.data ? readResult(read.data) : null), [read.data]);
  const one = result?.cases[n - 1];
  useTitle(one ? `${one.name}${one.repeat > 0 ? ` #${one.repeat + 1}` : ""}` : "Case");
  if (!read.data) return <NotYet error={read.error}>Reading the run …</NotYet>;
  if (!one) {
    return (
      <div className="stack">
        <h1>There is no such case</h1>
        <p>
          This run has {result?.cases.length ?? 0} cases. <Link href={runHref(id)}>See them</Link>.
        </p>
      </div>
    );
  }
  return <OneCase run={read.data} one={one} cases={result?.cases ?? []} />;
}

interface CaseProps {
  run: Run;
  one: Case;
  cases: readonly Case[];
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
  const { at, count, before, after } = failuresAround(cases, one.n);
  return (
    <nav aria-label="Other cases" className="buttons">
      {one.n > 1 && <Link href={caseHref(run.id, one.n - 1)}>Previous</Link>}
      <span className="soft">
        {one.n} of {cases.length}
      </span>
      {one.n < cases.length && <Link href={caseHref(run.id, one.n + 1)}>Next</Link>}
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
