import {
  type ErrorSchema,
  type FieldProps,
  type Registry,
  type RJSFSchema,
  retrieveSchema,
  type TemplatesType,
} from "@rjsf/utils";
import { useCallback, useMemo, useRef } from "react";
import type { Json, JsonObject } from "../api/client";
import { isBig } from "../json/exact";
import { ChoiceField } from "./ChoiceField";
import type { FormContext } from "./context";
import { AnyField, BooleanField, NumberField, TextField } from "./controls";
import { useHalves } from "./halves";
import { startItem } from "./initial";
import { ArrayFieldItemTemplate, ArrayFieldTemplate } from "./lists";
import { ArrayField, CyclicField, ObjectField } from "./parts";
import { fromPointer, has, put, setAt } from "./paths";
import { followed } from "./retrieve";
import { SchemaField } from "./rjsf";
import { FieldTemplate } from "./templates";
import type { FieldProblem } from "./validate";
import { type Engine, engineOf } from "./validator";
import "../style/form.css";

export interface SchemaFormProps {
  schema: JsonObject;
  /** Exactly what will be sent; undefined is nothing yet. */
  value: Json | undefined;
  onChange(value: Json | undefined): void;
  /** Begins the ids of elements; unique on the page. */
  id: string;
  /** Shown at their fields. */
  problems: FieldProblem[];
  disabled?: boolean;
  /** A field that takes any JSON holds text that is not JSON (yet): sending must be refused. */
  onRawProblem?(problem: string | null): void;
}

const Nothing = () => null;

const FIELDS = {
  SchemaField,
  ObjectField,
  ArrayField,
  StringField: TextField,
  NumberField,
  BooleanField,
  AnyOfField: ChoiceField,
  OneOfField: ChoiceField,
  FallbackField: AnyField,
  CyclicSchemaField: CyclicField,
} as Registry["fields"];

/** Names, explanations and problems are all placed by the template of the field. */
const TEMPLATES = {
  FieldTemplate,
  ArrayFieldTemplate,
  ArrayFieldItemTemplate,
  DescriptionFieldTemplate: Nothing,
  FieldErrorTemplate: Nothing,
  FieldHelpTemplate: Nothing,
} as unknown as TemplatesType;

/**
 * RJSF draws fields from the schema. Its `Form` is left out on purpose: it keeps a value of its own, into which it puts
 * defaults, while here the value belongs to whoever shows the form, and changes when somebody changes it.
 */
function registryOf(engine: Engine, context: FormContext): Registry {
  const rootSchema = engine.drawn as RJSFSchema;
  const { rjsf } = engine;
  // What fields ask for. RJSF's own set of answers would bring the making of defaults with it.
  const schemaUtils = {
    getRootSchema: () => rootSchema,
    getValidator: () => rjsf,
    retrieveSchema: (schema: RJSFSchema, value?: unknown, alsoChoices?: boolean) =>
      // It would take a big number for an object.
      retrieveSchema(
        rjsf,
        followed(schema as JsonObject, engine.drawn) as RJSFSchema,
        rootSchema,
        isBig(value) ? Number(value) : value,
        undefined,
        alsoChoices,
      ),
    isSelect: (schema: RJSFSchema) => Array.isArray(schema.enum),
    isMultiSelect: () => false,
    isFilesArray: () => false,
    getDisplayLabel: () => true,
    // Asked for new items of lists only.
    getDefaultFormState: (schema: RJSFSchema) => startItem(schema as JsonObject, engine.drawn),
  };
  return {
    fields: FIELDS,
    templates: TEMPLATES,
    widgets: {},
    rootSchema,
    schemaUtils,
    formContext: context,
    // Asked for names of deprecated fields only, which say elsewhere that they are.
    translateString: (text: string, names?: string[]) => names?.[0] ?? text,
    globalFormOptions: {
      idPrefix: context.prefix,
      idSeparator: ".",
      useFallbackUiForUnsupportedType: false,
      // Values are never changed in place, so what is the same object is the same value.
      experimental_componentUpdateStrategy: "shallow",
    },
  } as unknown as Registry;
}

export function SchemaForm({
  schema,
  value,
  onChange,
  id,
  problems,
  disabled = false,
  onRawProblem,
}: SchemaFormProps) {
  const engine = engineOf(schema);
  const latest = useRef({ value, onChange, onRawProblem });
  latest.current = { value, onChange, onRawProblem };
  const raw = useRef(new Map<string, string>());
  const { halfTyped, onHalfTyped } = useHalves(id);
  const registry = useMemo(
    () =>
      registryOf(engine, {
        engine,
        prefix: id,
        onRawProblem: (field, problem) => {
          if (problem === null) raw.current.delete(field);
          else raw.current.set(field, problem);
          const [first] = raw.current.values();
          latest.current.onRawProblem?.(first ?? null);
        },
        halfTyped,
        onHalfTyped,
      }),
    [engine, id, halfTyped, onHalfTyped],
  );
  const change = useCallback<FieldProps["onChange"]>((to, path) => {
    const changed = setAt(latest.current.value, path, to as Json | undefined);
    // Two edits may come before the page is drawn again.
    latest.current.value = changed;
    latest.current.onChange(changed);
  }, []);
  const errors = useMemo(() => tree(problems), [problems]);
  const root = useMemo(() => ({ path: [], $id: id }), [id]);
  return (
    <div className="form">
      <SchemaField
        name=""
        schema={registry.rootSchema}
        uiSchema={{}}
        formData={value}
        errorSchema={errors}
        fieldPathId={root}
        onChange={change}
        onBlur={noop}
        onFocus={noop}
        registry={registry}
        disabled={disabled}
        required
      />
    </div>
  );
}

const noop = () => {};

/** Problems, arranged as the value is. */
function tree(problems: FieldProblem[]): ErrorSchema {
  const root: ErrorSchema = {};
  for (const { pointer, message } of problems) {
    let at = root as Record<string, ErrorSchema>;
    for (const token of fromPointer(pointer)) {
      if (!has(at, token)) put(at, token, {});
      at = at[token] as Record<string, ErrorSchema>;
    }
    const node = at as ErrorSchema;
    node.__errors = [...(node.__errors ?? []), message];
  }
  return root;
}
