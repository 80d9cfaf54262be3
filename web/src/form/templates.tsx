/** What stands around the controls: names, explanations, problems. */

import type { FieldTemplateProps } from "@rjsf/utils";
import { useEffect, useRef, useState } from "react";
import type { Json, JsonObject } from "../api/client";
import { CONTROLS } from "../ui/focus";
import { Icon } from "../ui/Icon";
import { contextOf, hintOf, idOf, isChoice, isHeld, nameOf, titleBeside } from "./context";
import { isLarge, isMap, start, startItem } from "./initial";
import { isNumber, isObject, same } from "./paths";
import { MARK } from "./prepare";
import { brief } from "./words";

/** Runs an action after which the focus goes to the first control inside: the button that was pressed may be gone. */
export function useFocusInside<E extends HTMLElement>() {
  const element = useRef<E>(null);
  const wanted = useRef(false);
  useEffect(() => {
    if (!wanted.current) return;
    wanted.current = false;
    const inside = element.current?.querySelector(".form-inside")?.querySelector<HTMLElement>(CONTROLS);
    (inside ?? element.current?.querySelector<HTMLElement>(CONTROLS))?.focus();
  });
  return {
    element,
    afterwards: (action: () => void) => () => {
      wanted.current = true;
      action();
    },
  };
}

export function Required() {
  return (
    <span className="form-required">
      <span aria-hidden="true">*</span>
      <span className="visually-hidden"> (required)</span>
    </span>
  );
}

export function Problems({ id, problems }: { id: string; problems: string[] | undefined }) {
  if (!problems || problems.length === 0) return null;
  return (
    <ul id={`${id}-problem`} className="form-problem">
      {problems.map((problem) => (
        <li key={problem}>{problem}</li>
      ))}
    </ul>
  );
}

function Small({
  label,
  about,
  quiet,
  onClick,
  disabled,
}: {
  label: string;
  about: string;
  /** Few need it: it is out of sight until somebody is at the field. */
  quiet: boolean;
  onClick(): void;
  disabled: boolean;
}) {
  return (
    <button
      type="button"
      className={`button plain small${quiet ? " form-quiet" : ""}`}
      aria-label={`${label}: ${about}`}
      onClick={onClick}
      disabled={disabled}
    >
      {label}
    </button>
  );
}

type Kind = "object" | "list" | "choice" | "check" | "control";

function kindOf(schema: JsonObject): Kind {
  if (isChoice(schema)) return "choice";
  if (Array.isArray(schema.enum)) return "control";
  if (schema.type === "object") return "object";
  if (schema.type === "array") return "list";
  return schema.type === "boolean" ? "check" : "control";
}

/** Whether a value is of the kind that the field shows; numbers being typed are texts for a while. */
function shows(kind: Kind, schema: JsonObject, value: Json): boolean {
  if (kind === "object") return isObject(value);
  if (kind === "list") return Array.isArray(value);
  if (kind === "check") return typeof value === "boolean";
  if (kind === "choice" || Array.isArray(schema.enum)) return true;
  if (schema.type === "string") return typeof value === "string";
  if (schema.type === "number" || schema.type === "integer")
    return isNumber(value) || typeof value === "string";
  return true;
}

/** Whether an empty text, an empty list or an empty object fits. Where a format is asked for, it never does. */
function takesEmpty(kind: Kind, schema: JsonObject): boolean {
  if (kind === "list") return !(Number(schema.minItems) > 0) && !Array.isArray(schema.items);
  if (kind === "object") return isMap(schema) && !(Number(schema.minProperties) > 0);
  return kind === "control" && schema.type === "string" && !schema.format && !(Number(schema.minLength) > 0);
}

/** What a control alone does not show. */
function stateOf(kind: Kind, value: Json | undefined): string {
  if (kind === "check" && value === undefined) return "not set";
  if (kind === "list" && same(value, [])) return "empty list";
  if (kind === "object" && same(value, {})) return "empty object";
  return value === "" && kind === "control" ? "sent as empty text" : "";
}

export function FieldTemplate(props: FieldTemplateProps) {
  const {
    registry,
    fieldPathId,
    children,
    formData,
    onChange,
    required = false,
    rawErrors,
    uiSchema,
  } = props;
  const schema = props.schema as JsonObject;
  const { path } = fieldPathId;
  const value = formData as Json | undefined;
  const kind = kindOf(schema);
  const base = idOf(registry, path);
  // A choice holds a field at the same place, which has the plain id.
  const id = kind === "choice" ? `${base}-choice` : base;
  const isRoot = path.length === 0;
  const inList = typeof path.at(-1) === "number";
  const bare = uiSchema?.["ui:options"]?.bare === true;
  const disabled = props.disabled === true || props.readonly === true;
  const { drawn } = contextOf(registry).engine;
  const label = nameOf(path, schema);
  const title = bare ? "" : titleBeside(path, schema);
  const { element, afterwards } = useFocusInside<HTMLDivElement>();
  const change = (to: Json | undefined) => afterwards(() => onChange(to, path));
  const held = isHeld(path, uiSchema);
  const empty: Json | undefined = held ? startItem(schema, drawn) : undefined;

  // Text that was taken away again is absent; whoever meant an empty text can say so.
  const before = useRef(value);
  const [touched, setTouched] = useState(false);
  if (!touched && typeof before.current === "string" && schema.type === "string" && value === undefined)
    setTouched(true);
  before.current = value;
  const cleared = touched && value === undefined && !inList;

  const hasNull = schema[MARK.nullable] === true;
  // Where nothing can be absent, null is what an empty control says, unless something else is.
  const blank = held && value === null && (!hasNull || empty === null);
  const isNull = value === null && !blank && (hasNull || kind !== "control");
  const misfit = value !== undefined && value !== null && !shows(kind, schema, value);
  // Parts of something that is not there are not shown either: a schema may contain itself.
  const parts = kind === "object" ? !required || inList : kind === "list" && inList;
  const none = value === undefined && !isRoot && !bare;
  const absent = none && (parts || (kind === "object" && isLarge(schema, drawn)));

  const actions: { label: string; to: Json | undefined; quiet?: boolean }[] = [];
  if (hasNull && value === undefined && !bare) actions.push({ label: "Set to null", to: null });
  if (hasNull && value !== undefined && value !== null && held && kind !== "choice")
    actions.push({ label: "Set to null", to: null });
  // Of what must be there, nothing is often what is meant.
  const asked = cleared || (required && value === undefined && !inList);
  if (asked && takesEmpty(kind, schema))
    actions.push(
      kind === "list"
        ? { label: "Use an empty list", to: [], quiet: true }
        : kind === "object"
          ? { label: "Use an empty object", to: {}, quiet: true }
          : { label: "Use empty text", to: "", quiet: !cleared },
    );
  // The first click on the box says yes.
  if (kind === "check" && value === undefined && !inList) actions.push({ label: "Set to no", to: false });
  if (isNull && held) actions.push({ label: "Enter a value", to: empty });
  else if (isNull || misfit) actions.push({ label: "Clear", to: empty });
  else if (!inList && !bare && !isRoot) {
    const removable = kind === "object" || kind === "list" || kind === "choice";
    if (removable && value !== undefined && !required) actions.push({ label: "Clear", to: undefined });
    if ((kind === "check" && value !== undefined && !required) || (kind === "control" && value === "")) {
      actions.push({ label: "Clear", to: undefined });
    }
  }
  const buttons = actions.map((action) => (
    <Small
      key={action.label}
      label={action.label}
      quiet={action.quiet === true}
      about={label}
      onClick={change(action.to)}
      disabled={disabled}
    />
  ));
  const inside = isNull ? (
    <p className="form-null mono">null</p>
  ) : misfit ? (
    <p className="form-null">
      <code>{brief(value)}</code> does not fit this field. Clear it, or change it as raw JSON.
    </p>
  ) : absent ? (
    <button
      type="button"
      className="button small"
      data-remedy=""
      onClick={change(kind === "list" ? [] : (start(schema, drawn, true) ?? {}))}
      disabled={disabled}
    >
      <Icon name="plus" />
      Add {label}
    </button>
  ) : (
    children
  );
  const hint = hintOf(schema, value);
  const notes = (
    <>
      {typeof schema.description === "string" && schema.description !== "" && (
        <p id={`${id}-about`} className="form-about">
          {schema.description}
        </p>
      )}
      {hint !== "" && (
        <p id={`${id}-hint`} className="form-hint">
          {hint}
        </p>
      )}
    </>
  );
  const problems = kind === "choice" && !isNull ? null : <Problems id={id} problems={rawErrors} />;
  const unsaid = blank && hasNull && (schema.type === "number" || schema.type === "integer");
  const state = unsaid
    ? "sent as null"
    : inList || (kind === "object" && !isMap(schema))
      ? ""
      : stateOf(kind, value);
  const aside = (buttons.length > 0 || state !== "") && (
    <span className="form-actions">
      {state !== "" && <span className="form-state">{state}</span>}
      {buttons}
    </span>
  );
  const wrong = rawErrors !== undefined && rawErrors.length > 0;
  // Without a control that could say so, the field itself is what is wrong, and takes the focus.
  // (A choice leaves that to what was chosen, and a choice inside it is at the same place.)
  const own = wrong && (kind !== "choice" || isNull);
  const group = {
    id: kind === "choice" && bare ? undefined : `${id}-group`,
    tabIndex: -1,
    "aria-describedby": own ? `${id}-problem` : undefined,
    "data-group": "",
    "data-problem": own ? "" : undefined,
  };
  const word = (
    <>
      {label}
      {required && !inList && <Required />}
      {title !== "" && <span className="form-state form-class"> {title}</span>}
      {props.schema.deprecated === true && <span className="form-state"> deprecated</span>}
    </>
  );

  if (kind === "object" || kind === "list" || kind === "choice") {
    if ((isRoot && kind === "object") || bare) {
      return (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset would be a step in
        <div ref={element} role="group" className="form-group bare" {...group}>
          {bare && notes}
          {problems}
          <div className="form-inside">{inside}</div>
          {aside}
        </div>
      );
    }
    return (
      <div ref={element} className="form-group">
        <fieldset {...group}>
          <legend>{word}</legend>
          {notes}
          {problems}
          <div className="form-inside">{inside}</div>
          {aside}
        </fieldset>
      </div>
    );
  }
  return (
    <div
      ref={element}
      className={`form-field${kind === "check" ? " form-check" : ""}${bare ? " bare" : ""}`}
      {...((isNull || misfit) && group)}
    >
      <div className="form-label">
        {isNull || misfit ? (
          <span className="form-name">{word}</span>
        ) : (
          <label htmlFor={id} className={bare ? "visually-hidden" : "form-name"}>
            {word}
          </label>
        )}
      </div>
      {notes}
      <div className="form-inside">{inside}</div>
      {problems}
      {aside}
    </div>
  );
}
