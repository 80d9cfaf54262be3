import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { call, post, type Session } from "../../api/client";
import { queries } from "../../api/queries";
import { Dialog } from "../../ui/Dialog";
import { ProblemNotice } from "../../ui/Notice";

/** What can be done with a session as a whole. */
export function Actions({ session }: { session: Session }) {
  const [asks, setAsks] = useState<"cancel" | "delete" | null>(null);
  const isOfRun = session.source === "run";
  return (
    <div className="buttons">
      <a
        className="button small"
        href={`/v1/sessions/${session.id}/ledger`}
        download={`${session.id}.jsonl`}
        title="Everything that happened, one event a line (JSON Lines)"
      >
        Download ledger
      </a>
      {session.status === "active" && !isOfRun && (
        <button type="button" className="button small" onClick={() => setAsks("cancel")}>
          Cancel session
        </button>
      )}
      {session.status !== "active" && !isOfRun && (
        <button type="button" className="button small" onClick={() => setAsks("delete")}>
          Delete
        </button>
      )}
      {asks && <Confirm session={session} what={asks} onClose={() => setAsks(null)} />}
    </div>
  );
}

const WORDS = {
  cancel: {
    title: "Cancel this session?",
    text: "It ends without a final response and cannot be exported. What happened so far is kept.",
    button: "Cancel the session",
  },
  delete: {
    title: "Delete this session?",
    text: "All its events are removed for good. Golden traces that were exported stay where they are.",
    button: "Delete it",
  },
} as const;

function Confirm({
  session,
  what,
  onClose,
}: {
  session: Session;
  what: "cancel" | "delete";
  onClose(): void;
}) {
  const [, go] = useLocation();
  const act = useMutation({
    mutationFn: async () => {
      if (what === "cancel")
        await post(`/v1/sessions/${session.id}/cancel`, { reason: "cancelled on the page" });
      else await call("DELETE", `/v1/sessions/${session.id}`);
    },
    onSuccess: () => {
      void queries.invalidateQueries();
      if (what === "delete") go("/");
      else onClose();
    },
  });
  const words = WORDS[what];
  return (
    <Dialog title={words.title} onClose={onClose}>
      <div className="stack">
        <p>{words.text}</p>
        {act.error && <ProblemNotice error={act.error} />}
        <div className="buttons">
          <button
            type="button"
            className="button danger"
            disabled={act.isPending}
            onClick={() => act.mutate()}
          >
            {words.button}
          </button>
          <button type="button" className="button" onClick={onClose}>
            Keep it
          </button>
        </div>
      </div>
    </Dialog>
  );
}
