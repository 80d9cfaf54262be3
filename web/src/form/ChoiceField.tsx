import type { FieldProps, RJSFSchema } from "@rjsf/utils";
import { useRef, useState } from "react";
import type { Json, JsonObject } from "../api/client";
import { isBig } from "../json/exact";
import { contextOf, idOf, inside, isHeld, nameOf } from "./context";
import { start, startItem } from "./initial";
import { has, isNumber, isObject, put, same, setAt } from "./paths";
import { MARK } from "./prepare";
import { SchemaField } from "./rjsf";
import { Problems } from "./templates";
import type { Engine } from "./validator";
import { looksRight } from "./words";

const typeOf = (value: Json): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : isNumber(value) ? "number" : typeof value;

const isType = (type: Json | undefined, value: Json): boolean =>
  type === typeOf(value) || (type === "integer" && (Number.isInteger(value) || isBig(value)));

function fits(engine: Engine, option: JsonObject, value: Json): boolean {
  if (typeof option[MARK.type] === "string") return isType(option[MARK.type], value);
  return engine.fits(String(option[MARK.at] ?? ""), value);
}

/** How much of a value a choice knows: its fields, or its format. */
function known(option: JsonObject, value: Json): number {
  const { properties } = option;
  const looks = looksRight(option, value);
  if (looks !== undefined) return looks ? 2 : 0;
  if (typeof value === "string") return 1;
  if (!isObject(value) || !isObject(properties)) return 0;
  return Object.keys(value).filter((key) => has(properties, key)).length;
}

/**
 * The choice that a value was made with: of those that it fits, the one that knows most of it, or else the one that it
 * resembles most.
 */
function guess(engine: Engine, options: JsonObject[], value: Json | undefined): number {
  if (value === undefined) return -1;
  const fitting = options.map((option) => (fits(engine, option, value) ? known(option, value) : -1));
  const most = Math.max(...fitting);
  if (most >= 0) return fitting.indexOf(most);
  const scores = options.map((option) => {
    if (Array.isArray(option.enum)) return option.enum.some((one) => same(one, value)) ? 100 : 0;
    if (!isType(option.type, value)) return 0;
    const properties = option.properties;
    if (!isObject(value) || !isObject(properties)) return 1;
    return Object.keys(value).reduce((score, key) => {
      const property = has(properties, key) ? properties[key] : undefined;
      if (!isObject(property)) return score;
      const tag = Array.isArray(property.enum) ? property.enum : null;
      return score + (tag === null ? 1 : tag.some((one) => same(one, value[key])) ? 10 : -10);
    }, 1);
  });
  const best = Math.max(...scores);
  return best > 0 ? scores.indexOf(best) : -1;
}

/** `anyOf` and `oneOf`: which of them, and then its field. */
export function ChoiceField(props: FieldProps) {
  const {
    registry,
    formData,
    fieldPathId,
    onChange,
    schema,
    required = false,
    disabled,
    errorSchema,
  } = props;
  const { engine } = contextOf(registry);
  const options = (props.options ?? []) as JsonObject[];
  const value = formData as Json | undefined;
  const id = idOf(registry, fieldPathId.path);
  const { path } = fieldPathId;
  const held = isHeld(path, props.uiSchema);
  // What somebody chose holds while they fill it in, even when half a value looks like another choice. It ends when
  // the value comes from elsewhere.
  const [chosen, setChosen] = useState<number | null>(null);
  const last = useRef(value);
  // Two edits may come before the page is drawn again.
  const now = useRef(value);
  now.current = value;
  const selected = chosen !== null && same(last.current, value) ? chosen : guess(engine, options, value);
  const edit: FieldProps["onChange"] = (to, at, ...rest) => {
    const within = at.slice(path.length);
    const changed = setAt(now.current, within, to as Json | undefined);
    // What cannot be absent is null when it is emptied.
    now.current = changed === undefined && held ? null : changed;
    last.current = now.current;
    setChosen(selected);
    onChange(to, at, ...rest);
  };
  const choose = (index: number) => {
    const option = options[index];
    setChosen(index);
    let to: Json | undefined;
    if (option !== undefined) {
      if (value !== undefined && value !== null && fits(engine, option, value)) to = value;
      else to = begin(engine, option, value);
      if (to === undefined && held) to = startItem(option, engine.drawn);
    } else if (held) to = null;
    last.current = to;
    if (!same(to, value)) onChange(to, path);
  };
  const option = options[selected];
  const label = nameOf(path, schema);
  const nothing =
    held && (schema as JsonObject)[MARK.nullable] === true ? "Null" : required ? "Choose…" : "Not set";
  const problems = errorSchema?.__errors;
  return (
    <div className="form-choice">
      <select
        id={`${id}-kind`}
        aria-label={`Kind of ${label}`}
        aria-invalid={(option === undefined && problems !== undefined) || undefined}
        aria-describedby={option === undefined && problems ? `${id}-problem` : undefined}
        disabled={disabled}
        value={String(selected)}
        onChange={(event) => choose(Number(event.target.value))}
      >
        <option value="-1">{nothing}</option>
        {options.map((one, index) => (
          <option key={String(one[MARK.label]) + String(index)} value={String(index)}>
            {String(one[MARK.label] ?? `Choice ${index + 1}`)}
          </option>
        ))}
      </select>
      {option === undefined ? (
        <Problems id={id} problems={problems} />
      ) : (
        <SchemaField
          key={selected}
          {...props}
          onChange={edit}
          required={required}
          schema={{ ...option, title: schema.title } as RJSFSchema}
          uiSchema={inside(props.uiSchema, held)}
        />
      )}
    </div>
  );
}

/** The beginning of a choice, with the fields of the one before that it has as well. */
function begin(engine: Engine, option: JsonObject, before: Json | undefined): Json | undefined {
  const begun = start(option, engine.drawn, true);
  const { properties } = option;
  if (!isObject(begun) || !isObject(before) || !isObject(properties)) return begun;
  const result: JsonObject = { ...begun };
  for (const [key, value] of Object.entries(before)) {
    const property = has(properties, key) ? properties[key] : undefined;
    if (!isObject(property)) continue;
    const at = property[MARK.at];
    if (typeof at === "string" && engine.fits(at, value)) put(result, key, value);
  }
  return result;
}
