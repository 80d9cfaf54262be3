import { type ReactNode, useMemo, useState } from "react";
import { Link } from "wouter";
import type { Run } from "../../../api/client";
import { ProblemNotice } from "../../../ui/Notice";
import { Day } from "../../../ui/time";
import { useTitle } from "../../../ui/title";
import { compareHref, runHref, useAddress } from "../address";
import { useCaseLines } from "../cases";
import { type Comparison, compare } from "../data/compare";
import { aboutOf, nameOf, numbered, readResult, tookMs } from "../data/result";
import { passRate, percent, summaryOf } from "../data/summary";
import { verdictOf } from "../data/verdict";
import { Counts } from "../parts/Counts";
import { Crumbs } from "../parts/Crumbs";
import { took as inTime } from "../parts/took";
import { VerdictBadge } from "../parts/VerdictBadge";
import { useRunResult } from "../source";
import { OnlyTable, PairTable } from "./Pairs";

/** Two runs side by side: what changed from the one to the other. */
export function CompareRoom() {
  useTitle("Two runs");
  const [params] = useAddress();
  const [a, b] = [params.get("a") ?? "", params.get("b") ?? ""];
  const [before, after] = [useRunResult(a), useRunResult(b)];
  const [then, now] = [useCaseLines(a, false), useCaseLines(b, false)];
  const changed = useMemo(() => {
    if (!before.data || !after.data || !then.complete || !now.complete) return null;
    const cases = (run: Run, known: typeof then) => numbered(readResult(run)?.cases ?? [], known.lines);
    return compare(cases(before.data, then), cases(after.data, now));
  }, [before.data, after.data, then, now]);
  const error = before.error ?? after.error;
  return (
    <div className="stack">
      <Crumbs
        way={[
          ["Runs", "/runs"],
          ["Compare", null],
        ]}
      />
      <div className="page-head">
        <h1>Two runs side by side</h1>
        {a && b && (
          <Link className="button small" href={compareHref(b, a)}>
            Swap them
          </Link>
        )}
      </div>
      {(!a || !b) && (
        <p>
          Choose two runs in <Link href="/runs">the list of runs</Link>.
        </p>
      )}
      {error && <ProblemNotice error={error} />}
      {a && b && !error && !changed && <p role="status">Reading both runs …</p>}
      {before.data && after.data && changed && (
        <>
          <div className="sides">
            <Side label="Before" run={before.data} />
            <Side label="After" run={after.data} />
          </div>
          <Changes changed={changed} before={before.data} after={after.data} />
        </>
      )}
    </div>
  );
}

function Side({ label, run }: { label: string; run: Run }) {
  const summary = summaryOf(run);
  const rate = passRate(summary);
  const took = tookMs(run);
  return (
    <section className="card stack tight" aria-label={label}>
      <div className="row apart">
        <h2>
          {label}: <Link href={runHref(run.id)}>{nameOf(run)}</Link>
        </h2>
        <VerdictBadge verdict={verdictOf(run.status)} word={run.status} />
      </div>
      <p className="soft">
        <Day at={run.started_at} />
        {took !== null && ` · ${inTime(took)}`}
        {rate !== null && ` · ${percent(rate)} passed`}
        {aboutOf(run).map((text) => ` · ${text}`)}
      </p>
      {summary && <Counts summary={summary} />}
    </section>
  );
}

function Changes({ changed, before, after }: { changed: Comparison; before: Run; after: Run }) {
  const ids = { before: before.id, after: after.id };
  const unmatched = changed.onlyBefore.length + changed.onlyAfter.length;
  const counts: [number, string][] = [
    [changed.broken.length, "newly not passing"],
    [changed.fixed.length, "newly passing"],
    [changed.shifted.length, "with another verdict"],
    [changed.moved.length, "changed otherwise"],
    [unmatched, "in one run only"],
    [changed.same.length, "the same"],
  ];
  const told = counts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count.toLocaleString()} ${what}`);
  const nothing = told.length === 1 && changed.same.length > 0;
  return (
    <>
      <p role="status">
        <strong>
          {nothing
            ? "Nothing changed."
            : told.length === 0
              ? "Neither run has cases."
              : `${told.join(", ")}.`}
        </strong>
      </p>
      <Part title="Newly not passing" count={changed.broken.length}>
        <PairTable pairs={changed.broken} {...ids} caption="Passed before and does not now" />
      </Part>
      <Part title="Newly passing" count={changed.fixed.length}>
        <PairTable pairs={changed.fixed} {...ids} caption="Passes now and did not before" />
      </Part>
      <Part title="Another verdict" count={changed.shifted.length}>
        <PairTable pairs={changed.shifted} {...ids} caption="Not passed in either, for another reason" />
      </Part>
      <Part title="Scores, evaluations and durations" count={changed.moved.length}>
        <PairTable pairs={changed.moved} {...ids} caption="The same verdict, and something else changed" />
      </Part>
      <Part title="Only before" count={changed.onlyBefore.length}>
        <OnlyTable cases={changed.onlyBefore} run={before.id} caption="Cases that only the earlier run has" />
      </Part>
      <Part title="Only after" count={changed.onlyAfter.length}>
        <OnlyTable cases={changed.onlyAfter} run={after.id} caption="Cases that only the later run has" />
      </Part>
      <Folded title="The same in both" count={changed.same.length}>
        <PairTable pairs={changed.same} {...ids} caption="The same in both runs" />
      </Folded>
    </>
  );
}

function Part({ title, count, children }: { title: string; count: number; children: ReactNode }) {
  if (count === 0) return null;
  return (
    <section className="stack tight" aria-label={title}>
      <h2>
        {title} <span className="soft">({count.toLocaleString()})</span>
      </h2>
      {children}
    </section>
  );
}

/** What nobody asked to see is not drawn either. */
function Folded({ title, count, children }: { title: string; count: number; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  if (count === 0) return null;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2 className="inline">{title}</h2> <span className="soft">({count.toLocaleString()})</span>
      </summary>
      {open && children}
    </details>
  );
}
