/** Checks values against schemas by interpreting them: the page's policy forbids evaluating code. */

import {
  type Schema as CheckedSchema,
  validate as check,
  dereference,
  type OutputUnit,
} from "@cfworker/json-schema";
import type { ValidatorType } from "@rjsf/utils";
import type { Json, JsonObject } from "../api/client";
import { normalise, type Schema } from "./normalise";
import { fromPointer, getAt, isObject } from "./paths";
import { prepare } from "./prepare";

const DRAFT = "2020-12";

export interface Engine {
  /** What values are checked against. */
  checked: Schema;
  /** What the form is drawn from. */
  drawn: JsonObject;
  /** Everything that is wrong, as the interpreter says it; nothing when the schema itself cannot be read. */
  errors(value: Json): OutputUnit[];
  /** Whether a value fits the part of the schema at a pointer. */
  fits(pointer: string, value: Json): boolean;
  /** The part of the schema that the interpreter speaks of, found through references. */
  keyword(location: string): unknown;
  rjsf: ValidatorType;
}

const engines = new WeakMap<JsonObject, Engine>();

/** What a schema needs is worked out once. */
export function engineOf(schema: JsonObject): Engine {
  let engine = engines.get(schema);
  if (engine === undefined) {
    engine = make(schema);
    engines.set(schema, engine);
  }
  return engine;
}

type Lookup = Record<string, CheckedSchema | boolean>;

function make(schema: JsonObject): Engine {
  const checked = normalise(schema);
  const lookup = lookupOf(checked);
  const run = (part: unknown, value: Json, all: boolean): OutputUnit[] => {
    try {
      // The interpreter knows JSON only, and `undefined` in a list is not.
      const json = JSON.parse(JSON.stringify(value)) as Json;
      return check(json, part as CheckedSchema, DRAFT, lookup, !all).errors;
    } catch {
      // A reference that leads nowhere. The server has the last word.
      return [];
    }
  };
  const definitions: JsonObject = {};
  if (isObject(checked)) {
    for (const key of ["$defs", "definitions"]) if (isObject(checked[key])) definitions[key] = checked[key];
  }
  const isValid = (part: JsonObject, value: unknown): boolean => {
    const whole = JSON.parse(JSON.stringify({ ...part, ...definitions })) as JsonObject;
    try {
      return check(value ?? null, whole as CheckedSchema, DRAFT, lookupOf(whole), true).valid;
    } catch {
      return false;
    }
  };
  return {
    checked,
    drawn: prepare(checked),
    errors: (value) => run(checked, value, true),
    fits: (pointer, value) => run(getAt(checked, fromPointer(pointer)) ?? true, value, false).length === 0,
    keyword: (location) => follow(checked, lookup, location),
    rjsf: {
      isValid: (part, value) => isValid(part as JsonObject, value),
      // Problems come from outside: the form shows them and never looks for them itself.
      validateFormData: () => ({ errors: [], errorSchema: {} }),
      rawValidation: () => ({}),
    },
  };
}

function lookupOf(schema: Schema): Lookup {
  try {
    return dereference(schema as CheckedSchema);
  } catch {
    return {};
  }
}

/** The interpreter's places, which are parts of addresses, as JSON pointers. */
export function decode(location: string): string {
  try {
    return decodeURI(location.replace(/^#/, ""));
  } catch {
    return location.replace(/^#/, "");
  }
}

function follow(root: Schema, lookup: Lookup, location: string): unknown {
  let at: unknown = root;
  for (const token of fromPointer(decode(location))) {
    if (token === "$ref" && isObject(at) && typeof at.$ref === "string") {
      // The interpreter leaves the whole address here, where nothing lists it.
      const uri = (at as Record<string, unknown>).__absolute_ref__;
      at = lookup[String(uri ?? at.$ref)];
    } else at = getAt(at, [token]);
    if (at === undefined) return undefined;
  }
  return at;
}
