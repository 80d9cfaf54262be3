import { useEffect, useMemo, useRef } from "react";
import { Link } from "wouter";
import { Problem, type Session } from "../../api/client";
import { useSession } from "../../api/queries";
import { artifactsOf } from "../../ledger/artifacts";
import { useEvents } from "../../ledger/log";
import { standing } from "../../ledger/standing";
import { stateOf } from "../../ledger/state";
import { isAtRest, keepFocus } from "../../ui/focus";
import { Notice, ProblemNotice } from "../../ui/Notice";
import { SessionBadge } from "../../ui/SessionBadge";
import { Day } from "../../ui/time";
import { useTitle } from "../../ui/title";
import { Actions } from "./Actions";
import { Artifacts } from "./Artifacts";
import { useCast } from "./cast";
import { Decide } from "./Decide";
import { Export } from "./Export";
import { Instructions } from "./Instructions";
import { NextMessage } from "./NextMessage";
import { NextWaiting } from "./NextWaiting";
import { RunningCalls } from "./RunningCalls";
import { StatePanel } from "./StatePanel";
import { Timeline } from "./Timeline";
import { ToolList } from "./ToolList";
import { Unsent } from "./Unsent";
import { UserCalls } from "./UserCalls";
import { YourTurn } from "./YourTurn";
import "../../style/session.css";

export function SessionRoom({ id }: { id: string }) {
  const session = useSession(id);
  const { agent, head } = session.data ?? {};
  useTitle(`${head ? "● " : ""}${agent ?? "Session"}`);
  if (session.error && !session.data) {
    return (
      <div className="stack">
        <h1>Session</h1>
        {isUnknown(session.error) ? (
          <Notice tone="error">
            There is no session <code>{id}</code> here. It may have been deleted, or kept in another store.
          </Notice>
        ) : (
          <ProblemNotice error={session.error} />
        )}
        <p>
          <Link href="/">All sessions</Link>
        </p>
      </div>
    );
  }
  if (!session.data) return <p className="soft">Reading the session…</p>;
  return <Room session={session.data} />;
}

/** Whatever stands in an address that leads to no session: what an id looks like is nothing that people know. */
const isUnknown = (error: unknown): boolean =>
  error instanceof Problem && (error.status === 404 || error.kind === "invalid_id");

function Room({ session }: { session: Session }) {
  const log = useEvents(session.id);
  const cast = useCast(session, log);
  const stands = useMemo(() => standing(log.events), [log.events]);
  const state = useMemo(() => stateOf(log.events), [log.events]);
  const artifacts = useMemo(() => artifactsOf(log.events), [log.events]);
  const name = session.agent ?? "Session";
  useFocusOnEnd(session.status);
  const room = useRef<HTMLDivElement>(null);
  useEffect(() => (room.current ? keepFocus(room.current) : undefined), []);
  return (
    <div className="session-columns" ref={room}>
      <div className="session-main">
        <div className="page-head">
          <div className="stack tight">
            <h1>{name}</h1>
            <p className="row soft">
              <SessionBadge session={session} stands={stands} />
              {session.description && <span>{session.description}</span>}
              <span>
                began <Day at={session.created_at} />
              </span>
              {session.run && (
                <Link href={`/runs/${session.run}`}>
                  part of a run{session.part !== "main" && ` (${session.part})`}
                </Link>
              )}
            </p>
          </div>
          <Actions session={session} />
        </div>
        <div className="stack">
          <Instructions text={cast.instruction} of={cast.agent === session.agent ? null : cast.agent} />
          <Timeline session={session.id} log={log} changes={state.changes} />
          <RunningCalls session={session} isAnswered={stands.is === "answered"} />
        </div>
      </div>
      {/* Beside everything else, so that what is to be decided begins at the top of the window. */}
      <aside className="session-side stack" aria-label="Your part">
        {session.status === "active" && (
          <Decide session={session} stands={stands} events={log.events} instruction={cast.instruction} />
        )}
        <Unsent session={session} />
        {!session.head && <NextWaiting session={session.id} />}
        <UserCalls session={session} isAnswered={stands.is === "answered"} />
        <NextMessage session={session} cast={cast} stands={stands} />
        {session.status === "completed" && session.source !== "run" && <Export session={session} />}
        <StatePanel state={state} />
        <Artifacts session={session.id} artifacts={artifacts} />
        <ToolList tools={cast.tools} />
      </aside>
      {session.head && <YourTurn key={session.head} />}
    </div>
  );
}

/** Whoever ended the session by keyboard goes on with what can be done with it. */
function useFocusOnEnd(status: string): void {
  const before = useRef(status);
  useEffect(() => {
    const ended = before.current === "active" && status !== "active";
    before.current = status;
    if (ended && isAtRest()) document.getElementById("export-heading")?.focus({ preventScroll: true });
  }, [status]);
}
