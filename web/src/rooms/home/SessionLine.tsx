import { Link } from "wouter";
import type { Session } from "../../api/client";
import { SessionBadge } from "../../ui/SessionBadge";
import { Day } from "../../ui/time";

export function SessionLine({ session }: { session: Session }) {
  const count = session.last_seq;
  return (
    <li>
      <Link className="entry" href={`/sessions/${session.id}`}>
        <span className="row">
          <SessionBadge session={session} />
          <span className="entry-title">{session.agent ?? "no agent yet"}</span>
          {session.description && <span className="soft">{session.description}</span>}
        </span>
        <span className="soft">
          {count === 1 ? "1 event" : `${count} events`} · <Day at={session.created_at} />
        </span>
      </Link>
    </li>
  );
}
