import type { Session } from "../api/client";
import type { Standing } from "../ledger/standing";
import { Icon } from "./Icon";

/** Where a session stands, in a word; where its ledger is known, that says whether its run failed. */
export function SessionBadge({ session, stands }: { session: Session; stands?: Standing }) {
  if (session.status === "completed") {
    return (
      <span className="badge completed">
        <Icon name="output" />
        completed
      </span>
    );
  }
  if (session.status === "cancelled" && session.state === "failed") {
    return (
      <span className="badge failed">
        <Icon name="error" />
        failed
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
  if (stands ? stands.is === "failed" : session.state === "failed") {
    return (
      <span className="badge failed">
        <Icon name="error" />
        failed, waits for a message
      </span>
    );
  }
  if (session.program_online === false) {
    return (
      <span className="badge failed">
        <Icon name="cross" />
        its program is gone
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
