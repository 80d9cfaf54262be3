import { type ComponentProps, lazy, Suspense, useEffect, useMemo, useState } from "react";
import { Link } from "wouter";
import type { Run } from "../../../api/client";
import { Boundary } from "../../../ui/Boundary";
import { Command } from "../../../ui/Copy";
import { Notice, ProblemNotice } from "../../../ui/Notice";
import { useTitle } from "../../../ui/title";
import { compareHref, useAddress } from "../address";
import { pointsOf } from "../data/points";
import { MoreButton, useMore } from "../parts/More";
import { useRunList } from "../source";
import { useSummaries } from "../summaries";
import { RunRows } from "./RunRows";

// The plotting library is only fetched by those who look at plots.
const loadPlot = () => lazy(() => import("./PassRate"));

const ROWS = 50;

/** Runs, newest first, and how their pass rates went. */
export function RunList() {
  useTitle("Runs");
  const [params] = useAddress();
  const sought = params.get("q") ?? "";
  const read = useRunList(sought);
  const runs = useMemo(() => read.data?.pages.flatMap((page) => page.runs) ?? [], [read.data]);
  if (read.error && runs.length === 0) {
    return (
      <div className="stack">
        <h1>Runs</h1>
        <ProblemNotice error={read.error} />
      </div>
    );
  }
  if (read.isPending) return <Waiting />;
  if (runs.length === 0 && sought === "" && !read.isPlaceholderData) return <NoRuns />;
  return (
    <Listed
      runs={runs}
      older={read.hasNextPage ? () => void read.fetchNextPage() : null}
      reading={read.isFetchingNextPage}
    />
  );
}

/** How long to wait for another letter before searching. */
const PAUSE_MS = 200;

function RunSearch() {
  const [params, change] = useAddress();
  const sought = params.get("q") ?? "";
  const [text, setText] = useState(sought);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts a search
  useEffect(() => {
    if (text === sought) return;
    const timer = setTimeout(() => change({ q: text || null }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label>
      <span className="visually-hidden">Search runs by name, suite, commit, branch or model</span>
      <input
        type="search"
        placeholder="Name, commit, branch, model"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </label>
  );
}

function Waiting() {
  return (
    <>
      <h1>Runs</h1>
      <p className="soft" role="status">
        Reading the runs …
      </p>
    </>
  );
}

function NoRuns() {
  return (
    <div className="stack runs-empty">
      <h1>Runs</h1>
      <section className="card stack tight" aria-labelledby="no-runs">
        <h2 id="no-runs">No run has been kept yet</h2>
        <p>
          A run plays scenarios and judges what came of them. Start one in the folder in which this server was
          started, and it appears here:
        </p>
        <Command text="rehearse run examples" />
        <p className="soft">
          No scenario yet? <code>rehearse init</code> writes a first one.
        </p>
      </section>
    </div>
  );
}

function Listed({ runs, older, reading }: { runs: Run[]; older: (() => void) | null; reading: boolean }) {
  const [params, change] = useAddress();
  const titles = useMemo(() => [...new Set(runs.map((run) => run.title))].sort(), [runs]);
  const asked = params.get("suite") ?? "";
  const suite = titles.includes(asked) ? asked : "";
  const fitting = useMemo(() => (suite ? runs.filter((run) => run.title === suite) : runs), [runs, suite]);
  const summaries = useSummaries(fitting);
  const unread = fitting.filter((run) => run.status !== "running" && !summaries.has(run.id)).length;
  const points = useMemo(() => pointsOf(fitting, (id) => summaries.get(id)), [fitting, summaries]);
  const { shown, left, more } = useMore(fitting, ROWS);
  const chosen = [params.get("a"), params.get("b")].filter((id): id is string => Boolean(id));
  const choose = (id: string) => {
    const next = chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id];
    if (next.length > 2) return;
    change({ a: next[0] ?? null, b: next[1] ?? null });
  };
  return (
    <div className="stack">
      <div className="page-head">
        <h1>Runs</h1>
        <search className="row">
          <RunSearch />
          {titles.length > 1 && (
            <label className="row suite">
              Suite
              <select value={suite} onChange={(event) => change({ suite: event.target.value || null })}>
                <option value="">all suites</option>
                {titles.map((title) => (
                  <option key={title}>{title}</option>
                ))}
              </select>
            </label>
          )}
        </search>
      </div>
      {runs.length === 0 && <p role="status">No run is like that.</p>}
      <Plot points={points} unread={unread} joined={suite !== "" || titles.length === 1} />
      <CompareBar chosen={chosen} runs={runs} clear={() => change({ a: null, b: null })} />
      <RunRows runs={shown} summaries={summaries} chosen={chosen} choose={choose} />
      <div className="buttons">
        <MoreButton left={left} more={more} what="runs" />
        {older && left === 0 && (
          <button type="button" className="button small" disabled={reading} onClick={older}>
            {reading ? "Reading older runs …" : "Show older runs"}
          </button>
        )}
      </div>
    </div>
  );
}

type PlotProps = ComponentProps<ReturnType<typeof loadPlot>>;

/** The plot, once its library is here. Without it, the runs are here all the same. */
function Plot(props: PlotProps) {
  // What could not be loaded once stays so for React; another try needs another one.
  const [PassRate, setPassRate] = useState(loadPlot);
  const [tries, setTries] = useState(0);
  const missing = (again: () => void) => (
    <Notice tone="warn">
      <p>
        The plot could not be loaded.
        {tries > 0 && " The server may have been replaced by another version since this page was opened."}
      </p>
      <div className="buttons">
        <button
          type="button"
          className="button small"
          onClick={() => {
            setPassRate(loadPlot);
            setTries(tries + 1);
            again();
          }}
        >
          Try again
        </button>
        {tries > 0 && (
          <button type="button" className="button small" onClick={() => window.location.reload()}>
            Reload the page
          </button>
        )}
      </div>
    </Notice>
  );
  return (
    <Boundary of="plot" instead={missing}>
      <Suspense fallback={<div className="card plot-card" />}>
        <PassRate {...props} />
      </Suspense>
    </Boundary>
  );
}

function CompareBar({ chosen, runs, clear }: { chosen: string[]; runs: readonly Run[]; clear(): void }) {
  const since = (id: string) => Date.parse(runs.find((run) => run.id === id)?.started_at ?? "") || 0;
  const [before, after] = chosen.toSorted((a, b) => since(a) - since(b));
  return (
    <div className="compare-bar row" role="status">
      {before && after ? (
        <>
          <Link className="button primary small" href={compareHref(before, after)}>
            Compare the two
          </Link>
          <span className="soft">Two are chosen. Take one away to choose another.</span>
        </>
      ) : (
        <span className="soft">
          {chosen.length === 1 ? "Choose one more run to compare." : "Choose two runs to compare them."}
        </span>
      )}
      {chosen.length > 0 && (
        <button type="button" className="button plain small" onClick={clear}>
          Clear the choice
        </button>
      )}
    </div>
  );
}
