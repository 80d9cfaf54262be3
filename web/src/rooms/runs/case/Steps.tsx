import { checksOfStep, type Execution, type Step, type Talk } from "../data/step";
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
        <StepCard key={step.number} step={step} session={session} />
      ))}
      <MoreButton left={left} more={more} what="steps" />
    </section>
  );
}

function StepCard({ step, session }: { step: Step; session: string | null }) {
  const asked = checksOfStep(step).length;
  const heading = `step-${step.number}`;
  return (
    <article className="card step" aria-labelledby={heading}>
      <header>
        <h3 id={heading}>
          {step.number}. {step.name ?? step.kind}
        </h3>
        <span className="row">
          {step.name && <span className="soft">{step.kind}</span>}
          {step.execution?.durationMs != null && (
            <span className="soft">{inTime(step.execution.durationMs)}</span>
          )}
          <VerdictBadge verdict={step.status} word={step.word} />
        </span>
      </header>
      <div className="stack tight">
        {step.note && <p className="soft">{step.note}</p>}
        {step.talk && <TalkView talk={step.talk} session={session} />}
        {step.execution && <Output execution={step.execution} kind={step.kind} />}
        {step.checks.length > 0 && <Checks checks={step.checks} session={session} />}
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
          <li key={turn.number} className="stack tight">
            <span className="soft">
              Turn {turn.number}
              {turn.durationMs !== null && ` · ${inTime(turn.durationMs)}`}
            </span>
            <p className="said user">
              <strong>User</strong> {turn.user}
            </p>
            <p className="said agent">
              <strong>Agent</strong> {turn.agent || <em className="soft">did not answer</em>}
            </p>
            {turn.checks.length > 0 && <Checks checks={turn.checks} session={session} />}
          </li>
        ))}
      </ol>
      <MoreButton left={left} more={more} what="turns" />
      {talk.ending && (
        <p className="soft">
          Ended by {talk.ending.replaceAll("_", " ")}
          {talk.endingDetail && `: ${talk.endingDetail}`}
        </p>
      )}
      {talk.finalChecks.length > 0 && <Checks checks={talk.finalChecks} session={session} />}
    </>
  );
}

/** What a step wrote. What was said in a conversation stands there already. */
function Output({ execution, kind }: { execution: Execution; kind: string }) {
  const { exitCode, stdout, stderr, files } = execution;
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
      {kind === "code" && exitCode !== null && (
        <div>
          <dt>Exit code</dt>
          <dd>
            <code>{exitCode}</code>
          </dd>
        </div>
      )}
      {files.slice(0, 50).map(([path, content]) => (
        <div key={path}>
          <dt>
            <code>{path}</code>
          </dt>
          <dd>
            <Value value={content} label={path} />
          </dd>
        </div>
      ))}
      {files.length > 50 && (
        <div>
          <dt>Files</dt>
          <dd>and {files.length - 50} more</dd>
        </div>
      )}
    </dl>
  );
}
