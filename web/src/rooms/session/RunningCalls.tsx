import { useMutation } from "@tanstack/react-query";
import { call, type Session } from "../../api/client";
import { queries } from "../../api/queries";
import { oneLine } from "../../json/show";
import { Icon } from "../../ui/Icon";
import { ProblemNotice } from "../../ui/Notice";
import { Stopwatch } from "../../ui/time";

type Running = NonNullable<Session["waiting_calls"]>[number];

/** Tools that run now, with how long they have run and a way to stop them. */
export function RunningCalls({ session }: { session: Session }) {
  const running = session.status === "active" ? (session.waiting_calls ?? []) : [];
  return (
    <div role="status" aria-label="Running tools">
      {running.map((each) => (
        <RunningCall key={each.call_id} session={session} running={each} />
      ))}
    </div>
  );
}

function RunningCall({ session, running }: { session: Session; running: Running }) {
  const cancel = useMutation({
    mutationFn: () =>
      call("POST", `/v1/sessions/${session.id}/calls/${encodeURIComponent(running.call_id)}/cancel`),
    onSettled: () => void queries.invalidateQueries({ queryKey: ["session", session.id] }),
  });
  return (
    <div className="running card">
      <span className="spinner" aria-hidden="true" />
      <span className="grow clip">
        <strong className="mono">{running.tool}</strong> is running{" "}
        <span className="soft">{oneLine(running.args as never, 60)}</span>
      </span>
      <Stopwatch since={running.since} />
      {session.host && (
        <button
          type="button"
          className="button danger small"
          disabled={cancel.isPending || cancel.isSuccess}
          onClick={() => cancel.mutate()}
        >
          <Icon name="cross" />
          {cancel.isPending || cancel.isSuccess ? "Cancelling…" : "Cancel"}
        </button>
      )}
      {cancel.error && <ProblemNotice error={cancel.error} />}
    </div>
  );
}
