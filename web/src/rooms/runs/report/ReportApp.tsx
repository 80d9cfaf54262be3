import { type ReactNode, useEffect, useMemo, useRef } from "react";
import { Link, Route, Router, Switch, useLocation } from "wouter";
import { runHref } from "../address";
import { CaseRoom } from "../case/CaseRoom";
import { RunRoom } from "../run/RunRoom";
import { Source } from "../source";
import { embedded, type Report } from "./embedded";
import { hashHref, useHashPath, useHashSearch } from "./hash";
import { SessionPage } from "./SessionPage";

/** One run in one file: the rooms of the page, answered from the file itself. */
export function ReportApp({ report }: { report: Report }) {
  const { id } = report.run;
  const source = useMemo(() => embedded(report), [report]);
  return (
    <Source value={source}>
      <Router hook={useHashPath} searchHook={useHashSearch} hrefs={hashHref}>
        <div className="shell">
          <header className="masthead">
            <Link href={runHref(id)} className="brand">
              Rehearsal report
            </Link>
          </header>
          <Main>
            <Switch>
              <Route path="/">
                <RunRoom id={id} />
              </Route>
              <Route path="/runs/:id">{({ id }) => <RunRoom key={id} id={id} />}</Route>
              <Route path="/runs/:id/cases/:n">
                {({ id, n }) => <CaseRoom key={`${id}/${n}`} id={id} n={Number(n)} />}
              </Route>
              <Route path="/sessions/:id">
                {({ id }) => <SessionPage key={id} report={report} id={id} />}
              </Route>
              <Route>
                <h1>There is nothing here</h1>
                <p>
                  <Link href={runHref(id)}>See the run</Link>.
                </p>
              </Route>
            </Switch>
          </Main>
        </div>
      </Router>
    </Source>
  );
}

/** Goes to the top of what was opened, as a browser does for a new page. */
function Main({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  const main = useRef<HTMLElement>(null);
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    // A session brings the event that was asked for into view by itself.
    if (main.current?.contains(document.activeElement)) return;
    main.current?.focus({ preventScroll: true });
    if (!location.hash.includes("?e=")) scrollTo(0, 0);
  }, [path]);
  return (
    <main id="main" ref={main} tabIndex={-1}>
      {children}
    </main>
  );
}
