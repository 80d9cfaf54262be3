/** Values with parts: objects, maps, lists with fixed places, and schemas that contain themselves. */

import {
  ADDITIONAL_PROPERTY_FLAG,
  type ErrorSchema,
  type FieldProps,
  RJSF_REF_CYCLE_KEY,
  type RJSFSchema,
} from "@rjsf/utils";
import { useState } from "react";
import type { Json, JsonObject } from "../api/client";
import { Icon } from "../ui/Icon";
import { contextOf } from "./context";
import { Entry, NewEntry, place, shared } from "./entries";
import { start } from "./initial";
import { has, isObject } from "./paths";
import { MARK } from "./prepare";
import { ListField, SchemaField } from "./rjsf";
import { useFocusInside } from "./templates";

export function ObjectField(props: FieldProps) {
  const { schema, formData, errorSchema } = props;
  const value = isObject(formData) ? formData : {};
  const properties = Object.entries(schema.properties ?? {}).filter(
    ([, property]) => !(isObject(property) && ADDITIONAL_PROPERTY_FLAG in property),
  );
  const named = new Set(properties.map(([name]) => name));
  const others = Object.keys(value).filter((name) => !named.has(name));
  const required = schema.required ?? [];
  // A problem with a field that is not drawn is said here, so that it is said at all.
  const elsewhere = Object.entries(errorSchema ?? {}).filter(
    ([name]) => name !== "__errors" && !named.has(name) && !others.includes(name),
  );
  const { additionalProperties: more } = schema as JsonObject;
  const open = isObject(more) || more === true || (properties.length === 0 && more !== false);
  const extra = isObject(more) ? more : { [MARK.any]: true };
  return (
    <div className="form-parts">
      {elsewhere.length > 0 && (
        <ul className="form-problem">
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
      {others.map((name, index) => (
        // By its place: a field that is called something else is the same field, and keeps the focus.
        // biome-ignore lint/suspicious/noArrayIndexKey: the name is what changes
        <Entry key={index} {...props} name={name} schema={extra as RJSFSchema} formData={value} />
      ))}
      {open && <NewEntry {...props} schema={extra as RJSFSchema} formData={value} />}
    </div>
  );
}

/** Lists: RJSF's where all items are alike, and ours where each place has its own schema. */
export function ArrayField(props: FieldProps) {
  if (Array.isArray(props.schema.enum) || !Array.isArray(props.schema.items)) return <ListField {...props} />;
  return <TupleField {...props} />;
}

function TupleField(props: FieldProps) {
  const { schema, formData, errorSchema } = props;
  const value: Json[] = Array.isArray(formData) ? formData : [];
  const places = schema.items as RJSFSchema[];
  const beyond = value
    .slice(places.length)
    .map(() => (isObject(schema.additionalItems) ? schema.additionalItems : { [MARK.any]: true }));
  return (
    <div className="form-list">
      <ol>
        {[...places, ...(beyond as RJSFSchema[])].map((item, index) => {
          const at = place(props, index);
          return (
            <li key={at.$id}>
              <div className="form-item">
                <SchemaField
                  {...shared(props)}
                  name={String(index)}
                  required
                  schema={item}
                  formData={value[index]}
                  errorSchema={errorSchema ? (errorSchema as Record<number, ErrorSchema>)[index] : undefined}
                  fieldPathId={at}
                />
              </div>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** A schema inside itself goes one step deeper each time somebody asks for it. */
export function CyclicField(props: FieldProps) {
  const [open, setOpen] = useState(false);
  const { element, afterwards } = useFocusInside<HTMLDivElement>();
  const { registry, formData, onChange, fieldPathId, name, disabled } = props;
  const schema = { ...props.schema } as RJSFSchema & { [RJSF_REF_CYCLE_KEY]?: boolean };
  delete schema[RJSF_REF_CYCLE_KEY];
  if (open || formData !== undefined) return <SchemaField {...props} schema={schema} />;
  const label = schema.title ?? name;
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
        Add {label}
      </button>
    </div>
  );
}
