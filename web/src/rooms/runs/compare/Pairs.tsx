import { Link } from "wouter";
import { caseHref } from "../address";
import type { Case } from "../data/case";
import type { Pair } from "../data/compare";
import { MoreButton, useMore } from "../parts/More";
import { VerdictBadge } from "../parts/VerdictBadge";

const ROWS = 50;
/** What is in one run only is seldom what changed: a suite grew, or was repeated more often. */
const ONLY_ROWS = 10;
const CHANGES = 5;

interface Props {
  pairs: readonly Pair[];
  before: string;
  after: string;
  caption: string;
}

/** Cases of both runs, with what each came to in them. */
export function PairTable({ pairs, before, after, caption }: Props) {
  const { shown, left, more } = useMore(pairs, ROWS);
  return (
    <>
      <div className="card table-card">
        <table className="pairs">
          <caption className="visually-hidden">{caption}</caption>
          <thead>
            <tr>
              <th scope="col">Case</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((pair) => (
              <tr key={pair.key}>
                <th scope="row">
                  <CaseName one={pair.after} />
                  <ChangeList changes={pair.changes} />
                </th>
                <td>
                  <Went run={before} one={pair.before} when="before" />
                </td>
                <td>
                  <Went run={after} one={pair.after} when="after" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <MoreButton left={left} more={more} what="cases" />
    </>
  );
}

export function OnlyTable({ cases, run, caption }: { cases: readonly Case[]; run: string; caption: string }) {
  const { shown, left, more } = useMore(cases, ONLY_ROWS);
  return (
    <>
      <div className="card table-card">
        <table className="pairs">
          <caption className="visually-hidden">{caption}</caption>
          <thead>
            <tr>
              <th scope="col">Case</th>
              <th scope="col">Verdict</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <tr key={one.n}>
                <th scope="row">
                  <CaseName one={one} />
                </th>
                <td>
                  <Went run={run} one={one} when="" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <MoreButton left={left} more={more} what="cases" />
    </>
  );
}

function Went({ run, one, when }: { run: string; one: Case; when: string }) {
  return (
    <Link href={caseHref(run, one.n)}>
      <VerdictBadge verdict={one.verdict} />
      <span className="visually-hidden">
        {one.name} {when}
      </span>
    </Link>
  );
}

function CaseName({ one }: { one: Case }) {
  return (
    <>
      <span className="entry-title">
        {one.name}
        {one.repeat > 0 && ` #${one.repeat + 1}`}
      </span>
      {one.file && <span className="soft file">{one.file}</span>}
    </>
  );
}

function ChangeList({ changes }: { changes: readonly string[] }) {
  if (changes.length === 0) return null;
  return (
    <ul className="changes">
      {changes.slice(0, CHANGES).map((change) => (
        <li key={change}>{change}</li>
      ))}
      {changes.length > CHANGES && <li className="soft">and {changes.length - CHANGES} more</li>}
    </ul>
  );
}
