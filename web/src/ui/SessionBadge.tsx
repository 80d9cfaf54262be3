import type { Session } from "../api/client";
import { Icon } from "./Icon";

/** Where a session stands, in a word. */
export function SessionBadge({ session }: { session: Session }) {
  if (session.status === "completed") {
    return (
      <span className="badge completed">
        <Icon name="output" />
        completed
      </span>
    );
  }
  if (session.status === "cancelled") {
    return (
      <span className="badge">
        <Icon name="cross" />
        cancelled
      </span>
    );
  }
  if (session.head) {
    return (
      <span className="badge waiting">
        <Icon name="wait" />
        waits for you
      </span>
    );
  }
  return (
    <span className="badge">
      <Icon name="play" />
      {session.state === "awaiting_query" ? "awaits a query" : "active"}
    </span>
  );
}
