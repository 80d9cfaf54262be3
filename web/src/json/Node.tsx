import { memo, useState } from "react";
import type { Json, JsonObject } from "../api/client";
import { Icon } from "../ui/Icon";
import { isBig, isBranch } from "./exact";
import { childPath } from "./find";
import { oneLine, sizeOf } from "./show";

export interface NodeState {
  isOpen(path: string, level: number): boolean;
  toggle(path: string, open: boolean): void;
  isFound(path: string): boolean;
}

interface NodeProps {
  value: Json;
  name?: string | number;
  path: string;
  level: number;
  state: NodeState;
}

/** How many entries and characters are shown before somebody asks for more. */
const ENTRIES = 100;
const CHARACTERS = 2_000;
const MORE_CHARACTERS = 50_000;

/** A value and what is in it; drawn again only when it or what is unfolded changes. */
export const Node = memo(function Node(props: NodeProps) {
  const { value } = props;
  return isBranch(value) ? <Branch {...props} value={value} /> : <Leaf {...props} />;
});

function Name({ name }: { name: string | number | undefined }) {
  if (name === undefined) return null;
  return <span className={typeof name === "number" ? "json-index" : "json-key"}>{name}: </span>;
}

/** The first entries of a value, each with its key. */
function firstOf(value: Json[] | JsonObject, most: number): [string | number, Json][] {
  if (Array.isArray(value)) return value.slice(0, most).map((item, index) => [index, item]);
  const keys = Object.keys(value).slice(0, most);
  return keys.map((key) => [key, value[key] as Json]);
}

/** How a folded value begins. */
const Beginning = memo(function Beginning({ value }: { value: Json }) {
  return ` ${oneLine(value, 80)}`;
});

function Branch({ value, name, path, level, state }: NodeProps & { value: Json[] | JsonObject }) {
  const [shown, setShown] = useState(ENTRIES);
  const isArray = Array.isArray(value);
  const count = isArray ? value.length : Object.keys(value).length;
  if (count === 0) {
    return (
      <div className="json-line">
        <Name name={name} />
        <span className="soft">{isArray ? "[] (empty)" : "{} (empty)"}</span>
      </div>
    );
  }
  // The whole has no name to fold under.
  const open = level === 0 || state.isOpen(path, level);
  const children = open && (
    <ul className={level === 0 ? "json-roots" : "json-children"}>
      {firstOf(value, shown).map(([key, item]) => (
        <li key={key}>
          <Node value={item} name={key} path={childPath(path, key)} level={level + 1} state={state} />
        </li>
      ))}
      {count > shown && (
        <li>
          <button type="button" className="button small" onClick={() => setShown(shown + ENTRIES)}>
            {Math.min(ENTRIES, count - shown)} more of {count - shown}
          </button>
        </li>
      )}
    </ul>
  );
  if (level === 0) return children;
  return (
    <div className="json-branch">
      <button
        type="button"
        className={state.isFound(path) ? "json-fold json-found" : "json-fold"}
        aria-expanded={open}
        onClick={() => state.toggle(path, !open)}
      >
        <Icon name="chevron" />
        <Name name={name} />
        <span className="soft">
          {isArray ? "[" : "{"} {sizeOf(value)} {isArray ? "]" : "}"}
          {!open && <Beginning value={value} />}
        </span>
      </button>
      {children}
    </div>
  );
}

function Leaf({ value, name, path, state }: NodeProps) {
  const found = state.isFound(path) ? " json-found" : "";
  if (typeof value !== "string") {
    const kind = value === null ? "null" : isBig(value) ? "number" : typeof value;
    return (
      <div className={`json-line${found}`}>
        <Name name={name} />
        <span className={`json-${kind}`}>{String(value)}</span>
      </div>
    );
  }
  return (
    <div className={`json-line${found}`}>
      <Name name={name} />
      <Text text={value} />
    </div>
  );
}

/** A text; a long one is shown in pieces. */
export function Text({ text }: { text: string }) {
  const [shown, setShown] = useState(CHARACTERS);
  const left = text.length - shown;
  return (
    <span className="json-string">
      {left > 0 ? text.slice(0, shown) : text}
      {left > 0 && (
        <button type="button" className="button small" onClick={() => setShown(shown + MORE_CHARACTERS)}>
          … show {Math.min(MORE_CHARACTERS, left).toLocaleString("en")} more of {left.toLocaleString("en")}{" "}
          characters
        </button>
      )}
    </span>
  );
}
