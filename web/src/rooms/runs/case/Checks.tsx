import type { Json } from "../../../api/client";
import type { Check } from "../data/check";
import { verdictOf } from "../data/verdict";
import { EventLinks } from "../parts/EventLinks";
import { MoreButton, useMore } from "../parts/More";
import { Value } from "../parts/Value";
import { VerdictBadge } from "../parts/VerdictBadge";

interface Props {
  checks: readonly Check[];
  session: string | null;
}

/** What judged a step or a case. What needs a look comes first; what passed, or was never made, can be folded. */
export function Checks({ checks, session }: Props) {
  const unmade = checks.filter((check) => check.status === "unscored" && !check.evidence?.length);
  const folds = unmade.length > 1;
  const passed = checks.filter((check) => check.status === "passed");
  const others = checks.filter((check) => check.status !== "passed" && !(folds && unmade.includes(check)));
  return (
    <>
      {others.length > 0 && <CheckList checks={others} session={session} />}
      {passed.length > 0 && (
        // Whoever looks for what went wrong sees that first.
        <details open={passed.length === checks.length}>
          <summary>
            <VerdictBadge verdict="passed" /> {passed.length}{" "}
            {passed.length === 1 ? "evaluation" : "evaluations"}
          </summary>
          <CheckList checks={passed} session={session} />
        </details>
      )}
      {folds && (
        <details>
          <summary>
            <VerdictBadge verdict="unjudged" word="unscored" /> {unmade.length} evaluations were not made
          </summary>
          <CheckList checks={unmade} session={session} />
        </details>
      )}
    </>
  );
}

/** What each looked for, what it found, and where. */
function CheckList({ checks, session }: Props) {
  const { shown, left, more } = useMore(checks, 50);
  return (
    <>
      <ul className="checks">
        {shown.map((check, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two evaluations may have the same name, and their order is fixed
          <CheckItem key={`${index} ${check.name}`} check={check} session={session} />
        ))}
      </ul>
      <MoreButton left={left} more={more} what="evaluations" />
    </>
  );
}

function CheckItem({ check, session }: { check: Check; session: string | null }) {
  // The first piece of evidence is the message itself; only its events are new.
  const evidence = check.evidence ?? [];
  const [first, ...rest] = evidence[0]?.text === check.message ? evidence : [null, ...evidence];
  const verdict = verdictOf(check.status);
  return (
    <li className={`run-check ${verdict}`}>
      <div className="row">
        <VerdictBadge verdict={verdict} word={check.status} />
        <strong className="check-name">{check.name}</strong>
        {check.line !== undefined && <span className="soft">line {check.line}</span>}
      </div>
      {check.description && <p className="soft">{check.description}</p>}
      {check.message && (
        <p>
          {check.message} <EventLinks session={session} events={first?.events ?? []} />
        </p>
      )}
      {rest.length > 0 && <EvidenceList evidence={rest} session={session} />}
      {check.score != null && <Score score={check.score} />}
      {check.value !== undefined && (
        <div className="check-value">
          <span className="soft">Value</span>
          <div className="grow">
            <Value value={check.value as Json} label="Value" />
          </div>
        </div>
      )}
    </li>
  );
}

type Evidence = NonNullable<Check["evidence"]>[number];

function EvidenceList({ evidence, session }: { evidence: (Evidence | null)[]; session: string | null }) {
  const { shown, left, more } = useMore(evidence, 20);
  return (
    <>
      <ul className="evidence">
        {shown.map((one, index) =>
          one ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: reasons have no names, and their order is fixed
            <li key={index}>
              {one.text} <EventLinks session={session} events={one.events ?? []} />
            </li>
          ) : null,
        )}
      </ul>
      <MoreButton left={left} more={more} what="reasons" />
    </>
  );
}

function Score({ score }: { score: number }) {
  const label = Number(score.toFixed(3));
  return (
    <span className="score">
      <span className="soft">Score </span>
      <meter min={0} max={1} value={score} aria-label={`Score ${label} of 1`} />
      <code>{label}</code>
    </span>
  );
}
