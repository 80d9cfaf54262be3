import { useEffect, useRef, useState } from "react";
import { type Cue, call, inWords, type Session } from "../../api/client";
import { queries, useCue, useSessionCues } from "../../api/queries";
import { closing } from "../../ledger/closing";
import type { LedgerEvent } from "../../ledger/event";
import type { Standing } from "../../ledger/standing";
import { Dialog } from "../../ui/Dialog";
import { isAtRest } from "../../ui/focus";
import { Icon } from "../../ui/Icon";
import { Notice, ProblemNotice } from "../../ui/Notice";
import { Prose } from "../../ui/Prose";
import { Since } from "../../ui/time";
import { ModelDecision, requestOf } from "./ModelDecision";
import { RequestView } from "./RequestDialog";
import { ToolDecision } from "./ToolDecision";
import { UserDecision } from "./UserDecision";
import { keepUnsent } from "./unsent";

const ASKS = {
  model: "You are the model. What does the agent do next?",
  tool: "You are the tool. What does it give?",
  user: "You are the user. What do you say?",
} as const;

const CLOSED = {
  answered: "Somebody else decided this first; the timeline shows what.",
  dismissed: "This was put away: nobody waits for it any more.",
  failed: "The run ended before this was decided; the timeline shows why.",
} as const;

interface DecideProps {
  session: Session;
  stands: Standing;
  events: readonly LedgerEvent[];
  /** What the agent was told to be. */
  instruction: string | null;
}

/** What is to be decided now in a session, and by whom it is awaited. */
export function Decide({ session, stands, events, instruction }: DecideProps) {
  const cues = useSessionCues(session.id);
  const waiting = cues.data?.cues ?? [];
  const head = waiting.find((cue) => cue.head) ?? waiting.find((cue) => cue.status === "abandoned");
  const cue = useCue(session.id, head?.id);
  const before = useCueBefore(head);
  const [mine, setMine] = useState<string | null>(null);
  // One that still waits was only put back in the line.
  const isGone = before !== null && before.id !== mine && !waiting.some((cue) => cue.id === before.id);
  const closed = isGone ? closing(events, before) : null;
  const gone = closed === null ? null : before;
  useEffect(() => {
    if (gone) keepUnsent(gone.session, gone.id);
  }, [gone]);
  // What was just decided is still in the list for a moment, and must not be decided again.
  const asked = head && head.id !== mine ? head : undefined;
  const asks = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    // Whoever has decided by keyboard goes on with what comes next, without looking for it.
    if (asked && mine !== null && isAtRest()) asks.current?.focus({ preventScroll: true });
  }, [asked, mine]);

  return (
    <section className="decide card" aria-labelledby="decide-heading">
      <header>
        <h2 id="decide-heading" tabIndex={-1}>
          Decide
        </h2>
        {waiting.length > 1 && <span className="badge">{waiting.length - 1} more after this</span>}
        {instruction !== null && instruction.trim() !== "" && <AtHand instruction={instruction} />}
        {asked && cue.data?.kind === "model" && <WhatItSees cue={cue.data} />}
      </header>
      <div aria-live="polite" className="stack tight">
        {closed !== null && (
          <Notice tone="warn">
            {CLOSED[closed]} {asked ? "This is what comes next." : ""}
          </Notice>
        )}
        {cues.error && <ProblemNotice error={cues.error} />}
        {!asked && !cues.isPending && <Idle session={session} stands={stands} />}
      </div>
      {asked && (
        <>
          <p className="decide-asks" ref={asks} tabIndex={-1}>
            <Icon name="wait" />
            <span>
              <strong>{ASKS[asked.kind as keyof typeof ASKS] ?? "Decide."}</strong>{" "}
              <span className="soft">
                {asked.agent} has waited for <Since at={asked.opened_at} />
              </span>
            </span>
          </p>
          {asked.status === "abandoned" && <Abandoned cue={asked} onDismissed={() => setMine(asked.id)} />}
          {cue.error && <ProblemNotice error={cue.error} />}
          {cue.data && (
            <Decision key={cue.data.id} cue={{ ...cue.data, status: asked.status }} onMine={setMine} />
          )}
        </>
      )}
    </section>
  );
}

/** The instructions, however far the timeline has gone from them. */
function AtHand({ instruction }: { instruction: string }) {
  const [looks, setLooks] = useState(false);
  return (
    <>
      <button type="button" className="button small" onClick={() => setLooks(true)}>
        <Icon name="note" />
        Instructions
      </button>
      {looks && (
        <Dialog title="Instructions" onClose={() => setLooks(false)}>
          <Prose text={instruction} label="the instructions" markdown />
        </Dialog>
      )}
    </>
  );
}

/** Everything that the model is given for the decision. */
function WhatItSees({ cue }: { cue: Cue }) {
  const [looks, setLooks] = useState(false);
  return (
    <>
      <button type="button" className="button small" onClick={() => setLooks(true)}>
        <Icon name="model" />
        What the model sees
      </button>
      {looks && (
        <Dialog title="What the model sees" onClose={() => setLooks(false)}>
          <RequestView request={requestOf(cue)} />
        </Dialog>
      )}
    </>
  );
}

function Decision({ cue, onMine }: { cue: Cue; onMine(cue: string): void }) {
  const taken = () => onMine(cue.id);
  switch (cue.kind) {
    case "model":
      return <ModelDecision cue={cue} onTaken={taken} />;
    case "tool":
      return <ToolDecision cue={cue} onTaken={taken} />;
    default:
      return <UserDecision cue={cue} onTaken={taken} />;
  }
}

/** The cue that was on the page before this one. */
function useCueBefore(head: Cue | undefined): Cue | null {
  const last = useRef(head);
  const [before, setBefore] = useState<Cue | null>(null);
  useEffect(() => {
    if (last.current !== undefined && last.current.id !== head?.id) setBefore(last.current);
    last.current = head;
  }, [head]);
  return before;
}

function Idle({ session, stands }: { session: Session; stands: Standing }) {
  return <p className="soft">{idleWords(session, stands)}</p>;
}

function idleWords(session: Session, stands: Standing): string {
  if (session.status !== "active") return "The session has ended. There is nothing to decide.";
  if (stands.is === "failed") return "The run failed, so there is nothing to decide.";
  if (stands.is === "answered") return "Nothing is to be decided now. The agent waits for its user.";
  if (session.program_online === false && stands.is === "running")
    return "The program that runs this agent is gone, and with it what it was at. Cancel the session, or wait until the program is back.";
  if (session.waiting_calls && session.waiting_calls.length > 0)
    return "A tool is running. You decide again when it is done.";
  return "Nothing waits for you. The agent is at work, or waits for its user.";
}

function Abandoned({ cue, onDismissed }: { cue: Cue; onDismissed(): void }) {
  const [error, setError] = useState<unknown>(null);
  const dismiss = async () => {
    try {
      await call("POST", `/v1/cues/${encodeURIComponent(cue.id)}/dismiss`);
      onDismissed();
      await queries.invalidateQueries();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Notice tone="warn" quiet>
      <p>
        The program that asks this is gone, for <Since at={cue.seen_at} /> now: nobody hears an answer. One
        that you give is kept for when the program is back; or put the cue away.
      </p>
      {error !== null && <p>{inWords(error)}</p>}
      <button type="button" className="button small" onClick={() => void dismiss()}>
        Dismiss this cue
      </button>
    </Notice>
  );
}
