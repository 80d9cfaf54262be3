import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { memo, type ReactNode, useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { useTopOf } from "../../../ui/place";
import { caseHref, useAddress } from "../address";
import { inOrder, type Line } from "../data/case";
import { filter, type Group, group } from "../data/result";
import { percent, wilson } from "../data/summary";
import { MoreButton, useMore } from "../parts/More";
import { took as inTime } from "../parts/took";
import { VerdictBadge } from "../parts/VerdictBadge";
import { CaseFilter } from "./CaseFilter";

const REPEATS = 12;
/** How high a row is until it was seen. */
const ROW_PX = 58;

type Order = "newest" | "worst";

/** What is shown in one row: the repeats of a case together, or one of them. */
interface Row {
  key: string;
  group: Group;
}

interface Props {
  run: string;
  lines: readonly Line[];
  /** Whether more of them are to come. */
  goesOn: boolean;
}

/** The cases of a run that have ended. Only the rows in view are on the page, however many there are. */
export function CaseTable({ run, lines, goesOn }: Props) {
  const [params, change] = useAddress();
  // While cases end, those that ended last are looked for. Who looks at them when the run ends goes on looking at them.
  const [usual] = useState<Order>(goesOn ? "newest" : "worst");
  const asked = params.get("order");
  const order: Order = asked === "newest" || asked === "worst" ? asked : usual;
  const [verdict, text] = [params.get("verdict") ?? "", params.get("q") ?? ""];
  // What a person types and chooses goes before what arrives.
  const known = useDeferredValue(lines);
  const fitting = useMemo(() => filter(known, verdict, text), [known, verdict, text]);
  const rows = useMemo(() => rowsOf(fitting, order), [fitting, order]);
  return (
    <section className="stack tight" aria-labelledby="cases">
      <div className="row apart">
        <h2 id="cases">Cases</h2>
        <label className="row order">
          Order
          <select value={order} onChange={(event) => change({ order: event.target.value })}>
            <option value="worst">what needs a look first</option>
            <option value="newest">newest first</option>
          </select>
        </label>
      </div>
      <CaseFilter cases={known} />
      {/* What arrives by itself is not read out each time. */}
      <p role={goesOn ? undefined : "status"} className="soft">
        {said(rows.length, known.length, goesOn, order)}
      </p>
      {rows.length > 0 && <Rows key={order} run={run} rows={rows} anchored={order === "newest"} />}
    </section>
  );
}

function said(shown: number, known: number, goesOn: boolean, order: Order): string {
  if (known === 0) return goesOn ? "No case has ended yet." : "No case has ended.";
  if (shown === 0) return "No case fits. Take away a word or choose another verdict.";
  const what = order === "newest" ? ["run of a case", "runs of cases"] : ["case", "cases"];
  return `${shown.toLocaleString()} ${shown === 1 ? what[0] : what[1]}`;
}

function rowsOf(lines: readonly Line[], order: Order): Row[] {
  if (order === "worst") return group(lines.toSorted(inOrder)).map((one) => ({ key: one.key, group: one }));
  return lines.map((one) => ({ key: String(one.n), group: alone(one) })).reverse();
}

const alone = (one: Line): Group => ({
  key: String(one.n),
  name: one.repeat > 0 ? `${one.name} #${one.repeat + 1}` : one.name,
  file: one.file ?? null,
  verdict: one.verdict,
  passed: one.verdict === "passed" ? 1 : 0,
  cases: [one],
  meanMs: one.duration_ms,
});

interface RowsProps {
  run: string;
  rows: readonly Row[];
  /** Whether what is in view stays there when other rows come before it. */
  anchored: boolean;
}

function Rows({ run, rows, anchored }: RowsProps) {
  const body = useRef<HTMLDivElement>(null);
  const margin = useTopOf(body);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => rows[index]?.key ?? index,
    scrollMargin: margin,
    overscan: 8,
  });
  const items = virtual.getVirtualItems();
  const top = items.find((item) => item.end > window.scrollY);
  const inView = useRef<{ key: unknown; start: number } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only other rows move what is in view
  useLayoutEffect(() => {
    const before = inView.current;
    if (!anchored || before === null || window.scrollY <= margin) return;
    const place = rows.findIndex((row) => row.key === before.key);
    const start = virtual.measurementsCache[place]?.start;
    if (start !== undefined && start !== before.start) window.scrollBy(0, start - before.start);
  }, [rows]);
  useLayoutEffect(() => {
    inView.current = top ? { key: top.key, start: top.start } : null;
  });
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows of a table element cannot be placed
    <div
      role="table"
      className="card table-card case-rows"
      aria-label="Cases with their verdicts"
      aria-rowcount={rows.length + 1}
    >
      <RowGroup>
        {/* biome-ignore lint/a11y/useSemanticElements: as above */}
        {/* biome-ignore lint/a11y/useFocusableInteractive: it is no widget */}
        <div role="row" className="case-row head" aria-rowindex={1}>
          <Head>Case</Head>
          <Head>Verdict</Head>
          <Head wide>Took</Head>
        </div>
      </RowGroup>
      {/* biome-ignore lint/a11y/useSemanticElements: as above */}
      <div role="rowgroup" ref={body} className="case-body" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          return (
            // biome-ignore lint/a11y/useSemanticElements: as above
            // biome-ignore lint/a11y/useFocusableInteractive: it is no widget
            <div
              key={item.key}
              ref={virtual.measureElement}
              role="row"
              className="case-row"
              data-index={item.index}
              data-case={row.group.cases[0]?.n}
              aria-rowindex={item.index + 2}
              style={{ transform: `translateY(${item.start - margin}px)` }}
            >
              <GroupCells run={run} group={row.group} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function RowGroup({ children }: { children: ReactNode }) {
  // biome-ignore lint/a11y/useSemanticElements: rows of a table element cannot be placed
  return <div role="rowgroup">{children}</div>;
}

function Head({ wide = false, children }: { wide?: boolean; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows of a table element cannot be placed
    // biome-ignore lint/a11y/useFocusableInteractive: it is no widget
    <div role="columnheader" className={wide ? "wide" : undefined}>
      {children}
    </div>
  );
}

const GroupCells = memo(
  function GroupCells({ run, group }: { run: string; group: Group }) {
    const [first] = group.cases;
    if (!first) return null;
    const repeated = group.cases.length > 1;
    return (
      <>
        {/* biome-ignore lint/a11y/useSemanticElements: rows of a table element cannot be placed */}
        {/* biome-ignore lint/a11y/useFocusableInteractive: it is no widget */}
        <div role="rowheader">
          <Link href={caseHref(run, first.n)}>{group.name}</Link>
          {group.file && <span className="soft file">{group.file}</span>}
          {repeated && <Repeats run={run} group={group} />}
          {!repeated && first.why && <span className="soft why">{first.why}</span>}
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: as above */}
        <div role="cell">
          <VerdictBadge verdict={group.verdict} />
          {repeated && <Share group={group} />}
          {!repeated && first.fault && first.fault !== "agent" && (
            <span className="soft block">fault: {first.fault}</span>
          )}
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: as above */}
        <div role="cell" className="wide">
          {inTime(group.meanMs)}
          {repeated && <span className="soft block">on average</span>}
          {!repeated && first.cost != null && <span className="soft block">{cost(first.cost)}</span>}
        </div>
      </>
    );
  },
  (before, after) => before.run === after.run && isSame(before.group, after.group),
);

/** Whether two rows show the same. Cases that have ended do not change. */
const isSame = (a: Group, b: Group): boolean =>
  a.key === b.key && a.cases.length === b.cases.length && a.cases.every((one, at) => one === b.cases[at]);

/** Money, with as many digits as say something. */
export const cost = (dollars: number): string =>
  `$${dollars >= 1 || dollars === 0 ? dollars.toFixed(2) : dollars.toPrecision(2)}`;

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
