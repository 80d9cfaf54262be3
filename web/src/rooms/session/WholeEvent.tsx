import { useQuery } from "@tanstack/react-query";
import { get, type Json } from "../../api/client";
import { Tree } from "../../json/Tree";
import type { LedgerEvent } from "../../ledger/event";
import { Dialog } from "../../ui/Dialog";
import { ProblemNotice } from "../../ui/Notice";

/** An event with nothing left out. */
export function WholeEvent({ session, seq, onClose }: { session: string; seq: number; onClose(): void }) {
  const path = `/v1/sessions/${session}/events/${seq}`;
  const event = useQuery({
    queryKey: ["event", session, seq],
    queryFn: ({ signal }) => get<LedgerEvent>(path, signal),
    // It may be large and never changes: not kept when nobody looks at it.
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Dialog title={`Event ${seq}, whole`} onClose={onClose}>
      <div className="stack">
        <p>
          <a className="button small" href={path} download={`event-${seq}.json`}>
            Download as JSON
          </a>
        </p>
        {event.isPending && <p className="soft">Reading it…</p>}
        {event.error && <ProblemNotice error={event.error} />}
        {event.data && <Tree value={event.data.body as unknown as Json} label={`event ${seq}`} />}
      </div>
    </Dialog>
  );
}
