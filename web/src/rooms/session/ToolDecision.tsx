import { useId } from "react";
import type { Cue, Json, JsonObject } from "../../api/client";
import { Attention } from "../../form/Attention";
import { useChecked } from "../../form/checked";
import { initialValue } from "../../form/initial";
import { sendsByKey } from "../../form/keys";
import { ValueEditor } from "../../form/ValueEditor";
import { Tree } from "../../json/Tree";
import { useDraft } from "../../ui/draft";
import { SendKey } from "../../ui/SendKey";
import { useAnswer } from "./answering";
import { Sending } from "./Sending";

interface ToolDraft {
  mode: "output" | "error";
  value?: Json;
  type: string;
  message: string;
}

const EMPTY: ToolDraft = { mode: "output", type: "ToolError", message: "" };
const ANYTHING: JsonObject = {};

/** A person gives what a tool gives, or the error it fails with. */
export function ToolDecision({ cue, onTaken }: { cue: Cue; onTaken(): void }) {
  const prompt = (cue.prompt ?? {}) as {
    tool?: string;
    args?: JsonObject;
    description?: string;
    output_schema?: JsonObject;
  };
  const schema = prompt.output_schema ?? ANYTHING;
  const [kept, setDraft] = useDraft<ToolDraft>(cue.id, EMPTY);
  const draft = { ...EMPTY, ...kept };
  const value = draft.value === undefined ? initialValue(schema) : draft.value;
  const change = (part: Partial<ToolDraft>) => setDraft({ ...draft, ...part });
  const checked = useChecked(schema);
  const answer = useAnswer(cue, () => {
    onTaken();
    setDraft(undefined);
  });
  const [type, message] = [useId(), useId()];
  const send = (form: Element) => {
    if (answer.isPending) return;
    if (draft.mode === "error") {
      answer.mutate({ error: { type: draft.type, message: draft.message } });
      return;
    }
    if (checked.passes(value, form)) answer.mutate({ output: value ?? null });
  };
  return (
    <div className="stack">
      <div className="card stack tight">
        <p>
          <span className="mono">{prompt.tool}</span> was called with
        </p>
        <Tree value={prompt.args ?? {}} label="the arguments" />
        {prompt.description && <p className="soft">{prompt.description}</p>}
      </div>
      <form
        className="stack"
        noValidate
        onKeyDown={sendsByKey}
        onSubmit={(event) => {
          event.preventDefault();
          send(event.currentTarget);
        }}
      >
        <fieldset className="segments wide">
          <legend className="visually-hidden">How does the tool end?</legend>
          {(["output", "error"] as const).map((mode) => (
            <button
              key={mode}
              type="button"
              className="segment"
              aria-pressed={draft.mode === mode}
              onClick={() => change({ mode })}
            >
              {mode === "output" ? "Give an output" : "Fail with an error"}
            </button>
          ))}
        </fieldset>
        {draft.mode === "output" ? (
          <ValueEditor
            id={`tool-${cue.id}`}
            label="Output"
            schema={schema}
            value={value}
            onChange={(value) => {
              change({ value: value as Json });
              checked.edited(value);
            }}
            problems={checked.problems}
            disabled={answer.isPending}
            onRawProblem={checked.onRawProblem}
            quiet
          />
        ) : (
          <div className="stack tight">
            <label htmlFor={type}>Type of the error</label>
            <input id={type} value={draft.type} onChange={(event) => change({ type: event.target.value })} />
            <label htmlFor={message}>Message</label>
            <textarea
              id={message}
              value={draft.message}
              onChange={(event) => change({ message: event.target.value })}
            />
          </div>
        )}
        <Sending state={answer} />
        <div className="buttons">
          {draft.mode === "output" && (
            <Attention id={`tool-${cue.id}`} problems={checked.problems} value={value} />
          )}
          <button type="submit" className="button primary" aria-disabled={answer.isPending || undefined}>
            {draft.mode === "output" ? "Send output" : "Send error"}
          </button>
          <SendKey />
        </div>
      </form>
    </div>
  );
}
