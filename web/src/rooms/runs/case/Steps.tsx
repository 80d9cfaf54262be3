import { writeJson } from "../../../json/exact";
import { checksOfStep, type Execution, type Step, type Talk } from "../data/step";
import { verdictOf } from "../data/verdict";
import { MoreButton, useMore } from "../parts/More";
import { took as inTime } from "../parts/took";
import { Value } from "../parts/Value";
import { VerdictBadge } from "../parts/VerdictBadge";
import { Checks } from "./Checks";

/** The steps of a scenario, each with what it asked and found. */
export function Steps({ steps, session }: { steps: readonly Step[]; session: string | null }) {
  const { shown, left, more } = useMore(steps, 50);
  return (
    <section aria-labelledby="steps" className="stack tight">
      <h2 id="steps">Steps</h2>
      {shown.map((step) => (
        <StepCard key={step.step} step={step} session={session} />
      ))}
      <MoreButton left={left} more={more} what="steps" />
    </section>
  );
}

function StepCard({ step, session }: { step: Step; session: string | null }) {
  const asked = checksOfStep(step).length;
  const heading = `step-${step.step}`;
  return (
    <article className="card step" aria-labelledby={heading}>
      <header>
        <h3 id={heading}>
          {step.step}. {step.name ?? step.kind}
        </h3>
        <span className="row">
          {step.name && <span className="soft">{step.kind}</span>}
          {step.execution && <span className="soft">{inTime(step.execution.duration_ms)}</span>}
          <VerdictBadge verdict={verdictOf(step.status)} word={step.status} />
        </span>
      </header>
      <div className="stack tight">
        {step.note && <p className="soft">{step.note}</p>}
        {step.conversation && <TalkView talk={step.conversation} session={session} />}
        {step.execution && <Output execution={step.execution} kind={step.kind} />}
        {step.evaluations.length > 0 && <Checks checks={step.evaluations} session={session} />}
        {asked === 0 && step.status !== "unjudged" && <p className="soft">Nothing was asked of this step.</p>}
      </div>
    </article>
  );
}

function TalkView({ talk, session }: { talk: Talk; session: string | null }) {
  const { shown, left, more } = useMore(talk.turns, 20);
  return (
    <>
      <ol className="turns">
        {shown.map((turn) => (
          <li key={turn.turn_number} className="stack tight">
            <span className="soft">
              Turn {turn.turn_number} · {inTime(turn.duration)}
            </span>
            <p className="said user">
              <strong>User</strong> {turn.user_input}
            </p>
            <p className="said agent">
              <strong>Agent</strong> {turn.agent_response || <em className="soft">did not answer</em>}
            </p>
            <Files files={turn.execution_result.files} />
            {turn.turn_evaluations.length > 0 && <Checks checks={turn.turn_evaluations} session={session} />}
          </li>
        ))}
      </ol>
      <MoreButton left={left} more={more} what="turns" />
      {talk.termination_reason && (
        <p className="soft">
          Ended by {talk.termination_reason.replaceAll("_", " ")}
          {talk.termination_detail && `: ${talk.termination_detail}`}
        </p>
      )}
      {talk.final_evaluations.length > 0 && <Checks checks={talk.final_evaluations} session={session} />}
    </>
  );
}

/** What a step wrote. What was said in a conversation stands there already. */
function Output({ execution, kind }: { execution: Execution; kind: string }) {
  const { exit_code, stdout, stderr, files } = execution;
  return (
    <dl className="run-output">
      {stdout && kind !== "conversation" && (
        <div>
          <dt>{kind === "code" ? "Output" : "Reply"}</dt>
          <dd>
            <Value value={stdout} label="Output" />
          </dd>
        </div>
      )}
      {stderr && (
        <div>
          <dt>Standard error</dt>
          <dd>
            <Value value={stderr} label="Standard error" />
          </dd>
        </div>
      )}
      {kind === "code" && exit_code !== null && (
        <div>
          <dt>Exit code</dt>
          <dd>
            <code>{exit_code}</code>
          </dd>
        </div>
      )}
      <FileEntries files={files} />
    </dl>
  );
}

/** The files as a turn left them, where there are any. */
function Files({ files }: { files: Execution["files"] }) {
  if (Object.keys(files).length === 0) return null;
  return (
    <details>
      <summary>Files after this turn</summary>
      <dl className="run-output">
        <FileEntries files={files} />
      </dl>
    </details>
  );
}

function FileEntries({ files }: { files: Execution["files"] }) {
  const all = Object.entries(files);
  return (
    <>
      {all.slice(0, 50).map(([path, content]) => (
        <div key={path}>
          <dt>
            <code>{path}</code>
          </dt>
          <dd>
            <Value value={typeof content === "string" ? content : writeJson(content)} label={path} />
          </dd>
        </div>
      ))}
      {all.length > 50 && (
        <div>
          <dt>Files</dt>
          <dd>and {all.length - 50} more</dd>
        </div>
      )}
    </>
  );
}
