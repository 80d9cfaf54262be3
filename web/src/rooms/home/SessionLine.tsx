import { Link } from "wouter";
import type { Session } from "../../api/client";
import { useOpenCues } from "../../api/queries";
import { oneLine } from "../../json/show";
import { Icon } from "../../ui/Icon";
import { SessionBadge } from "../../ui/SessionBadge";
import { Day } from "../../ui/time";

/** A session in a list. Lists do not say which cue waits, so that is told from the cues. */
export function SessionLine({ session: listed }: { session: Session }) {
  const head = useOpenCues().data?.cues.find((cue) => cue.session === listed.id && cue.head)?.id;
  const session = { ...listed, head: listed.head ?? head };
  const count = session.last_seq;
  const stands = session.status === "active" || session.state === "failed";
  const error = stands && !session.head ? session.last_error : null;
  return (
    <li>
      <Link className="entry" href={`/sessions/${session.id}`}>
        <span className="row">
          <SessionBadge session={session} />
          <span className="entry-title">{session.agent ?? "no agent yet"}</span>
          {session.description && <span className="soft">{session.description}</span>}
          {error && (
            <span className="clip session-error">
              {oneLine([error.type, error.message].filter(Boolean).join(": "), 300)}
            </span>
          )}
        </span>
        <span className="soft">
          {count === 1 ? "1 event" : `${count} events`} · <Day at={session.created_at} />
        </span>
        <Icon name="chevron" />
      </Link>
    </li>
  );
}
