/** Controls for values without parts. Each changes its own value, and only when somebody uses it. */

import type { FieldProps } from "@rjsf/utils";
import { useEffect, useRef, useState } from "react";
import type { Json, JsonObject } from "../api/client";
import { whole } from "../json/exact";
import { Icon } from "../ui/Icon";
import { aria, contextOf, describedBy, idOf, isHeld, nameOf } from "./context";
import { isNumber, own, same } from "./paths";
import { MARK } from "./prepare";
import { RawJson } from "./RawJson";
import { brief, looksRight } from "./words";

/** Texts that may be this long, or are called long, get more room from the start. */
const LONG = 200;
const ONE_LINE: Record<string, { type?: string; mode?: "email" | "url"; example?: string }> = {
  date: { type: "date" },
  time: { example: "12:30:00Z" },
  "date-time": { example: "2025-01-31T12:30:00Z" },
  duration: { example: "PT1H30M" },
  email: { mode: "email" },
  uri: { mode: "url" },
  url: { mode: "url" },
  uuid: {},
  ipv4: {},
  ipv6: {},
  hostname: {},
  password: { type: "password" },
};

interface Control {
  id: string;
  schema: JsonObject;
  value: Json | undefined;
  change(value: Json | undefined): void;
  required: boolean;
  disabled: boolean;
  /** It cannot be absent. */
  held: boolean;
  attributes: ReturnType<typeof aria>;
}

function control(props: FieldProps): Control {
  const { schema, formData, onChange, fieldPathId, required = false, rawErrors, registry } = props;
  const { path } = fieldPathId;
  const id = idOf(registry, path);
  const node = schema as JsonObject;
  return {
    id,
    schema: node,
    value: formData as Json | undefined,
    change: (value) => onChange(value, path),
    required,
    disabled: props.disabled === true || props.readonly === true,
    held: isHeld(path, props.uiSchema),
    attributes: aria(id, node, formData as Json | undefined, required, rawErrors),
  };
}

const ghost = (schema: JsonObject): string | undefined =>
  "default" in schema && schema.default !== null ? brief(schema.default) : undefined;

export function TextField(props: FieldProps) {
  if (Array.isArray(props.schema.enum)) return <SelectField {...props} />;
  return <TextControl {...props} />;
}

const isLong = ({ format, maxLength }: JsonObject): boolean =>
  format === "textarea" || format === "markdown" || (typeof maxLength === "number" && maxLength > LONG);

/** One line, in which Enter sends; several for whoever asks for them, because a line would drop its line breaks. */
function TextControl(props: FieldProps) {
  const { id, schema, value, change, disabled, held, attributes } = control(props);
  const shown = typeof value === "string" ? value : "";
  const type = (text: string) => change(text === "" && !held ? undefined : text);
  const long = isLong(schema);
  const broken = /[\r\n]/.test(shown);
  // It stays as it is when its last line break goes: another control in its place would lose the focus.
  const [several, setSeveral] = useState(broken);
  if (broken && !several) setSeveral(true);
  const area = useRef<HTMLTextAreaElement>(null);
  const caret = useRef<number | null>(null);
  useEffect(() => {
    if (caret.current === null || !area.current) return;
    area.current.focus();
    area.current.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  });
  if (long || several || broken) {
    return (
      <textarea
        id={id}
        ref={area}
        className="form-text"
        rows={long ? 4 : 2}
        placeholder={ghost(schema)}
        autoComplete="off"
        disabled={disabled}
        value={shown}
        onChange={(event) => type(event.target.value)}
        {...attributes}
      />
    );
  }
  /** Goes on in several lines, with more in the place of what is selected. */
  const goOn = (input: HTMLInputElement, more: string) => {
    const from = input.selectionStart ?? shown.length;
    const to = input.selectionEnd ?? shown.length;
    caret.current = from + more.length;
    setSeveral(true);
    if (more !== "") type(shown.slice(0, from) + more + shown.slice(to));
  };
  const line = own(ONE_LINE, String(schema.format ?? ""));
  // A date that no calendar has cannot be shown by a calendar, and must not look like nothing.
  const odd = line?.type === "date" && looksRight(schema, shown) === false;
  const input = (
    <input
      id={id}
      type={odd ? "text" : (line?.type ?? "text")}
      inputMode={line?.mode}
      placeholder={ghost(schema) ?? line?.example}
      autoComplete="off"
      spellCheck={line ? false : undefined}
      disabled={disabled}
      value={shown}
      onChange={(event) => type(event.target.value)}
      onPaste={(event) => {
        const pasted = event.clipboardData.getData("text").replace(/\r\n?/g, "\n");
        if (!pasted.includes("\n") || line?.type) return;
        event.preventDefault();
        goOn(event.currentTarget, pasted);
      }}
      onKeyDown={(event) => {
        if (line || event.key !== "Enter" || !event.shiftKey || event.nativeEvent.isComposing) return;
        event.preventDefault();
        goOn(event.currentTarget, "\n");
      }}
      {...attributes}
    />
  );
  if (line) return input;
  return (
    <div className="form-line">
      {input}
      <button
        type="button"
        className="button plain small"
        // The keyboard has Shift+Enter for it, and one stop less.
        tabIndex={-1}
        disabled={disabled}
        title="Several lines (Shift+Enter)"
        aria-label={`Several lines: ${nameOf(props.fieldPathId.path, schema)}`}
        onClick={(event) => {
          const input = event.currentTarget.previousElementSibling as HTMLInputElement;
          input.setSelectionRange(shown.length, shown.length);
          goOn(input, "");
        }}
      >
        <Icon name="state" />
      </button>
    </div>
  );
}

const COMPLETE = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** What typed text says: a number when it says one exactly, otherwise the text, which the rules then refuse. */
export function numberOf(text: string): Json | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (!COMPLETE.test(trimmed)) return text;
  const number = Number(trimmed);
  if (!Number.isFinite(number)) return text;
  return /^-?\d+$/.test(trimmed) ? whole(trimmed) : number;
}

export function NumberField(props: FieldProps) {
  const { id, schema, value, change, disabled, attributes } = control(props);
  const [typed, setTyped] = useState("");
  // While somebody types, half a number is none yet.
  const [left, setLeft] = useState(false);
  if (Array.isArray(schema.enum)) return <SelectField {...props} />;
  // "1." and "1" are the same number: what was typed stays while it says the value.
  const current = isNumber(value) || typeof value === "string" ? value : undefined;
  const shown =
    typed !== "" && same(numberOf(typed), current) ? typed : current === undefined ? "" : String(current);
  const isWhole = schema.type === "integer";
  const kind = isWhole ? "whole number" : "number";
  const isNone = typeof value === "string" || (isWhole && typeof value === "number" && value % 1 !== 0);
  // Once it was sent, that is said with everything else.
  const says = left && isNone && !attributes["aria-invalid"];
  return (
    <>
      <input
        id={id}
        type="text"
        className="form-number"
        inputMode={isWhole ? "numeric" : "decimal"}
        placeholder={ghost(schema) ?? `A ${kind}`}
        autoComplete="off"
        disabled={disabled}
        value={shown}
        onChange={(event) => {
          setTyped(event.target.value);
          change(numberOf(event.target.value));
        }}
        onFocus={() => setLeft(false)}
        onBlur={() => setLeft(true)}
        {...attributes}
      />
      <p className="form-problem" aria-live="polite" hidden={!says}>
        {says && `This is not a ${kind}.`}
      </p>
    </>
  );
}

/** A checkbox with a third state: as long as nobody said yes or no, nothing is sent. */
export function BooleanField(props: FieldProps) {
  const { id, value, change, disabled, schema, attributes } = control(props);
  const box = useRef<HTMLInputElement>(null);
  const unset = typeof value !== "boolean";
  useEffect(() => {
    if (box.current) box.current.indeterminate = unset;
  }, [unset]);
  if (Array.isArray(schema.enum)) return <SelectField {...props} />;
  return (
    <input
      id={id}
      ref={box}
      type="checkbox"
      disabled={disabled}
      checked={value === true}
      onChange={(event) => change(event.target.checked)}
      {...attributes}
    />
  );
}

export function SelectField(props: FieldProps) {
  const { id, schema, value, change, required, disabled, held, attributes } = control(props);
  const values = (schema.enum ?? []) as Json[];
  const names = (schema[MARK.names] ?? []) as Json[];
  const at = values.findIndex((one) => same(one, value));
  // What cannot be absent is `null` as long as nobody chose.
  const unknown = at < 0 && value !== undefined && !(held && value === null);
  const nothing =
    held && schema[MARK.nullable] === true
      ? "null"
      : "default" in schema
        ? `Not set (default: ${brief(schema.default)})`
        : required
          ? "Choose…"
          : "Not set";
  return (
    <select
      id={id}
      disabled={disabled}
      value={at >= 0 ? String(at) : unknown ? "unknown" : ""}
      onChange={(event) => {
        const chosen = event.target.value;
        if (chosen !== "unknown") change(chosen === "" ? undefined : values[Number(chosen)]);
      }}
      {...attributes}
    >
      <option value="">{nothing}</option>
      {values.map((one, index) => (
        <option key={brief(one) + String(index)} value={String(index)}>
          {String(names[index] ?? brief(one))}
        </option>
      ))}
      {unknown && <option value="unknown">{brief(value)} (not one of these)</option>}
    </select>
  );
}

/** Anything goes, so it is written as JSON. */
export function AnyField(props: FieldProps) {
  const { id, schema, value, change, required, disabled } = control(props);
  const { onRawProblem, halfTyped, onHalfTyped } = contextOf(props.registry);
  return (
    <RawJson
      id={id}
      value={value}
      onChange={change}
      onProblem={(problem) => onRawProblem(id, problem)}
      half={halfTyped(id)}
      onHalf={(half) => onHalfTyped(id, half)}
      describedBy={describedBy(id, schema, value, props.rawErrors)}
      invalid={(props.rawErrors?.length ?? 0) > 0}
      required={required}
      disabled={disabled}
      placeholder={ghost(schema) ?? 'JSON, such as "text", 12 or {"a": true}'}
    />
  );
}
