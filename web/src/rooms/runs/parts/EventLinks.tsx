import { Link } from "wouter";
import { useSource } from "../source";

const MOST = 12;

/** The events that a reason points at, each a link into its session. */
export function EventLinks({ session, events }: { session: string | null; events: readonly number[] }) {
  const source = useSource();
  if (events.length === 0) return null;
  return (
    <span className="event-links">
      {events.slice(0, MOST).map((seq) =>
        session === null ? (
          <span key={seq} className="soft">
            event {seq}
          </span>
        ) : (
          <Link key={seq} href={source.sessionHref(session, seq)}>
            event {seq}
          </Link>
        ),
      )}
      {events.length > MOST && <span className="soft">and {events.length - MOST} more</span>}
    </span>
  );
}
