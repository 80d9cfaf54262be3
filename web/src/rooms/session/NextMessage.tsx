import { useMutation } from "@tanstack/react-query";
import { post, type Session } from "../../api/client";
import { queries } from "../../api/queries";
import type { Standing } from "../../ledger/standing";
import { useDraft } from "../../ui/draft";
import { Notice, ProblemNotice } from "../../ui/Notice";
import { type QueryBody, QueryForm } from "../start/QueryForm";
import type { Cast } from "./cast";

const HEADINGS = {
  new: "Ask the agent",
  running: "Ask the agent",
  answered: "The agent has answered",
  failed: "The run failed",
  left: "Nobody plays this session now",
} as const;

/** The user's next message, where the session waits for one; and the end, once there is a final response. */
export function NextMessage({ session, cast, stands }: { session: Session; cast: Cast; stands: Standing }) {
  const draft = `query-${session.id}`;
  const [, setDraft] = useDraft<unknown>(draft, null);
  const refresh = () => void queries.invalidateQueries({ queryKey: ["session", session.id] });
  const say = useMutation({
    mutationFn: (query: QueryBody) => post(`/v1/sessions/${session.id}/query`, query),
    onSuccess: () => {
      setDraft(undefined);
      refresh();
    },
  });
  const complete = useMutation({
    mutationFn: () => post(`/v1/sessions/${session.id}/complete`),
    onSuccess: refresh,
  });
  if (session.status !== "active" || session.source === "run" || session.head) return null;
  const answered = stands.is === "answered";
  const failed = stands.is === "failed";
  // Another program that runs the agent takes the session up with the next message.
  const left = stands.is === "running" && session.host_online === false;
  const asks = Boolean(session.host) && (session.state === "awaiting_query" || answered || failed || left);
  if (!asks && !answered && !failed) return null;
  return (
    <section className="card" aria-labelledby="next-heading">
      <header>
        <h2 id="next-heading">{HEADINGS[left ? "left" : stands.is]}</h2>
      </header>
      <div className="stack">
        {failed && (
          <Notice tone="warn">
            {stands.why !== "" && <p className="mono">{stands.why}</p>}
            <p>
              {asks
                ? "Say something to let the agent try again, or cancel the session."
                : "The agent runs in its own program: let that say something to it again, or cancel the session."}
            </p>
          </Notice>
        )}
        {left && (
          <Notice tone="warn">
            The program that ran this agent is gone. Start it again; the next message lets it go on from what
            happened so far.
          </Notice>
        )}
        {asks && (
          <QueryForm
            draft={draft}
            schema={cast.inputSchema}
            sending={say}
            button={answered ? "Say something more" : failed || left ? "Try again" : "Start"}
            onSend={(query) => say.mutate(query)}
          />
        )}
        {answered && session.waiting_calls?.length === 0 && (
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
