/** What every part of a form knows. */

import type { Registry, UiSchema } from "@rjsf/utils";
import type { Json, JsonObject } from "../api/client";
import type { Path } from "./paths";
import type { HalfTyped } from "./RawJson";
import type { Engine } from "./validator";
import { brief, limits, looksRight } from "./words";

export interface FormContext {
  engine: Engine;
  /** Begins the id of every element. */
  prefix: string;
  /** Text in a JSON field is not JSON (yet): nothing can be sent. */
  onRawProblem(id: string, problem: string | null): void;
  /** What was half typed into a JSON field when the form was left. */
  halfTyped(id: string): HalfTyped | undefined;
  onHalfTyped(id: string, half: HalfTyped | null): void;
}

export const contextOf = (registry: Registry): FormContext => registry.formContext as FormContext;

/** Ids are listed, separated by blanks, where one element describes another; and dots separate the parts of a path. */
const inId = (token: string | number): string =>
  String(token).replace(/[^A-Za-z0-9_-]/g, (character) => `%${character.charCodeAt(0).toString(16)};`);

export const idAt = (prefix: string, path: Path): string => [prefix, ...path.map(inId)].join(".");

export const idOf = (registry: Registry, path: Path): string => idAt(contextOf(registry).prefix, path);

/** The name of the field stands above already, and it cannot be absent. */
export const HELD = { "ui:options": { bare: true, held: true } };

/** Nobody chooses more often for one value; a choice that is one of its own choices would go on for ever. */
const DEEPEST = 20;

/** For the choice inside a choice, which is at the same place. */
export function inside(uiSchema: UiSchema | undefined, held: boolean): UiSchema {
  const depth = Number(uiSchema?.["ui:options"]?.depth ?? 0) + 1;
  if (depth > DEEPEST) throw new Error("The schema is a choice of itself.");
  return { "ui:options": { bare: true, held, depth } };
}

/** Items of lists and fields that somebody named: emptied, they are still there. */
export const isHeld = (path: Path, uiSchema: UiSchema | undefined): boolean =>
  typeof path.at(-1) === "number" || uiSchema?.["ui:options"]?.held === true;

/** What a field is called: a property by its key, because that is what will be sent; an item by its place. */
export function nameOf(path: Path, schema: { title?: unknown }): string {
  const last = path.at(-1);
  const title = typeof schema.title === "string" && schema.title !== "" ? schema.title : undefined;
  return typeof last === "number" ? `${title ?? "Item"} ${last + 1}` : last || title || "Value";
}

const letters = (text: string): string => text.toLowerCase().replace(/[\s_-]/g, "");

/**
 * The title of a property, such as the class that it is of, where it says more than its key: frameworks make titles of
 * names, such as "Max Results" of `max_results`.
 */
export function titleBeside(path: Path, schema: { title?: unknown }): string {
  const last = path.at(-1);
  if (typeof last !== "string" || typeof schema.title !== "string") return "";
  return letters(schema.title) === letters(last) ? "" : schema.title;
}

export const isChoice = (schema: JsonObject): boolean =>
  Array.isArray(schema.anyOf) || Array.isArray(schema.oneOf);

/** What is said under a field: its limits, whether it looks like them, and what holds when nothing is sent. */
export function hintOf(schema: JsonObject, value: Json | undefined): string {
  // A list to choose from says it where nothing is chosen.
  const says = "default" in schema && value === undefined && !Array.isArray(schema.enum);
  const ghost = says ? `Default: ${brief(schema.default)}.` : "";
  const odd = looksRight(schema, value) === false ? "This does not look like one." : "";
  return [limits(schema), odd, ghost].filter((part) => part !== "").join(" ");
}

/** The ids of everything that describes a control. */
export function describedBy(
  id: string,
  schema: JsonObject,
  value: Json | undefined,
  problems?: string[],
): string | undefined {
  const ids = [
    typeof schema.description === "string" && schema.description !== "" ? `${id}-about` : "",
    hintOf(schema, value) === "" ? "" : `${id}-hint`,
    problems && problems.length > 0 ? `${id}-problem` : "",
  ].filter((part) => part !== "");
  return ids.length === 0 ? undefined : ids.join(" ");
}

/** What a control says about itself, for everybody who cannot see where it stands. */
export function aria(
  id: string,
  schema: JsonObject,
  value: Json | undefined,
  required: boolean,
  problems?: string[],
) {
  const wrong = problems !== undefined && problems.length > 0;
  return {
    "aria-describedby": describedBy(id, schema, value, problems),
    "aria-invalid": wrong || undefined,
    "aria-required": required || undefined,
  };
}
