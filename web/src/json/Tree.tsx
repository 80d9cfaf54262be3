import { useDeferredValue, useId, useMemo, useState } from "react";
import type { Json } from "../api/client";
import { Copy } from "../ui/Copy";
import { Icon } from "../ui/Icon";
import { isBig, isBranch } from "./exact";
import { find } from "./find";
import { Node, type NodeState } from "./Node";
import { pretty } from "./show";
import "../style/json.css";

/** Below this many characters a value is small enough to do without tools around it. */
const SMALL = 200;

/** A JSON value as a tree that folds, copies and searches. Only what is unfolded is on the page. */
export function Tree({ value, label, depth = 3 }: { value: Json; label: string; depth?: number }) {
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [search, setSearch] = useState("");
  const sought = useDeferredValue(search.trim());
  const found = useMemo(() => (sought === "" ? null : find(value, sought)), [value, sought]);
  const [all, setAll] = useState<boolean | null>(null);
  const field = useId();
  const small = useMemo(() => isSmall(value), [value]);

  // The same as long as nothing of it changes, so that what is on the page need not be drawn again.
  const state: NodeState = useMemo(
    () => ({
      isOpen: (path, level) => {
        const chosen = folds.get(path);
        if (chosen !== undefined) return chosen;
        if (found?.open.has(path)) return true;
        return all ?? level < depth;
      },
      toggle: (path, open) => setFolds((before) => new Map(before).set(path, open)),
      isFound: (path) => found?.paths.has(path) ?? false,
    }),
    [folds, found, all, depth],
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
    <div className="json">
      <div className="json-tools">
        <label className="json-search" htmlFor={field}>
          <Icon name="search" />
          <span className="visually-hidden">Search in {label}</span>
          <input
            id={field}
            type="search"
            placeholder="Search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        </label>
        {found && (
          <span className="soft" role="status">
            {found.paths.size === 0 ? "nothing found" : `${found.paths.size}${found.more ? "+" : ""} found`}
          </span>
        )}
        <button type="button" className="button small" onClick={() => fold(true)}>
          Unfold
        </button>
        <button type="button" className="button small" onClick={() => fold(false)}>
          Fold
        </button>
        <Copy text={() => pretty(value)} />
      </div>
      <Node value={value} path="" level={0} state={state} />
    </div>
  );
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
