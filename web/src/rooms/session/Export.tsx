import { useMutation } from "@tanstack/react-query";
import { Link } from "wouter";
import { post, type Session } from "../../api/client";
import { queries } from "../../api/queries";
import { Command } from "../../ui/Copy";
import { Icon } from "../../ui/Icon";
import { Notice, ProblemNotice } from "../../ui/Notice";
import { Day } from "../../ui/time";
import { Cautions } from "./Cautions";

/** Where a golden trace was written. */
export interface Exported {
  path: string;
  eval_id: string;
  cases?: number | null;
  at?: string | null;
}

/** Writes the golden trace into the agent's EvalSet file, and says where it is. */
export function Export({ session }: { session: Session }) {
  const write = useMutation({
    mutationFn: (how: { again: boolean; runnable?: boolean }) =>
      post<Exported>(`/v1/sessions/${session.id}/export`, how),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["session", session.id] }),
  });
  const kept = (session.exported as Exported | null | undefined) ?? null;
  // Somebody else may have exported it again since.
  const isMine = write.data !== undefined && (kept === null || (kept.at ?? "") <= (write.data.at ?? ""));
  const done = isMine ? write.data : kept;
  // A host may come back, and says itself when it is away. A program that has ended does not.
  const isThere = Boolean(session.host || session.program_online);
  return (
    <section className="card" aria-labelledby="export-heading">
      <header>
        <h2 id="export-heading" tabIndex={-1}>
          Golden trace
        </h2>
      </header>
      <div className="stack tight">
        <Cautions session={session} />
        {!isThere && done === null ? (
          <ByHand session={session} />
        ) : (
          <>
            {done === null && (
              <p className="soft">
                Adds this session to the agent's EvalSet file, for <code>adk eval</code> to check models
                against.
              </p>
            )}
            <div role="status">{done !== null && <Done exported={done} isNow={isMine} />}</div>
            {write.error && <ProblemNotice error={write.error} />}
            <div className="buttons">
              {isThere && (
                <button
                  type="button"
                  className={done === null ? "button primary" : "button"}
                  // Not disabled: that would take the focus away from it.
                  aria-disabled={write.isPending || undefined}
                  onClick={() => {
                    if (!write.isPending) write.mutate({ again: done !== null });
                  }}
                >
                  <Icon name="export" />
                  {write.isPending ? "Exporting…" : done === null ? "Export" : "Export once more"}
                </button>
              )}
              {isThere && Boolean(session.runnable_messages) && (
                <button
                  type="button"
                  className="button"
                  aria-disabled={write.isPending || undefined}
                  onClick={() => {
                    if (!write.isPending) write.mutate({ again: done !== null, runnable: true });
                  }}
                >
                  <Icon name="export" />
                  Export what runs
                </button>
              )}
              {done !== null && session.host && (
                <Link
                  className="button primary"
                  href={`/start?agent=${encodeURIComponent(session.agent ?? "")}`}
                >
                  <Icon name="play" />
                  New session
                </Link>
              )}
            </div>
            {done !== null && <CheckModel exported={done} agent={session.agent ?? "agent"} />}
          </>
        )}
      </div>
    </section>
  );
}

function Done({ exported, isNow }: { exported: Exported; isNow: boolean }) {
  return (
    <Notice tone="good" quiet>
      <p>
        Exported as <code>{exported.eval_id}</code> to <code>{exported.path}</code>
        {exported.at && (
          <>
            {" "}
            (<Day at={exported.at} />)
          </>
        )}
      </p>
      {exported.cases != null && <p className="soft">{caseCount(exported.cases, isNow)}</p>}
    </Notice>
  );
}

/** What the golden trace is for: the line that compares a real model with it. */
function CheckModel({ exported, agent }: { exported: Exported; agent: string }) {
  return (
    <div className="stack tight">
      <p className="soft">
        To compare a real model with it, from the folder that has the agent's package (here{" "}
        <code>{agent}</code>; put yours in its place):
      </p>
      <Command text={`adk eval ${quoted(agent)} ${quoted(exported.path)}`} />
    </div>
  );
}

/** As a shell reads it as one word. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** How many cases the file has, as far as that is known: others may have written to it since. */
function caseCount(cases: number, isNow: boolean): string {
  if (cases === 1)
    return isNow ? "It is the only case in the file." : "It was the only case in the file then.";
  return isNow ? `The file has ${cases} cases now.` : `The file had ${cases} cases then.`;
}

/** The file of an agent that runs in its own program is not known here. */
function ByHand({ session }: { session: Session }) {
  return (
    <>
      <p className="soft">
        {session.program
          ? "The program that ran this agent has ended, and only it knows its EvalSet file. "
          : "This agent runs in its own program, so you say which file. "}
        Run this in the folder in which <code>rehearse serve</code> was started:
      </p>
      <Command
        text={`rehearse export ${session.id} --evalset golden.evalset.json${session.runnable_messages ? " --runnable" : ""}`}
      />
    </>
  );
}
