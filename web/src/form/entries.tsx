/** Fields that the schema does not name: each has a name that somebody gave it. */

import type { ErrorSchema, FieldPathId, FieldProps } from "@rjsf/utils";
import { useEffect, useRef, useState } from "react";
import type { Json, JsonObject } from "../api/client";
import { CONTROLS } from "../ui/focus";
import { Icon } from "../ui/Icon";
import { contextOf, HELD, idOf } from "./context";
import { startItem } from "./initial";
import { has, put } from "./paths";
import { SchemaField } from "./rjsf";

export function place(props: FieldProps, token: string | number): FieldPathId {
  const path = [...(props.childFieldPathId ?? props.fieldPathId).path, token];
  return { path, $id: idOf(props.registry, path) };
}

/** What every field inside gets from the one around it. */
export function shared(props: FieldProps) {
  const { registry, disabled, readonly, onBlur, onFocus, onChange } = props;
  return { registry, disabled, readonly, onBlur, onFocus, onChange };
}

/** A field that the schema does not name: it can be called something else, and taken away. */
export function Entry(props: FieldProps & { onRename(from: string, to: string): void }) {
  const { name, formData, onChange, onRename, registry, errorSchema, disabled } = props;
  const value = formData as JsonObject;
  const at = place(props, name);
  const parent = (props.childFieldPathId ?? props.fieldPathId).path;
  const [edited, setEdited] = useState({ of: name, text: name });
  const typed = edited.of === name ? edited.text : name;
  const [note, setNote] = useState("");
  const rename = () => {
    if (typed === name) return setNote("");
    if (has(value, typed)) return setNote(`There is a field “${typed}” already.`);
    const renamed: JsonObject = {};
    for (const key of Object.keys(value)) put(renamed, key === name ? typed : key, value[key]);
    setNote("");
    onRename(name, typed);
    onChange(renamed, parent);
  };
  const without: JsonObject = {};
  for (const key of Object.keys(value)) if (key !== name) put(without, key, value[key]);
  return (
    <div className="form-entry">
      <div className="form-key">
        <label htmlFor={`${at.$id}-key`}>Name</label>
        <input
          id={`${at.$id}-key`}
          value={typed}
          disabled={disabled}
          autoComplete="off"
          spellCheck={false}
          aria-describedby={note === "" ? undefined : `${at.$id}-key-note`}
          onChange={(event) => setEdited({ of: name, text: event.target.value })}
          onBlur={rename}
          onKeyDown={(event) => {
            if (event.key === "Enter") {
              event.preventDefault();
              rename();
            }
          }}
        />
        <button
          type="button"
          className="button plain small"
          disabled={disabled}
          aria-label={`Remove ${name}`}
          onClick={(event) => {
            const next = event.currentTarget
              .closest(".form-parts")
              ?.querySelector<HTMLElement>(":scope > .form-key input");
            next?.focus();
            onChange(without, parent);
          }}
        >
          <Icon name="cross" />
        </button>
      </div>
      <p id={`${at.$id}-key-note`} className="form-problem" aria-live="polite" hidden={note === ""}>
        {note}
      </p>
      <SchemaField
        {...shared(props)}
        onChange={(to: Json | undefined, path: FieldPathId["path"]) => {
          // Emptied is not removed: the name would go with it.
          const own = path.length === at.path.length;
          onChange(
            own && to === undefined
              ? startItem(props.schema as JsonObject, contextOf(registry).engine.drawn)
              : to,
            path,
          );
        }}
        name={name}
        uiSchema={HELD}
        required
        schema={props.schema}
        formData={value[name]}
        errorSchema={errorSchema ? (errorSchema as Record<string, ErrorSchema>)[name] : undefined}
        fieldPathId={at}
      />
    </div>
  );
}

export function NewEntry(props: FieldProps & { named: Set<string> }) {
  const { formData, onChange, registry, schema, disabled } = props;
  const value = formData as JsonObject;
  const id = `${idOf(registry, (props.childFieldPathId ?? props.fieldPathId).path)}-new`;
  const [name, setName] = useState("");
  const taken = has(value, name) || props.named.has(name);
  // Whoever adds a field goes on with its value.
  const added = useRef<string | null>(null);
  useEffect(() => {
    if (added.current === null) return;
    const entry = document.getElementById(`${added.current}-key`)?.closest(".form-entry");
    entry?.querySelector(".form-inside")?.querySelector<HTMLElement>(CONTROLS)?.focus();
    added.current = null;
  });
  const add = () => {
    if (name === "" || taken) return;
    const at = place(props, name);
    added.current = at.$id;
    onChange(startItem(schema as JsonObject, contextOf(registry).engine.drawn), at.path);
    setName("");
  };
  return (
    <div className="form-key new">
      <label htmlFor={id}>New field</label>
      <input
        id={id}
        value={name}
        placeholder="Name"
        data-remedy=""
        disabled={disabled}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            add();
          }
        }}
      />
      <button
        type="button"
        className="button small"
        disabled={disabled || name === "" || taken}
        onClick={add}
      >
        <Icon name="plus" />
        Add field
      </button>
      <p className="form-problem" aria-live="polite" hidden={!taken}>
        {taken && `There is a field “${name}” already.`}
      </p>
    </div>
  );
}
