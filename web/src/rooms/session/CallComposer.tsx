import { useId, useRef, useState } from "react";
import type { Json, JsonObject } from "../../api/client";
import { useChecked } from "../../form/checked";
import { initialValue } from "../../form/initial";
import { ValueEditor } from "../../form/ValueEditor";
import { validate } from "../../form/validate";
import { oneLine } from "../../json/show";
import type { ToolDeclaration } from "../../ledger/event";
import { Icon } from "../../ui/Icon";
import { Markdown } from "../../ui/Markdown";
import type { ModelDraft } from "./ModelDecision";
import { Sending, type SendingState } from "./Sending";

interface CallComposerProps {
  cue: string;
  tools: ToolDeclaration[];
  draft: ModelDraft;
  onChange(part: Partial<ModelDraft>): void;
  onSend(answer: JsonObject): void;
  sending: SendingState;
}

/** Above this many tools, they are looked for by typing. */
const MANY = 8;

/** Chooses tools, fills in their arguments, and sends one call or several as one model turn. */
export function CallComposer({ cue, tools, draft, onChange, onSend, sending }: CallComposerProps) {
  // The only tool is open from the beginning; once a call is ready, a further one is somebody's choice.
  const only = tools.length === 1 && draft.prepared.length === 0 ? tools[0] : undefined;
  const chosen = tools.find((tool) => tool.name === draft.tool) ?? only;
  const schema = (chosen?.parameters ?? {}) as JsonObject;
  const entered = chosen ? (draft.args[chosen.name] ?? initialValue(schema) ?? {}) : {};
  const checked = useChecked(schema);
  const aside = useId();
  const form = useRef<HTMLFormElement>(null);

  const enter = (args: Json | undefined) => {
    if (!chosen) return;
    const { [chosen.name]: _, ...others } = draft.args;
    onChange({ args: args === undefined ? others : { ...others, [chosen.name]: args } });
    checked.edited(args ?? {});
  };
  /** The call in the form, once it is right; otherwise what is wrong is shown at its field. */
  const ready = (): { tool: string; args: Json } | null =>
    chosen && checked.passes(entered, form.current) ? { tool: chosen.name, args: entered } : null;
  const without = (tool: string) => {
    const { [tool]: _, ...others } = draft.args;
    return others;
  };
  const leaveOut = () => {
    if (!chosen) return;
    checked.reset();
    onChange({ tool: null, args: without(chosen.name) });
  };
  const prepare = () => {
    const call = ready();
    if (!call) return;
    onChange({ prepared: [...draft.prepared, call], tool: null, args: without(call.tool) });
  };
  /** Opens a call that was ready. What is in the form of the same tool takes its place in the line. */
  const edit = (index: number) => {
    const call = draft.prepared[index];
    if (!call) return;
    const open = draft.args[call.tool];
    const instead = chosen?.name === call.tool && open !== undefined ? [{ tool: call.tool, args: open }] : [];
    const prepared = draft.prepared.toSpliced(index, 1, ...instead);
    checked.reset();
    onChange({ prepared, tool: call.tool, args: { ...draft.args, [call.tool]: call.args } });
  };
  const schemaOf = (name: string) =>
    (tools.find((tool) => tool.name === name)?.parameters ?? {}) as JsonObject;
  const send = () => {
    // One that took another's place was not looked at before.
    const wrong = draft.prepared.findIndex((call) => validate(schemaOf(call.tool), call.args).length > 0);
    if (wrong >= 0) {
      edit(wrong);
      return;
    }
    const last = chosen ? ready() : null;
    if (chosen && !last) return;
    const calls = last ? [...draft.prepared, last] : draft.prepared;
    if (calls.length === 0) return;
    const answer: JsonObject = { calls: calls as unknown as Json[] };
    if (draft.aside.trim() !== "") answer.text = draft.aside;
    onSend(answer);
  };
  const count = draft.prepared.length + (chosen ? 1 : 0);
  return (
    <form
      ref={form}
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {draft.prepared.length > 0 && (
        <Prepared
          calls={draft.prepared}
          onEdit={edit}
          onRemove={(index) => onChange({ prepared: draft.prepared.filter((_, at) => at !== index) })}
        />
      )}
      <ToolPicker
        tools={tools}
        chosen={chosen?.name ?? null}
        onChoose={(tool) => {
          checked.reset();
          onChange({ tool });
        }}
      />
      {chosen && (
        <>
          <ValueEditor
            key={chosen.name}
            id={`call-${cue}-${chosen.name}`}
            label={`Arguments of ${chosen.name}`}
            schema={schema}
            value={entered}
            onChange={enter}
            problems={checked.problems}
            disabled={sending.isPending}
            onRawProblem={checked.onRawProblem}
          />
          <details>
            <summary>Say something beside the call</summary>
            <label htmlFor={aside} className="visually-hidden">
              What the model says beside its calls
            </label>
            <textarea
              id={aside}
              value={draft.aside}
              onChange={(event) => onChange({ aside: event.target.value })}
              placeholder="Optional: what the model says in the same turn"
            />
          </details>
        </>
      )}
      <Sending state={sending} />
      <div className="buttons">
        <button type="submit" className="button primary" disabled={sending.isPending || count === 0}>
          <Icon name="play" />
          {sending.isPending ? "Sending…" : count > 1 ? `Execute ${count} calls` : "Execute"}
        </button>
        <button type="button" className="button" onClick={prepare} disabled={sending.isPending || !chosen}>
          <Icon name="plus" />
          Add another call
        </button>
        {chosen && draft.prepared.length > 0 && (
          <button type="button" className="button" onClick={leaveOut} disabled={sending.isPending}>
            Leave this one out
          </button>
        )}
      </div>
    </form>
  );
}

function Prepared(props: {
  calls: { tool: string; args: Json }[];
  onEdit(index: number): void;
  onRemove(index: number): void;
}) {
  return (
    <section className="prepared" aria-label="Calls that are ready">
      <h3>Ready, to be sent together</h3>
      <ol>
        {props.calls.map((call, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same call may be made twice; its place tells it apart
          <li key={index} className="row">
            <span className="mono">{call.tool}</span>
            <span className="soft clip grow">{oneLine(call.args, 60)}</span>
            <button type="button" className="button small" onClick={() => props.onEdit(index)}>
              Edit
            </button>
            <button type="button" className="button small" onClick={() => props.onRemove(index)}>
              <Icon name="cross" />
              Remove
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

interface ToolPickerProps {
  tools: ToolDeclaration[];
  chosen: string | null;
  onChoose(tool: string): void;
}

function ToolPicker({ tools, chosen, onChoose }: ToolPickerProps) {
  const [search, setSearch] = useState("");
  const name = useId();
  const field = useId();
  const sought = search.trim().toLowerCase();
  const matches = (tool: ToolDeclaration) =>
    tool.name.toLowerCase().includes(sought) || (tool.description ?? "").toLowerCase().includes(sought);
  const shown = tools.filter((tool) => tool.name === chosen || sought === "" || matches(tool));
  const about = tools.find((tool) => tool.name === chosen)?.description;
  return (
    <fieldset className="tool-picker">
      <legend>Tool</legend>
      {tools.length > MANY && (
        <div>
          <label htmlFor={field} className="visually-hidden">
            Search for a tool
          </label>
          <input
            id={field}
            type="search"
            placeholder={`Search ${tools.length} tools`}
            value={search}
            onChange={(event) => setSearch(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              // It looks for a tool; it does not send what is ready.
              event.preventDefault();
              const [found] = tools.filter(matches);
              if (sought !== "" && found && tools.filter(matches).length === 1) onChoose(found.name);
            }}
          />
        </div>
      )}
      <div className="tool-options">
        {shown.map((tool) => (
          <label key={tool.name} className="tool-option">
            <input
              type="radio"
              name={name}
              value={tool.name}
              checked={tool.name === chosen}
              onChange={() => onChoose(tool.name)}
            />
            <span className="mono">{tool.name}</span>
          </label>
        ))}
        {shown.length === 0 && <p className="soft">No tool is called that.</p>}
      </div>
      {about && (
        <div className="tool-about soft">
          <Markdown text={about} />
        </div>
      )}
    </fieldset>
  );
}
