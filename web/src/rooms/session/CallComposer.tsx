import { useId, useRef, useState } from "react";
import type { Json, JsonObject } from "../../api/client";
import { Attention } from "../../form/Attention";
import { useChecked } from "../../form/checked";
import { forgetHalves } from "../../form/halves";
import { initialValue } from "../../form/initial";
import { sendsByKey } from "../../form/keys";
import { ValueEditor } from "../../form/ValueEditor";
import { validate } from "../../form/validate";
import { oneLine } from "../../json/show";
import type { ToolDeclaration } from "../../ledger/event";
import { firstField, focusSoon } from "../../ui/focus";
import { Icon } from "../../ui/Icon";
import { Markdown } from "../../ui/Markdown";
import { SendKey } from "../../ui/SendKey";
import { type Line, remove, take, withOpen } from "./line";
import type { ModelDraft, PreparedCall } from "./ModelDecision";
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

/** A tool that says nothing about its arguments takes none. Whoever knows better can write them as JSON. */
const NOTHING: JsonObject = { type: "object", properties: {} };
const SAYS_NOTHING = ["type", "title", "description"];

function parametersOf(tool: ToolDeclaration | undefined): JsonObject {
  const schema = (tool?.parameters ?? {}) as JsonObject;
  return Object.keys(schema).every((key) => SAYS_NOTHING.includes(key)) ? NOTHING : schema;
}

/** Chooses tools, fills in their arguments, and sends one call or several as one model turn. */
export function CallComposer({ cue, tools, draft, onChange, onSend, sending }: CallComposerProps) {
  // The only tool is open from the beginning; once a call is ready, a further one is somebody's choice.
  const only = tools.length === 1 && draft.prepared.length === 0 ? tools[0] : undefined;
  const chosen = tools.find((tool) => tool.name === draft.tool) ?? only;
  const schema = parametersOf(chosen);
  const entered = chosen ? (draft.args[chosen.name] ?? initialValue(schema) ?? {}) : {};
  const open: PreparedCall | null = chosen ? { tool: chosen.name, args: entered } : null;
  const checked = useChecked(schema);
  const aside = useId();
  const form = useRef<HTMLFormElement>(null);
  // Another call of the same tool is another form.
  const [opened, setOpened] = useState(0);
  const editor = (tool: string) => `call-${cue}-${tool}`;

  const focusPicker = () => focusSoon(() => form.current?.querySelector<HTMLElement>(".tool-picker input"));
  const focusForm = () =>
    focusSoon(
      () =>
        firstField(form.current?.querySelector(".form-editor") ?? null) ??
        // A tool that takes nothing can only be run.
        form.current?.querySelector<HTMLElement>("[type=submit]"),
    );
  const without = (tool: string) => {
    const { [tool]: _, ...others } = draft.args;
    return others;
  };
  const enter = (args: Json | undefined) => {
    if (!chosen) return;
    onChange({ args: args === undefined ? without(chosen.name) : { ...draft.args, [chosen.name]: args } });
    checked.edited(args ?? {});
  };
  const choose = (tool: string) => {
    if (tool === chosen?.name) return;
    checked.reset();
    onChange({ tool });
  };
  const leaveOut = () => {
    if (!chosen) return;
    checked.reset();
    forgetHalves(editor(chosen.name));
    onChange({ tool: null, place: null, args: without(chosen.name) });
    focusPicker();
  };
  const prepare = () => {
    if (!open || sending.isPending || !checked.passes(entered, form.current)) return;
    onChange({ prepared: withOpen(draft, open), place: null, tool: null, args: without(open.tool) });
    focusPicker();
  };
  /** Opens a call that was ready; what is in the form goes into the line, unless it was only begun for another tool. */
  const edit = (index: number) => {
    const call = draft.prepared[index];
    if (!call) return;
    const begun = open !== null && draft.args[open.tool] !== undefined && open.tool === call.tool;
    const back = draft.place !== null || begun ? open : null;
    checked.reset();
    forgetHalves(editor(call.tool));
    setOpened(opened + 1);
    onChange({
      ...take(draft, index, back),
      tool: call.tool,
      args: { ...(back ? without(back.tool) : draft.args), [call.tool]: call.args },
    });
    focusForm();
  };
  const removeAt = (index: number) => {
    onChange(remove(draft, index));
    focusSoon(() => {
      const rows = form.current?.querySelectorAll<HTMLElement>(".prepared .remove");
      const next = rows?.[Math.min(index, rows.length - 1)];
      return next ?? form.current?.querySelector<HTMLElement>(".tool-picker input");
    });
  };
  const send = () => {
    if (sending.isPending) return;
    // One that was put into the line from the form was not looked at before.
    const found = draft.prepared.map((call) =>
      validate(parametersOf(tools.find((tool) => tool.name === call.tool)), call.args),
    );
    const wrong = found.findIndex((problems) => problems.length > 0);
    if (wrong >= 0) {
      edit(wrong);
      checked.shows(found[wrong] ?? [], form.current);
      return;
    }
    if (open && !checked.passes(entered, form.current)) return;
    const calls = open ? withOpen(draft, open) : draft.prepared;
    if (calls.length === 0) return;
    const answer: JsonObject = { calls: calls as unknown as Json[] };
    if (draft.aside.trim() !== "") answer.text = draft.aside;
    onSend(answer);
  };
  const count = draft.prepared.length + (open ? 1 : 0);
  return (
    <form
      ref={form}
      className="stack"
      noValidate
      onKeyDown={sendsByKey}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {draft.prepared.length > 0 && <Prepared line={draft} open={open} onEdit={edit} onRemove={removeAt} />}
      <ToolPicker
        tools={tools}
        chosen={chosen?.name ?? null}
        onChoose={choose}
        onEnter={(tool) => {
          choose(tool);
          focusForm();
        }}
      />
      {chosen && (
        <>
          <ValueEditor
            key={`${chosen.name} ${opened}`}
            id={editor(chosen.name)}
            label={`Arguments of ${chosen.name}`}
            schema={schema}
            value={entered}
            onChange={enter}
            problems={checked.problems}
            disabled={sending.isPending}
            onRawProblem={checked.onRawProblem}
            quiet
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
        {chosen && <Attention id={editor(chosen.name)} problems={checked.problems} value={entered} />}
        <button
          type="submit"
          className="button primary"
          aria-disabled={sending.isPending || undefined}
          disabled={count === 0}
        >
          <Icon name="play" />
          {sending.isPending ? "Sending…" : count > 1 ? `Execute ${count} calls` : "Execute"}
        </button>
        <button
          type="button"
          className="button"
          onClick={prepare}
          aria-disabled={sending.isPending || undefined}
          disabled={!chosen}
        >
          <Icon name="plus" />
          Add another call
        </button>
        {chosen && draft.prepared.length > 0 && (
          <button type="button" className="button" onClick={leaveOut} disabled={sending.isPending}>
            Leave this one out
          </button>
        )}
        <SendKey />
      </div>
    </form>
  );
}

interface PreparedProps {
  line: Line;
  open: PreparedCall | null;
  onEdit(index: number): void;
  onRemove(index: number): void;
}

function Prepared({ line, open, onEdit, onRemove }: PreparedProps) {
  const rows = line.prepared.map((call, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the same call may be made twice; its place tells it apart
    <li key={index} className="row">
      <span className="mono">{call.tool}</span>
      <span className="soft clip grow">{oneLine(call.args, 60)}</span>
      <button type="button" className="button small" onClick={() => onEdit(index)}>
        Edit
      </button>
      <button type="button" className="button small remove" onClick={() => onRemove(index)}>
        <Icon name="cross" />
        Remove
      </button>
    </li>
  ));
  if (open && line.place !== null)
    rows.splice(
      line.place,
      0,
      <li key="open" className="row">
        <span className="mono">{open.tool}</span>
        <span className="soft">is in the form below</span>
      </li>,
    );
  return (
    <section className="prepared" aria-label="Calls that are ready">
      <h3>Ready, to be sent together</h3>
      <ol>{rows}</ol>
    </section>
  );
}

interface ToolPickerProps {
  tools: ToolDeclaration[];
  chosen: string | null;
  onChoose(tool: string): void;
  /** Goes on to the form of a tool. */
  onEnter(tool: string): void;
}

function ToolPicker({ tools, chosen, onChoose, onEnter }: ToolPickerProps) {
  const [search, setSearch] = useState("");
  const name = useId();
  const field = useId();
  // Arrow keys go from tool to tool; whoever points at one goes on with its form.
  const pointed = useRef(false);
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
              if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
              // It looks for a tool; it does not send what is ready.
              event.preventDefault();
              const [found] = tools.filter(matches);
              if (sought !== "" && found && tools.filter(matches).length === 1) onEnter(found.name);
            }}
          />
        </div>
      )}
      <div className="tool-options">
        {shown.map((tool) => (
          <label
            key={tool.name}
            className="tool-option"
            onPointerDown={() => {
              pointed.current = true;
            }}
          >
            <input
              type="radio"
              name={name}
              value={tool.name}
              checked={tool.name === chosen}
              onChange={() => onChoose(tool.name)}
              onClick={() => {
                if (pointed.current) onEnter(tool.name);
                pointed.current = false;
              }}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
                // A browser would send the form, and a real tool would run.
                event.preventDefault();
                onEnter(tool.name);
              }}
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
