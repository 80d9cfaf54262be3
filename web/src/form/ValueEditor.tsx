import { useState } from "react";
import type { Json, JsonObject } from "../api/client";
import { Attention } from "./Attention";
import { Guard } from "./Guard";
import { editorKeys } from "./keys";
import { placeInWords } from "./paths";
import { MARK } from "./prepare";
import { isHalfTyped, RawJson } from "./RawJson";
import { SchemaForm } from "./SchemaForm";
import type { FieldProblem } from "./validate";
import { engineOf } from "./validator";

export interface ValueEditorProps {
  schema: JsonObject;
  value: Json | undefined;
  onChange(value: Json | undefined): void;
  id: string;
  problems: FieldProblem[];
  disabled?: boolean;
  label: string;
  /** Raw text is not JSON now: sending must be refused. */
  onRawProblem?(problem: string | null): void;
  /** Whoever shows it says at their own buttons which fields are wrong. */
  quiet?: boolean;
}

/** A value, as a form or as text: two views of the same. */
export function ValueEditor(props: ValueEditorProps) {
  const { schema, value, onChange, id, problems, disabled = false, label, onRawProblem } = props;
  const [raw, setRaw] = useState(() => isHalfTyped(`${id}-raw`));
  const [problem, setProblem] = useState<string | null>(null);
  // Whatever is wrong with a form, its value can still be written.
  const [failed, setFailed] = useState<JsonObject | null>(null);
  const { drawn, unread } = engineOf(schema);
  const broken = unread || failed === schema;
  // A schema that says nothing has no form.
  const free = drawn[MARK.any] === true;
  const asText = raw || free || broken;
  const tell = (now: string | null) => {
    setProblem(now);
    onRawProblem?.(now);
  };
  const view = (name: string, is: boolean, show: () => void) => (
    <button
      type="button"
      aria-pressed={is}
      // Text that is not JSON yet would be lost by leaving it.
      disabled={!is && problem !== null}
      title={!is && problem !== null ? problem : undefined}
      onClick={show}
    >
      {name}
    </button>
  );
  return (
    <fieldset className="form-editor" aria-labelledby={`${id}-title`} onKeyDown={editorKeys}>
      <div className="form-head">
        <span id={`${id}-title`} className="form-title">
          {label}
        </span>
        {!free && (
          <fieldset className="form-views" aria-label={`View of ${label}`}>
            {view("Form", !asText, () => {
              setRaw(false);
              setFailed(null);
            })}
            {view("Raw JSON", asText, () => setRaw(true))}
          </fieldset>
        )}
      </div>
      {asText ? (
        <>
          {broken && (
            <p className="form-hint">The form of this schema cannot be drawn. Write the value as JSON.</p>
          )}
          {problems.length > 0 && (
            <ul id={`${id}-raw-problems`} className="form-problem">
              {problems.map(({ pointer, message }) => (
                <li key={pointer + message}>
                  {pointer === "" ? "The value" : placeInWords(pointer, value)} {message}
                </li>
              ))}
            </ul>
          )}
          <RawJson
            id={`${id}-raw`}
            label={`${label}, as JSON`}
            value={value}
            onChange={onChange}
            onProblem={tell}
            describedBy={problems.length > 0 ? `${id}-raw-problems` : undefined}
            invalid={problems.length > 0}
            disabled={disabled}
            rows={8}
            keeps
          />
        </>
      ) : (
        <Guard onFail={() => setFailed(schema)}>
          <SchemaForm
            schema={schema}
            value={value}
            onChange={onChange}
            id={id}
            problems={problems}
            disabled={disabled}
            onRawProblem={tell}
          />
        </Guard>
      )}
      {!props.quiet && <Attention id={id} problems={problems} value={value} />}
    </fieldset>
  );
}
