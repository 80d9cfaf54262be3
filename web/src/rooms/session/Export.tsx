import { useMutation } from "@tanstack/react-query";
import { post, type Session } from "../../api/client";
import { queries } from "../../api/queries";
import { Command } from "../../ui/Copy";
import { Icon } from "../../ui/Icon";
import { Notice, ProblemNotice } from "../../ui/Notice";
import { Day } from "../../ui/time";

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
    mutationFn: (again: boolean) => post<Exported>(`/v1/sessions/${session.id}/export`, { again }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["session", session.id] }),
  });
  const done = write.data ?? (session.exported as Exported | null | undefined) ?? null;
  return (
    <section className="card" aria-labelledby="export-heading">
      <header>
        <h2 id="export-heading">Golden trace</h2>
      </header>
      <div className="stack tight">
        {!session.host ? (
          <ByHand session={session} />
        ) : (
          <>
            {done === null && (
              <p className="soft">
                Adds this session to the agent's EvalSet file, for <code>adk eval</code> to check models
                against.
              </p>
            )}
            <div aria-live="polite">{done !== null && <Done exported={done} />}</div>
            {write.error && <ProblemNotice error={write.error} />}
            <div className="buttons">
              <button
                type="button"
                className={done === null ? "button primary" : "button"}
                disabled={write.isPending}
                onClick={() => write.mutate(done !== null)}
              >
                <Icon name="export" />
                {write.isPending ? "Exporting…" : done === null ? "Export" : "Export once more"}
              </button>
            </div>
          </>
        )}
      </div>
    </section>
  );
}

function Done({ exported }: { exported: Exported }) {
  return (
    <Notice tone="good">
      <p>
        Exported as <code>{exported.eval_id}</code> to <code>{exported.path}</code>
        {exported.at && (
          <>
            {" "}
            (<Day at={exported.at} />)
          </>
        )}
      </p>
      {exported.cases != null && (
        <p className="soft">
          {exported.cases === 1
            ? "It is the only case in the file."
            : `The file had ${exported.cases} cases then.`}
        </p>
      )}
    </Notice>
  );
}

/** The file of an agent that runs in its own program is not known here. */
function ByHand({ session }: { session: Session }) {
  return (
    <>
      <p className="soft">This agent runs in its own program, so you say which file:</p>
      <Command text={`rehearse export ${session.id} --evalset golden.evalset.json`} />
    </>
  );
}
