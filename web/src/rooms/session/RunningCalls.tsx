import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { call, type Session } from "../../api/client";
import { queries, useSessionCues } from "../../api/queries";
import { oneLine } from "../../json/show";
import { Icon } from "../../ui/Icon";
import { ProblemNotice } from "../../ui/Notice";
import { Stopwatch } from "../../ui/time";

/** Whoever has cancelled a tool that goes on all the same may ask again after so long. */
const ASK_AGAIN_MS = 10_000;

type Running = NonNullable<Session["waiting_calls"]>[number];

/** Tools that run now, with how long they have run and a way to stop them. Once the agent has answered, none runs. */
export function RunningCalls({ session, isAnswered }: { session: Session; isAnswered: boolean }) {
  const running = session.status === "active" && !isAnswered ? (session.waiting_calls ?? []) : [];
  const isAway = session.host_online === false || session.program_online === false;
  // A tool that somebody plays does not run; it waits for them.
  const played = new Set((useSessionCues(session.id).data?.cues ?? []).map((cue) => cue.call_id));
  return (
    <div role="status" aria-label="Running tools">
      {running.length > 0 && isAway && (
        <p className="soft">
          The program that runs this agent is away. What its tools give is told when it is back; or cancel
          them.
        </p>
      )}
      {running.map((each) => (
        <RunningCall
          key={each.call_id}
          session={session}
          running={each}
          isPlayed={played.has(each.call_id)}
        />
      ))}
    </div>
  );
}

interface RunningCallProps {
  session: Session;
  running: Running;
  isPlayed: boolean;
}

function RunningCall({ session, running, isPlayed }: RunningCallProps) {
  const [asked, setAsked] = useState(false);
  const cancel = useMutation({
    mutationFn: () =>
      call("POST", `/v1/sessions/${session.id}/calls/${encodeURIComponent(running.call_id)}/cancel`),
    onSuccess: () => setAsked(true),
    onSettled: () => void queries.invalidateQueries({ queryKey: ["session", session.id] }),
  });
  const { isSuccess, reset } = cancel;
  useEffect(() => {
    if (!isSuccess) return;
    const timer = setTimeout(reset, ASK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [isSuccess, reset]);
  return (
    <div className="running card">
      {isPlayed ? <Icon name="wait" /> : <span className="spinner" aria-hidden="true" />}
      <span className="grow clip">
        <strong className="mono">{running.tool}</strong> {isPlayed ? "waits for you" : "is running"}{" "}
        <span className="soft">{oneLine(running.args as never, 60)}</span>
      </span>
      <Stopwatch since={running.since} />
      {(session.host || session.program) && (
        <button
          type="button"
          className="button danger small"
          disabled={cancel.isPending || isSuccess}
          onClick={() => cancel.mutate()}
        >
          <Icon name="cross" />
          {cancel.isPending || isSuccess ? "Cancelling…" : asked ? "Cancel again" : "Cancel"}
        </button>
      )}
      {cancel.error && <ProblemNotice error={cancel.error} />}
    </div>
  );
}
