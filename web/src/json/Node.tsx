import { memo, useMemo, useState } from "react";
import type { Json, JsonObject } from "../api/client";
import { Icon } from "../ui/Icon";
import { LongText } from "../ui/LongText";
import { Address } from "./Address";
import { isBig, isBranch } from "./exact";
import { childPath, type Found } from "./find";
import { addressOf } from "./media";
import { leftOut, oneLine, sizeOf } from "./show";

export interface NodeState {
  isOpen(path: string, level: number): boolean;
  toggle(path: string, open: boolean): void;
  /** What is looked for, and where it was found; null when nothing is. */
  found: Found | null;
  /** The place among those found that is looked at. */
  current: string | null;
  /** Whether the server has cut large values, and says so in their last entries. */
  isCut: boolean;
}

interface NodeProps {
  value: Json;
  name?: string | number;
  path: string;
  level: number;
  state: NodeState;
}

/** Of many entries so few are shown at first, and so many more each time somebody asks. */
export const FIRST_ENTRIES = 20;
const MORE_ENTRIES = 100;

/** A value and what is in it; drawn again only when it or what is unfolded changes. */
export const Node = memo(function Node(props: NodeProps) {
  const { value } = props;
  return isBranch(value) ? <Branch {...props} value={value} /> : <Leaf {...props} />;
});

function Name({ name }: { name: string | number | undefined }) {
  if (name === undefined) return null;
  return <span className={typeof name === "number" ? "json-index" : "json-key"}>{name}: </span>;
}

type Entry = [key: string | number, value: Json];

/** The first entries of a value, each with its key; and those behind them in which something was found. */
function entriesOf(value: Json[] | JsonObject, most: number, isSought: (key: string) => boolean): Entry[] {
  const keys = Object.keys(value);
  const shown = keys.filter((key, index) => index < most || isSought(key));
  return shown.map((key) => [Array.isArray(value) ? Number(key) : key, (value as JsonObject)[key] as Json]);
}

/** How it looks that something was found here, and that it is what is looked at now. */
function foundClass({ found, current }: NodeState, path: string): string {
  if (!found?.paths.has(path)) return "";
  return path === current ? " json-found json-current" : " json-found";
}

/** How a folded value begins. */
const Beginning = memo(function Beginning({ value }: { value: Json }) {
  return ` ${oneLine(value, 80)}`;
});

function Branch({ value, name, path, level, state }: NodeProps & { value: Json[] | JsonObject }) {
  const [shown, setShown] = useState(FIRST_ENTRIES);
  const isArray = Array.isArray(value);
  const more = state.isCut ? leftOut(value) : 0;
  const here = useMemo(() => (more > 0 ? (value as Json[]).slice(0, -1) : value), [value, more]);
  const count = Object.keys(here).length;
  // The whole has no name to fold under.
  const open = level === 0 || state.isOpen(path, level);
  const { found } = state;
  const entries = useMemo(() => {
    const isSought = (key: string) => {
      const inside = childPath(path, key);
      return found !== null && (found.paths.has(inside) || found.open.has(inside));
    };
    return open ? entriesOf(here, shown, isSought) : [];
  }, [here, shown, open, found, path]);
  if (count === 0 && more === 0) {
    return (
      <div className="json-line">
        <Name name={name} />
        <span className="soft">{isArray ? "[] (empty)" : "{} (empty)"}</span>
      </div>
    );
  }
  const children = open && (
    <ul className={level === 0 ? "json-roots" : "json-children"}>
      {entries.map(([key, item]) => (
        <li key={key}>
          <Node value={item} name={key} path={childPath(path, key)} level={level + 1} state={state} />
        </li>
      ))}
      {count > shown && (
        <li>
          <button type="button" className="button small" onClick={() => setShown(shown + MORE_ENTRIES)}>
            {Math.min(MORE_ENTRIES, count - shown)} more of {count - shown}
          </button>
        </li>
      )}
      {more > 0 && <li className="json-line soft">… {more} more are not here</li>}
    </ul>
  );
  if (level === 0) return children;
  return (
    <div className="json-branch">
      <button
        type="button"
        className={`json-fold${foundClass(state, path)}`}
        aria-expanded={open}
        onClick={() => state.toggle(path, !open)}
      >
        <Icon name="chevron" />
        <Name name={name} />
        <span className="soft">
          {isArray ? "[" : "{"} {more > 0 ? `${count} of ${count + more} items` : sizeOf(value)}{" "}
          {isArray ? "]" : "}"}
          {!open && <Beginning value={value} />}
        </span>
      </button>
      {children}
    </div>
  );
}

function Leaf({ value, name, path, state }: NodeProps) {
  const { found } = state;
  const sought = found?.paths.has(path) ? found.sought : "";
  const kind = value === null ? "null" : isBig(value) ? "number" : typeof value;
  const text = String(value);
  const address = sought === "" && typeof value === "string" ? addressOf(value) : null;
  const at = sought === "" ? -1 : text.toLowerCase().indexOf(sought);
  return (
    <div className={`json-line${foundClass(state, path)}`}>
      <Name name={name} />
      <span className={`json-${kind}`}>
        {address !== null ? (
          <Address to={address} />
        ) : at < 0 ? (
          <LongText text={text} />
        ) : (
          // What is found far inside a long text is shown, with a little of what follows.
          <LongText
            text={text}
            upTo={at + sought.length + AROUND}
            draw={(part) => (
              <>
                {part.slice(0, at)}
                <mark>{part.slice(at, at + sought.length)}</mark>
                {part.slice(at + sought.length)}
              </>
            )}
          />
        )}
      </span>
    </div>
  );
}

/** So much is shown behind what was found in a long text. */
const AROUND = 200;
