import { Link, Route, Switch } from "wouter";
import "../../style/runs.css";
import { Nothing } from "../../ui/Nothing";
import { CaseRoom } from "./case/CaseRoom";
import { CompareRoom } from "./compare/CompareRoom";
import { RunList } from "./list/RunList";
import { RunRoom } from "./run/RunRoom";

/** The room of runs: what `rehearse run` and `rehearse eval` kept. */
export function Runs() {
  return (
    <Switch>
      <Route path="/runs">
        <RunList />
      </Route>
      <Route path="/runs/compare">
        <CompareRoom />
      </Route>
      <Route path="/runs/:id">{({ id }) => <RunRoom key={id} id={id} />}</Route>
      <Route path="/runs/:id/cases/:n">
        {({ id, n }) => <CaseRoom key={`${id}/${n}`} id={id} n={Number(n)} />}
      </Route>
      <Route>
        <Nothing>
          No run has this address. <Link href="/runs">See all runs</Link>.
        </Nothing>
      </Route>
    </Switch>
  );
}
