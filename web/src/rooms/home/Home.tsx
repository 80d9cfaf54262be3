import { Link } from "wouter";
import { MOST_CUES, useAgents, useOpenCues, useSessions } from "../../api/queries";
import { byWait, WAITS_FOR } from "../../api/waiting";
import { Icon } from "../../ui/Icon";
import { ProblemNotice } from "../../ui/Notice";
import { Since } from "../../ui/time";
import { useTitle } from "../../ui/title";
import { HowToConnect } from "./HowToConnect";
import { PastSessions } from "./PastSessions";
import { SessionLine } from "./SessionLine";

export function Home() {
  useTitle("Sessions");
  const cues = useOpenCues();
  const live = useSessions({ status: "active", pageSize: 50 });
  const agents = useAgents();
  const past = useSessions({ pageSize: 1 });
  const waiting = byWait(cues.data?.cues ?? []);
  const running = live.data?.sessions ?? [];
  // What waits stands above, and is not named twice.
  const waits = new Set(waiting.map((cue) => cue.session));
  // What failed waits for somebody too, so it comes first.
  const others = running
    .filter((session) => !waits.has(session.id))
    .sort((a, b) => Number(b.state === "failed") - Number(a.state === "failed"));
  const about = new Map(running.map((session) => [session.id, session.description]));
  const online = (agents.data?.agents ?? []).filter((agent) => agent.online);
  const nothing = cues.data && live.data && agents.data && past.data;
  const empty = nothing && waiting.length === 0 && online.length === 0 && past.data.sessions.length === 0;
  return (
    <div className="stack">
      <div className="stack tight">
        <h1>Sessions</h1>
        <p className="soft lead">
          Here you play a part in an agent's conversation: its model, a tool or its user. Choose what waits
          for you, or start an agent; all that happens is kept and can become a golden trace.
        </p>
      </div>
      {cues.error && <ProblemNotice error={cues.error} />}
      {empty && <HowToConnect />}
      {waiting.length > 0 && (
        <section className="card" aria-labelledby="waiting-heading">
          <header>
            <h2 id="waiting-heading">Waiting for you</h2>
          </header>
          <ul className="list">
            {waiting.map((cue) => (
              <li key={cue.id}>
                <Link className="entry" href={`/sessions/${cue.session}`}>
                  <span className="row">
                    <span className={cue.status === "abandoned" ? "badge abandoned" : "badge waiting"}>
                      <Icon name={cue.status === "abandoned" ? "error" : "wait"} />
                      {cue.status === "abandoned" ? "abandoned" : cue.head ? "your turn" : "in line"}
                    </span>
                    <span className="entry-title">{cue.agent}</span>
                    <span className="soft">needs {WAITS_FOR[cue.kind] ?? cue.kind}</span>
                    {about.get(cue.session) && (
                      <span className="soft clip apart-by-dot">{about.get(cue.session)}</span>
                    )}
                  </span>
                  <span className="soft">
                    waiting for <Since at={cue.opened_at} />
                  </span>
                  <Icon name="chevron" />
                </Link>
              </li>
            ))}
          </ul>
          {waiting.length >= MOST_CUES && (
            <p className="soft">These are the first {MOST_CUES}; the others come as you answer.</p>
          )}
        </section>
      )}
      {online.length > 0 && (
        <section className="card" aria-labelledby="agents-heading">
          <header>
            <h2 id="agents-heading">Agents you can start</h2>
          </header>
          <ul className="list">
            {online.map((agent) => (
              <li key={`${agent.host} ${agent.name}`}>
                <Link className="entry" href={`/start?agent=${encodeURIComponent(agent.name)}`}>
                  <span className="row">
                    <span className="entry-title">{agent.name}</span>
                    <span className="soft">{agent.description}</span>
                  </span>
                  <span className="soft">
                    {!agent.tools?.length
                      ? "no tools"
                      : `${agent.tools.length} tool${agent.tools.length === 1 ? "" : "s"}`}
                  </span>
                  <Icon name="chevron" />
                </Link>
              </li>
            ))}
          </ul>
        </section>
      )}
      {others.length > 0 && (
        <section className="card" aria-labelledby="live-heading">
          <header>
            <h2 id="live-heading">Live sessions</h2>
          </header>
          <ul className="list">
            {others.map((session) => (
              <SessionLine key={session.id} session={session} />
            ))}
          </ul>
        </section>
      )}
      {!empty && <PastSessions />}
    </div>
  );
}
