import { useDeferredValue, useEffect, useId, useMemo, useRef, useState } from "react";
import { inWords, type Json } from "../api/client";
import { Copy } from "../ui/Copy";
import { Icon } from "../ui/Icon";
import { isBig, isBranch } from "./exact";
import { type Found, find } from "./find";
import { FIRST_ENTRIES, Node, type NodeState } from "./Node";
import { depthFor, pretty } from "./show";
import "../style/json.css";

/** Below this many characters a value is small enough to do without tools around it. */
const SMALL = 200;
/** About so many lines are unfolded before somebody asks for more. */
const FIRST_LINES = 20;

interface TreeProps {
  value: Json;
  label: string;
  depth?: number;
  /** Whether there is a button that copies it; not where one stands beside it. */
  copies?: boolean;
  /** Reads it whole, where the server has cut it: what is copied is never a part. */
  whole?: (() => Promise<Json>) | undefined;
}

/** A JSON value as a tree that folds, copies and searches. Only what is unfolded is on the page. */
export function Tree({ value: given, label, depth = 3, copies = true, whole: readWhole }: TreeProps) {
  const [read, setRead] = useState<{ of: Json; value: Json } | null>(null);
  // Once somebody has asked for all of it, it is not a part any more.
  const isRead = read !== null && read.of === given;
  const value = isRead ? read.value : given;
  const whole = isRead ? undefined : readWhole;
  const reading = useReading();
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [search, setSearch] = useState("");
  const sought = useDeferredValue(search.trim());
  const found = useMemo(() => (sought === "" ? null : find(value, sought)), [value, sought]);
  const [all, setAll] = useState<boolean | null>(null);
  const field = useId();
  const small = useMemo(() => isSmall(value), [value]);
  const first = useMemo(() => depthFor(value, depth, FIRST_LINES, FIRST_ENTRIES), [value, depth]);
  const matches = useMatches(found, whole !== undefined);
  const { current } = matches;

  // The same as long as nothing of it changes, so that what is on the page need not be drawn again.
  const state: NodeState = useMemo(
    () => ({
      isOpen: (path, level) => {
        const chosen = folds.get(path);
        if (chosen !== undefined) return chosen;
        if (found?.open.has(path)) return true;
        return all ?? level < first;
      },
      toggle: (path, open) => setFolds((before) => new Map(before).set(path, open)),
      found,
      current,
      isCut: whole !== undefined,
    }),
    [folds, found, current, all, first, whole],
  );
  const fold = (open: boolean) => {
    setFolds(new Map());
    setAll(open);
  };

  if (small) {
    return (
      <div className="json">
        <Node value={value} path="" level={0} state={state} />
      </div>
    );
  }
  return (
    <div className="json" ref={matches.around}>
      <div className="json-tools">
        <label className="json-search" htmlFor={field}>
          <Icon name="search" />
          <span className="visually-hidden">Search in {label}</span>
          <input
            id={field}
            type="search"
            placeholder="Search"
            value={search}
            onChange={(event) => {
              setSearch(event.target.value);
              // What somebody folded must not hide what they look for now.
              setFolds(new Map());
            }}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              // It goes from one to the next; it sends no form around it.
              event.preventDefault();
              matches.go(event.shiftKey ? -1 : 1);
            }}
          />
        </label>
        {found && (
          <>
            <span className="soft" role="status">
              {matches.words}
            </span>
            {whole !== undefined && (
              <button
                type="button"
                className="button small"
                aria-disabled={reading.isPending || undefined}
                onClick={() => reading.read(whole, (all) => setRead({ of: given, value: all }))}
              >
                {reading.isPending ? "Reading it…" : "Search all of it"}
              </button>
            )}
            {reading.problem !== null && <span role="alert">{reading.problem}</span>}
            {found.paths.size > 1 && (
              <>
                <button type="button" className="button small" onClick={() => matches.go(-1)}>
                  <Icon name="up" />
                  Previous
                </button>
                <button type="button" className="button small" onClick={() => matches.go(1)}>
                  <Icon name="down" />
                  Next
                </button>
              </>
            )}
          </>
        )}
        <button type="button" className="button small" onClick={() => fold(true)}>
          Unfold
        </button>
        <button type="button" className="button small" onClick={() => fold(false)}>
          Fold
        </button>
        {copies && <Copy text={async () => pretty(whole ? await whole() : value)} of={label} />}
      </div>
      <Node value={value} path="" level={0} state={state} />
    </div>
  );
}

/** Reads a value that the server has cut. */
function useReading() {
  const [state, setState] = useState({ isPending: false, problem: null as string | null });
  const read = async (whole: () => Promise<Json>, then: (value: Json) => void) => {
    if (state.isPending) return;
    setState({ isPending: true, problem: null });
    try {
      then(await whole());
      setState({ isPending: false, problem: null });
    } catch (error) {
      setState({ isPending: false, problem: inWords(error) });
    }
  };
  return { ...state, read };
}

/** Goes through what was found, and brings it into view. */
function useMatches(found: Found | null, isPart: boolean) {
  const around = useRef<HTMLDivElement>(null);
  const paths = useMemo(() => [...(found?.paths ?? [])], [found]);
  const [at, setAt] = useState({ found, index: 0 });
  // Another search begins with the first.
  const index = at.found === found ? at.index : 0;
  const current = paths[index] ?? null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was found is drawn anew with each search
  useEffect(() => {
    if (current !== null)
      around.current?.querySelector(".json-current")?.scrollIntoView({ block: "nearest" });
  }, [current, found]);
  const go = (step: number) => {
    if (paths.length > 0) setAt({ found, index: (index + step + paths.length) % paths.length });
  };
  const count = `${paths.length}${found?.more ? "+" : ""}`;
  const part = isPart ? " in the part that is here" : "";
  const words =
    paths.length === 0
      ? `nothing found${part || (found?.more ? " in the first half million values" : "")}`
      : paths.length === 1
        ? `${count} found${part}`
        : `${index + 1} of ${count} found${part}`;
  return { around, current, go, words };
}

function isSmall(value: Json): boolean {
  if (!isBranch(value)) return typeof value !== "string" || value.length < SMALL;
  let left = SMALL;
  const fits = (value: Json): boolean => {
    left -= isBig(value) ? value.digits.length : typeof value === "string" ? value.length + 2 : 4;
    if (left < 0) return false;
    if (Array.isArray(value)) return value.every(fits);
    if (!isBranch(value)) return true;
    return Object.keys(value).every((key) => {
      left -= key.length;
      return fits(value[key] as Json);
    });
  };
  return fits(value);
}
