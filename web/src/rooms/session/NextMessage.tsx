import { useMutation } from "@tanstack/react-query";
import { post, type Session } from "../../api/client";
import { queries } from "../../api/queries";
import type { LogView } from "../../ledger/log";
import { ProblemNotice } from "../../ui/Notice";
import { type QueryBody, QueryForm } from "../start/QueryForm";
import type { Cast } from "./cast";

/** The user's next message, where the session waits for one; and the end, once there is a final response. */
export function NextMessage({ session, cast, log }: { session: Session; cast: Cast; log: LogView }) {
  const refresh = () => void queries.invalidateQueries({ queryKey: ["session", session.id] });
  const say = useMutation({
    mutationFn: (query: QueryBody) => post(`/v1/sessions/${session.id}/query`, query),
    onSuccess: refresh,
  });
  const complete = useMutation({
    mutationFn: () => post(`/v1/sessions/${session.id}/complete`),
    onSuccess: refresh,
  });
  if (session.status !== "active" || session.source === "run" || session.head) return null;
  const last = log.events.at(-1)?.body.type;
  const answered = last === "agent_ended";
  const waits = session.state === "awaiting_query" || (answered && Boolean(session.host));
  if (!waits && !answered) return null;
  return (
    <section className="card" aria-labelledby="next-heading">
      <header>
        <h2 id="next-heading">{answered ? "The agent has answered" : "Ask the agent"}</h2>
      </header>
      <div className="stack">
        {waits && session.host && (
          <QueryForm
            draft={`query-${session.id}`}
            schema={cast.inputSchema}
            sending={say}
            button={answered ? "Say something more" : "Start"}
            onSend={(query) => say.mutate(query)}
          />
        )}
        {answered && (
          <div className="stack tight">
            {complete.error && <ProblemNotice error={complete.error} />}
            <button
              type="button"
              className="button"
              disabled={complete.isPending}
              onClick={() => complete.mutate()}
            >
              Complete the session
            </button>
          </div>
        )}
      </div>
    </section>
  );
}
