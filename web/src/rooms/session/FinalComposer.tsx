import { type ReactNode, useId, useState } from "react";
import type { Json, JsonObject } from "../../api/client";
import { Attention } from "../../form/Attention";
import { useChecked } from "../../form/checked";
import { initialValue } from "../../form/initial";
import { sendsByKey } from "../../form/keys";
import { ValueEditor } from "../../form/ValueEditor";
import { focusFirstProblem } from "../../ui/focus";
import { Icon } from "../../ui/Icon";
import { SendKey } from "../../ui/SendKey";
import type { ModelDraft } from "./ModelDecision";
import { Sending, type SendingState } from "./Sending";

interface FinalComposerProps {
  cue: string;
  schema: JsonObject | undefined;
  draft: ModelDraft;
  onChange(part: Partial<ModelDraft>): void;
  onSend(answer: JsonObject): void;
  sending: SendingState;
}

/** The final response: a text, or what the output schema asks for. */
export function FinalComposer(props: FinalComposerProps) {
  return props.schema === undefined ? (
    <TextResponse {...props} />
  ) : (
    <StructuredResponse {...props} schema={props.schema} />
  );
}

function TextResponse({ draft, onChange, onSend, sending }: FinalComposerProps) {
  const field = useId();
  const wrong = useId();
  const [problem, setProblem] = useState(false);
  return (
    <form
      className="stack"
      noValidate
      onKeyDown={sendsByKey}
      onSubmit={(event) => {
        event.preventDefault();
        if (sending.isPending) return;
        const empty = draft.text.trim() === "";
        setProblem(empty);
        if (empty) focusFirstProblem(event.currentTarget);
        else onSend({ text: draft.text });
      }}
    >
      <div className="stack tight">
        <label htmlFor={field}>Final response</label>
        <textarea
          id={field}
          rows={5}
          value={draft.text}
          aria-invalid={problem}
          aria-describedby={problem ? wrong : undefined}
          onChange={(event) => {
            setProblem(false);
            onChange({ text: event.target.value });
          }}
        />
        {problem ? (
          <p id={wrong} className="field-problem">
            Write what the agent responds.
          </p>
        ) : (
          <p className="soft">Markdown works.</p>
        )}
      </div>
      <Send sending={sending} />
    </form>
  );
}

function StructuredResponse(props: FinalComposerProps & { schema: JsonObject }) {
  const { cue, schema, draft, onChange, onSend, sending } = props;
  // Null is a value too.
  const value = draft.value === undefined ? initialValue(schema) : draft.value;
  const checked = useChecked(schema);
  const enter = (value: Json | undefined) => {
    onChange({ value: value as Json });
    checked.edited(value);
  };
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (sending.isPending) return;
        if (checked.passes(value, event.currentTarget)) onSend({ final: value as Json });
      }}
    >
      <ValueEditor
        id={`final-${cue}`}
        label="Final response"
        schema={schema}
        value={value}
        onChange={enter}
        problems={checked.problems}
        disabled={sending.isPending}
        onRawProblem={checked.onRawProblem}
        quiet
      />
      <Send sending={sending}>
        <Attention id={`final-${cue}`} problems={checked.problems} value={value} />
      </Send>
    </form>
  );
}

function Send({ sending, children }: { sending: SendingState; children?: ReactNode }) {
  return (
    <>
      <Sending state={sending} />
      <div className="buttons">
        {children}
        <button type="submit" className="button primary" aria-disabled={sending.isPending || undefined}>
          <Icon name="final" />
          {sending.isPending ? "Sending…" : "Send final response"}
        </button>
        <SendKey />
      </div>
    </>
  );
}
