import { useMemo } from "react";
import type { Json } from "../../../api/client";
import { oneLine, pretty } from "../../../json/show";

const SHORT = 100;
const LONGEST = 20_000;

/** A value: in one line where it fits, folded where it does not, cut where it would hold up the page. */
export function Value({ value, label }: { value: Json | string; label: string }) {
  const text = useMemo(() => (typeof value === "string" ? value : pretty(value)), [value]);
  if (text.length <= SHORT && !text.includes("\n")) return <code>{text}</code>;
  const rest = text.length - LONGEST;
  return (
    <details className="run-value">
      <summary>
        <span className="visually-hidden">{label}: </span>
        <code>{oneLine(value, SHORT)}</code>
      </summary>
      <pre>{rest > 0 ? text.slice(0, LONGEST) : text}</pre>
      {rest > 0 && <p className="soft">… and {rest.toLocaleString()} more characters.</p>}
    </details>
  );
}
