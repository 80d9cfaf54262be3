import { useMemo } from "react";
import { Link } from "wouter";
import { caseHref, useAddress } from "../address";
import { type Case, checksOf, terminatedBy } from "../data/case";
import { filter, type Group, group } from "../data/result";
import { percent, wilson } from "../data/summary";
import { MoreButton, useMore } from "../parts/More";
import { took as inTime } from "../parts/took";
import { VerdictBadge } from "../parts/VerdictBadge";
import { CaseFilter } from "./CaseFilter";

const ROWS = 50;
const REPEATS = 12;

/** The cases of a run, the repeats of each together. */
export function CaseTable({ run, cases }: { run: string; cases: readonly Case[] }) {
  const [params] = useAddress();
  const [verdict, text] = [params.get("verdict") ?? "", params.get("q") ?? ""];
  const groups = useMemo(() => group(filter(cases, verdict, text)), [cases, verdict, text]);
  const { shown, left, more } = useMore(groups, ROWS);
  return (
    <section className="stack tight" aria-labelledby="cases">
      <h2 id="cases">Cases</h2>
      <CaseFilter cases={cases} />
      <p role="status" className="soft">
        {groups.length === 0
          ? "No case fits. Take away a word or choose another verdict."
          : `${groups.length.toLocaleString()} ${groups.length === 1 ? "case" : "cases"}`}
      </p>
      {groups.length > 0 && (
        <div className="card table-card">
          <table className="cases-table">
            <caption className="visually-hidden">Cases with their verdicts</caption>
            <thead>
              <tr>
                <th scope="col">Case</th>
                <th scope="col">Verdict</th>
                <th scope="col" className="wide">
                  Took
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((one) => (
                <GroupRow key={one.key} run={run} group={one} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <MoreButton left={left} more={more} what="cases" />
    </section>
  );
}

function GroupRow({ run, group }: { run: string; group: Group }) {
  const [first] = group.cases;
  if (!first) return null;
  const repeated = group.cases.length > 1;
  return (
    <tr>
      <th scope="row">
        <Link href={caseHref(run, first.n)}>{group.name}</Link>
        {group.file && <span className="soft file">{group.file}</span>}
        {repeated && <Repeats run={run} group={group} />}
        {!repeated && <Why one={first} />}
      </th>
      <td>
        <VerdictBadge verdict={group.verdict} />
        {repeated && <Share group={group} />}
      </td>
      <td className="wide">
        {inTime(group.meanMs)}
        {repeated && <span className="soft block">on average</span>}
      </td>
    </tr>
  );
}

/** Why it did not pass, in a line. */
function Why({ one }: { one: Case }) {
  if (one.verdict === "passed") return null;
  const failed = checksOf(one).find((check) => check.status === "failed" || check.status === "error");
  const said = one.error?.message ?? terminatedBy(one) ?? failed?.message;
  return said ? <span className="soft why">{said.split("\n", 1)[0]}</span> : null;
}

function Share({ group }: { group: Group }) {
  const [low, high] = wilson(group.passed, group.cases.length);
  return (
    <span className="soft block">
      {group.passed.toLocaleString()} of {group.cases.length.toLocaleString()} passed
      <span className="block small-print">
        95 % interval {percent(low)} to {percent(high)}
      </span>
    </span>
  );
}

function Repeats({ run, group }: { run: string; group: Group }) {
  const { shown, left, more } = useMore(group.cases, REPEATS);
  return (
    <>
      <ul className="repeats" aria-label={`Repeats of ${group.name}`}>
        {shown.map((one) => (
          <li key={one.n}>
            <Link href={caseHref(run, one.n)}>
              #{one.repeat + 1} <VerdictBadge verdict={one.verdict} />
            </Link>
          </li>
        ))}
      </ul>
      <MoreButton left={left} more={more} what="repeats" />
    </>
  );
}
