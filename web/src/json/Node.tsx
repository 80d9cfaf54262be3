import { useState } from "react";
import type { Json } from "../api/client";
import { Icon } from "../ui/Icon";
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

export function Node(props: NodeProps) {
  const { value } = props;
  return value !== null && typeof value === "object" ? <Branch {...props} /> : <Leaf {...props} />;
}

function Name({ name }: { name: string | number | undefined }) {
  if (name === undefined) return null;
  return <span className={typeof name === "number" ? "json-index" : "json-key"}>{name}: </span>;
}

function Branch({ value, name, path, level, state }: NodeProps) {
  const [shown, setShown] = useState(ENTRIES);
  const isArray = Array.isArray(value);
  const entries = Object.entries(value as object) as [string, Json][];
  if (entries.length === 0) {
    return (
      <div className="json-line">
        <Name name={name} />
        <span className="soft">{isArray ? "[] (empty)" : "{} (empty)"}</span>
      </div>
    );
  }
  const children = (
    <ul className={level === 0 ? "json-roots" : "json-children"}>
      {entries.slice(0, shown).map(([key, item], index) => (
        <li key={key}>
          <Node
            value={item}
            name={isArray ? index : key}
            path={childPath(path, key)}
            level={level + 1}
            state={state}
          />
        </li>
      ))}
      {entries.length > shown && (
        <li>
          <button type="button" className="button small" onClick={() => setShown(shown + ENTRIES)}>
            {Math.min(ENTRIES, entries.length - shown)} more of {entries.length - shown}
          </button>
        </li>
      )}
    </ul>
  );
  // The whole has no name to fold under.
  if (level === 0) return children;
  const open = state.isOpen(path, level);
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
          {!open && ` ${oneLine(value, 80)}`}
        </span>
      </button>
      {open && children}
    </div>
  );
}

function Leaf({ value, name, path, state }: NodeProps) {
  const found = state.isFound(path) ? " json-found" : "";
  if (typeof value !== "string") {
    return (
      <div className={`json-line${found}`}>
        <Name name={name} />
        <span className={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>
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
