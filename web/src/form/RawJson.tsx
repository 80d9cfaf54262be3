import { useEffect, useRef, useState } from "react";
import type { Json } from "../api/client";
import { pretty } from "../json/show";
import { hasDraft, useDraft } from "../ui/draft";
import { same } from "./paths";
import { readJson } from "./text";

export interface RawJsonProps {
  id: string;
  value: Json | undefined;
  onChange(value: Json | undefined): void;
  onProblem(problem: string | null): void;
  label?: string;
  describedBy?: string | undefined;
  invalid?: boolean;
  required?: boolean;
  disabled?: boolean;
  placeholder?: string | undefined;
  rows?: number;
}

/** What was typed, and the value that stood there then. */
interface Typed {
  text: string;
  for?: Json | undefined;
}

const draftOf = (id: string): string => `json:${id}`;

/** Whether text that is not JSON yet is kept for the field of this id. */
export const isHalfTyped = (id: string): boolean => hasDraft(draftOf(id));

/**
 * A value as text. The text stays as it was typed for as long as it says the value; text that is not JSON yet changes
 * nothing, a message says where it stops being JSON, and it is kept so that nothing loses it.
 */
export function RawJson(props: RawJsonProps) {
  const { id, value, onChange, onProblem, describedBy, disabled = false } = props;
  const [typed, setTyped] = useState<Typed | null>(null);
  const [half, keepHalf] = useDraft<Typed | null>(draftOf(id), null);
  const says = (text: Typed | null) => text !== null && same(text.for, value);
  const known = says(half) ? half : says(typed) ? typed : null;
  const shown = known?.text ?? (value === undefined ? "" : pretty(value));
  const read = readJson(shown);
  const problem = "problem" in read ? read.problem : null;
  const tell = useRef(onProblem);
  tell.current = onProblem;
  useEffect(() => {
    tell.current(problem);
    return () => {
      if (problem !== null) tell.current(null);
    };
  }, [problem]);
  const type = (text: string) => {
    const next = readJson(text);
    const valid = "value" in next;
    const now: Typed = { text, for: valid ? next.value : value };
    setTyped(now);
    if (!valid) keepHalf(now);
    else if (half !== null) keepHalf(undefined);
    if (valid && !same(next.value, value)) onChange(next.value);
  };
  const described = [describedBy, problem === null ? undefined : `${id}-json`].filter(
    (part) => part !== undefined,
  );
  return (
    <>
      <textarea
        id={id}
        className="mono form-json"
        aria-label={props.label}
        aria-describedby={described.join(" ") || undefined}
        aria-invalid={props.invalid === true || problem !== null || undefined}
        aria-required={props.required || undefined}
        disabled={disabled}
        placeholder={props.placeholder}
        rows={props.rows ?? 3}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        value={shown}
        onChange={(event) => type(event.target.value)}
      />
      <p id={`${id}-json`} className="form-problem" aria-live="polite" hidden={problem === null}>
        {problem}
      </p>
    </>
  );
}
