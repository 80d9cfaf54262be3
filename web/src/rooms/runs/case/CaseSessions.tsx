import { Link } from "wouter";
import type { Session } from "../../../api/client";
import { Icon } from "../../../ui/Icon";
import { useSource } from "../source";

const PARTS: Record<string, string> = {
  main: "The agent's session",
  user: "The simulated user's",
  judge: "The judge's",
};

/** The sessions of a case, and their ledgers as files. */
export function CaseSessions({
  ids,
  sessions,
}: {
  ids: readonly string[];
  sessions: readonly { data?: Session | null | undefined }[];
}) {
  const source = useSource();
  return (
    <section className="card stack tight" aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      {ids.length === 0 && <p className="soft">No session of this case was kept.</p>}
      <ul className="list">
        {ids.map((id, index) => {
          const session = sessions[index]?.data;
          const ledger = source.ledgerHref(id);
          return (
            <li key={id} className="row apart session-line">
              {session === null ? (
                <span className="soft">
                  <code>{id.slice(0, 8)}</code> {source.absent}
                </span>
              ) : (
                <>
                  <Link href={source.sessionHref(id)}>{name(session, index)}</Link>
                  <span className="row">
                    {session && <span className="soft">{session.last_seq} events</span>}
                    {ledger && (
                      <a className="button small" href={ledger} download={`${id}.jsonl`}>
                        <Icon name="export" />
                        Download ledger<span className="visually-hidden"> of {name(session, index)}</span>
                      </a>
                    )}
                  </span>
                </>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function name(session: Session | undefined, index: number): string {
  if (session) return PARTS[session.part] ?? `Session of ${session.part}`;
  return index === 0 ? "The agent's session" : `Session ${index + 1}`;
}
