/** Values with parts: objects, maps, lists with fixed places, and schemas that contain themselves. */

import {
  ADDITIONAL_PROPERTY_FLAG,
  type ArrayFieldItemTemplateProps,
  type ErrorSchema,
  type FieldProps,
  RJSF_REF_CYCLE_KEY,
  type RJSFSchema,
} from "@rjsf/utils";
import { useRef, useState } from "react";
import type { Json, JsonObject } from "../api/client";
import { Icon } from "../ui/Icon";
import { contextOf, nameOf } from "./context";
import { Entry, NewEntry, place, shared } from "./entries";
import { start, startItem } from "./initial";
import { ArrayFieldItemTemplate, ArrayFieldTemplate } from "./lists";
import { has, isObject, setAt } from "./paths";
import { MARK } from "./prepare";
import { ListField, SchemaField } from "./rjsf";
import { useFocusInside } from "./templates";

/** Keys of fields that stay with them when they are called something else, and go when they go. */
function useKeys(names: string[]) {
  const keys = useRef(new Map<string, number>());
  const next = useRef(0);
  const there = new Set(names);
  for (const name of keys.current.keys()) if (!there.has(name)) keys.current.delete(name);
  for (const name of names) if (!keys.current.has(name)) keys.current.set(name, next.current++);
  return {
    keyOf: (name: string) => keys.current.get(name),
    rename: (from: string, to: string) => {
      const key = keys.current.get(from);
      keys.current.delete(from);
      if (key !== undefined) keys.current.set(to, key);
    },
  };
}

export function ObjectField(props: FieldProps) {
  const { schema, formData, errorSchema } = props;
  const value = isObject(formData) ? formData : {};
  const properties = Object.entries(schema.properties ?? {}).filter(
    ([, property]) => !(isObject(property) && ADDITIONAL_PROPERTY_FLAG in property),
  );
  const named = new Set(properties.map(([name]) => name));
  const others = Object.keys(value).filter((name) => !named.has(name));
  const { keyOf, rename } = useKeys(others);
  const required = schema.required ?? [];
  // A problem with a field that is not drawn is said here, so that it is said at all.
  const elsewhere = Object.entries(errorSchema ?? {}).filter(
    ([name]) => name !== "__errors" && !named.has(name) && !others.includes(name),
  );
  const { additionalProperties: more } = schema as JsonObject;
  const patterns = Object.keys(schema.patternProperties ?? {}).length > 0;
  const open =
    isObject(more) || more === true || patterns || (schema.properties === undefined && more !== false);
  const extra = isObject(more) ? more : { [MARK.any]: true };
  return (
    <div className="form-parts">
      {elsewhere.length > 0 && (
        <ul className="form-problem" tabIndex={-1} data-problem="">
          {elsewhere.map(([name, inside]) => (
            <li key={name}>
              {name} {(inside as ErrorSchema).__errors?.join(", ") ?? "is not valid"}
            </li>
          ))}
        </ul>
      )}
      {properties.map(([name, property]) => (
        <SchemaField
          {...shared(props)}
          key={name}
          name={name}
          required={required.includes(name)}
          schema={(isObject(property) ? property : { [MARK.any]: true }) as RJSFSchema}
          formData={has(value, name) ? value[name] : undefined}
          errorSchema={
            errorSchema && has(errorSchema, name)
              ? (errorSchema as Record<string, ErrorSchema>)[name]
              : undefined
          }
          fieldPathId={place(props, name)}
        />
      ))}
      {others.map((name) => (
        <Entry
          {...props}
          key={keyOf(name)}
          name={name}
          schema={extra as RJSFSchema}
          formData={value}
          onRename={rename}
        />
      ))}
      {!open && properties.length === 0 && others.length === 0 && (
        <p className="form-hint">There is nothing to fill in.</p>
      )}
      {open && <NewEntry {...props} schema={extra as RJSFSchema} formData={value} named={named} />}
    </div>
  );
}

/** Lists: RJSF's where all items are alike, and ours where each place has its own schema. */
export function ArrayField(props: FieldProps) {
  if (Array.isArray(props.schema.enum) || !Array.isArray(props.schema.items)) return <ListField {...props} />;
  return <TupleField {...props} />;
}

function TupleField(props: FieldProps) {
  const { schema, formData, errorSchema, disabled, onChange, registry } = props;
  const value: Json[] = Array.isArray(formData) ? formData : [];
  const places = schema.items as RJSFSchema[];
  const { additionalItems: more } = schema as JsonObject;
  const { path } = props.childFieldPathId ?? props.fieldPathId;
  // Whoever follows one that was removed is not that one.
  const [removed, setRemoved] = useState(0);
  const count = Math.max(places.length, value.length);
  const remove = (index: number) => {
    setRemoved(removed + 1);
    onChange(value.toSpliced(index, 1), path);
  };
  const items = Array.from({ length: count }, (_, index) => {
    const at = place(props, index);
    const isMore = index >= places.length;
    const buttons = {
      hasMoveUp: false,
      hasMoveDown: false,
      hasRemove: isMore,
      onRemoveItem: () => remove(index),
    } as unknown as ArrayFieldItemTemplateProps["buttonsProps"];
    return (
      <ArrayFieldItemTemplate
        key={isMore ? `${at.$id} ${removed}` : at.$id}
        index={index}
        disabled={disabled}
        buttonsProps={buttons}
      >
        <SchemaField
          {...shared(props)}
          name={String(index)}
          required
          schema={places[index] ?? ((isObject(more) ? more : { [MARK.any]: true }) as RJSFSchema)}
          formData={value[index]}
          errorSchema={errorSchema ? (errorSchema as Record<number, ErrorSchema>)[index] : undefined}
          fieldPathId={at}
        />
      </ArrayFieldItemTemplate>
    );
  });
  const add = () => {
    const item = startItem(more as JsonObject, contextOf(registry).engine.drawn);
    onChange(setAt(value, [count], item), path);
  };
  return (
    <ArrayFieldTemplate
      items={items}
      canAdd={isObject(more) && count < Number(schema.maxItems ?? Number.POSITIVE_INFINITY)}
      onAddClick={add}
      fieldPathId={props.fieldPathId}
      disabled={disabled}
      schema={isObject(more) ? schema : {}}
    />
  );
}

/** A schema inside itself goes one step deeper each time somebody asks for it. */
export function CyclicField(props: FieldProps) {
  const [open, setOpen] = useState(false);
  const { element, afterwards } = useFocusInside<HTMLDivElement>();
  const { registry, formData, onChange, fieldPathId, disabled } = props;
  const schema = { ...props.schema } as RJSFSchema & { [RJSF_REF_CYCLE_KEY]?: boolean };
  delete schema[RJSF_REF_CYCLE_KEY];
  if (open || formData !== undefined) return <SchemaField {...props} schema={schema} />;
  return (
    <div ref={element} className="form-field">
      <button
        type="button"
        className="button small"
        disabled={disabled}
        onClick={afterwards(() => {
          setOpen(true);
          const begun = start(schema as JsonObject, contextOf(registry).engine.drawn, true);
          if (begun !== undefined) onChange(begun, fieldPathId.path);
        })}
      >
        <Icon name="plus" />
        Add {nameOf(fieldPathId.path, schema)}
      </button>
    </div>
  );
}
