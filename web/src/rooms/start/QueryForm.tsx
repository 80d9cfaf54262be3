import { useEffect, useId, useRef, useState } from "react";
import type { Json, JsonObject } from "../../api/client";
import { useChecked } from "../../form/checked";
import { initialValue } from "../../form/initial";
import { ValueEditor } from "../../form/ValueEditor";
import { useDraft } from "../../ui/draft";
import { firstField, focusFirstProblem, focusSoon, isAtRest } from "../../ui/focus";
import { Icon } from "../../ui/Icon";
import { SendKey } from "../../ui/SendKey";
import { Sending, type SendingState } from "../session/Sending";

export type QueryBody = { text: string } | { value: Json };

interface QueryDraft {
  text: string;
  value?: Json;
}

interface QueryFormProps {
  /** The name under which what is typed is kept. */
  draft: string;
  schema: JsonObject | null;
  button: string;
  sending: SendingState;
  onSend(query: QueryBody): void;
  /** Whether the first field has the focus once it is there: always, or where it is taken from nobody. */
  focus?: "always" | "at rest";
}

const EMPTY: QueryDraft = { text: "" };
const ANYTHING: JsonObject = {};

/** What the user asks: a text, or the form of the agent's input schema. */
export function QueryForm({ draft: name, schema, button, sending, onSend, focus }: QueryFormProps) {
  const [draft, setDraft] = useDraft<QueryDraft>(name, EMPTY);
  const checked = useChecked(schema ?? ANYTHING);
  const [empty, setEmpty] = useState(false);
  const field = useId();
  const wrong = useId();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (focus) focusSoon(() => (focus === "always" || isAtRest() ? firstField(form.current) : null));
  }, [focus]);
  // Null is a value too.
  const entered = draft.value === undefined && schema ? initialValue(schema) : draft.value;
  const value = schema ? entered : undefined;
  const send = (form: Element) => {
    if (sending.isPending) return;
    if (!schema) {
      setEmpty(draft.text.trim() === "");
      if (draft.text.trim() === "") focusFirstProblem(form);
      else onSend({ text: draft.text });
      return;
    }
    if (checked.passes(value, form)) onSend({ value: value as Json });
  };
  return (
    <form
      ref={form}
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send(event.currentTarget);
      }}
    >
      {schema ? (
        <ValueEditor
          id={`query-${name}`}
          label="User query"
          schema={schema}
          value={value}
          onChange={(value) => {
            setDraft({ ...draft, value: value as Json });
            checked.edited(value);
          }}
          problems={checked.problems}
          disabled={sending.isPending}
          onRawProblem={checked.onRawProblem}
        />
      ) : (
        <div className="stack tight">
          <label htmlFor={field}>User query</label>
          <textarea
            id={field}
            rows={3}
            value={draft.text}
            placeholder="What does the user ask?"
            aria-invalid={empty}
            aria-describedby={empty ? wrong : undefined}
            onChange={(event) => {
              setEmpty(false);
              setDraft({ ...draft, text: event.target.value });
            }}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
                event.currentTarget.form?.requestSubmit();
            }}
          />
          {empty && (
            <p id={wrong} className="field-problem">
              Write what the user asks.
            </p>
          )}
        </div>
      )}
      <Sending state={sending} />
      <div className="buttons">
        <button type="submit" className="button primary" aria-disabled={sending.isPending || undefined}>
          <Icon name="play" />
          {button}
        </button>
        <SendKey />
      </div>
    </form>
  );
}
