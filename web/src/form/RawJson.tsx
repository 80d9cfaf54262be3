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
  /** What was half typed here when the page was left. */
  half?: HalfTyped | undefined;
  /** Told of text that is not JSON yet, for whoever keeps it; and when there is none any more. */
  onHalf?: ((half: HalfTyped | null) => void) | undefined;
  label?: string;
  describedBy?: string | undefined;
  invalid?: boolean;
  required?: boolean;
  disabled?: boolean;
  placeholder?: string | undefined;
  rows?: number;
  /** Text that is not JSON yet outlives the page. Only for a field that is there whenever its value is. */
  keeps?: boolean;
}

/** What was typed, and the value that stood there then. */
export interface HalfTyped {
  text: string;
  for?: Json | undefined;
}

interface Typed extends HalfTyped {
  /** Nothing was left; what is made of that comes with the next value. */
  open?: boolean;
}

const draftOf = (id: string): string => `json:${id}`;

/** Whether text that is not JSON yet is kept for the field of this id. */
export const isHalfTyped = (id: string): boolean => hasDraft(draftOf(id));

/**
 * A value as text. The text stays as it was typed for as long as it says the value; text that is not JSON yet changes
 * nothing, and a message says where it stops being JSON.
 */
export function RawJson(props: RawJsonProps) {
  const { id, value, onChange, onProblem, describedBy, disabled = false, keeps = false } = props;
  const [typed, setTyped] = useState<Typed | null>(props.half ?? null);
  const [kept, keep] = useDraft<Typed | null>(draftOf(id), null);
  const half = keeps ? kept : null;
  // Others may put something in the place of nothing; until somebody leaves, nothing is what was typed.
  const says = (text: Typed | null) => text !== null && same(text.for, value);
  if (typed?.open) setTyped({ text: typed.text, for: value });
  else if (typed?.text.trim() === "" && !says(typed)) setTyped(null);
  const known = says(half) ? half : says(typed) ? typed : null;
  const shown = known?.text ?? (value === undefined ? "" : pretty(value));
  const read = readJson(shown);
  const problem = "problem" in read ? read.problem : null;
  const tell = useRef(onProblem);
  tell.current = onProblem;
  // An item that moves has another id, under which its problem is known.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the id is in what is told
  useEffect(() => {
    const say = tell.current;
    say(problem);
    return () => {
      if (problem !== null) say(null);
    };
  }, [problem, id]);
  const hear = useRef(props.onHalf);
  hear.current = props.onHalf;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the id is in what is told
  useEffect(() => {
    hear.current?.(problem === null ? null : { text: shown, for: value });
  }, [problem, shown, value, id]);
  // It goes with its field, and comes to where its field moves to.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the id is in what is told
  useEffect(() => {
    const say = hear.current;
    return () => say?.(null);
  }, [id]);
  const type = (text: string) => {
    const next = readJson(text);
    const valid = "value" in next;
    const now: Typed = { text, for: valid ? next.value : value };
    setTyped(valid && next.value === undefined ? { text, open: true } : now);
    if (!valid && keeps) keep(now);
    else if (half !== null) keep(undefined);
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
        onBlur={() => {
          if (shown.trim() === "" && value !== undefined) setTyped(null);
        }}
      />
      <p id={`${id}-json`} className="form-problem" aria-live="polite" hidden={problem === null}>
        {problem}
      </p>
    </>
  );
}
