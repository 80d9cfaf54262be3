/** Checks values against schemas by interpreting them: the page's policy forbids evaluating code. */

import {
  type Schema as CheckedSchema,
  validate as check,
  dereference,
  type OutputUnit,
} from "@cfworker/json-schema";
import type { ValidatorType } from "@rjsf/utils";
import type { Json, JsonObject } from "../api/client";
import { isTooMuch, refuseTooMany } from "./effort";
import { mapInside, type Schema } from "./keywords";
import { normalise } from "./normalise";
import { fromPointer, getAt, isObject } from "./paths";
import { prepare } from "./prepare";
import { hidden } from "./retrieve";
import { hugeIn, standIns } from "./standins";

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
  /** The schema itself cannot be read. */
  unread: boolean;
}

const engines = new WeakMap<JsonObject, Engine>();

/** What a schema needs is worked out once. */
export function engineOf(schema: JsonObject): Engine {
  let engine = engines.get(schema);
  if (engine === undefined) {
    engine = made(schema);
    engines.set(schema, engine);
  }
  return engine;
}

function made(schema: JsonObject): Engine {
  try {
    return make(schema);
  } catch {
    // Nobody can fill in what cannot be read; whatever is sent, the server has the last word.
    return { ...make({}), unread: true };
  }
}

type Lookup = Record<string, CheckedSchema | boolean>;

/** A schema that the interpreter can read, and how values are put to it. */
interface Reading {
  schema: Schema;
  lookup: Lookup;
  stand(value: unknown): unknown;
}

function make(schema: JsonObject): Engine {
  const known = normalise(schema);
  refuseTooMany(known);
  const checked = withoutFormats(known);
  const lookup = lookupOf(checked);
  const readingFor = readings(checked, lookup);
  const run = (pointer: string, value: Json, all: boolean): OutputUnit[] => {
    try {
      const reading = readingFor(value);
      const part = getAt(reading.schema, fromPointer(pointer)) ?? true;
      // The server, which has the last word, is not kept waiting by it.
      if (isTooMuch(part as Schema, reading.schema, value)) return [];
      return check(reading.stand(value), part as CheckedSchema, DRAFT, reading.lookup, !all).errors;
    } catch {
      // A reference that leads nowhere. The server has the last word.
      return [];
    }
  };
  const definitions: JsonObject = {};
  if (isObject(checked)) {
    for (const key of ["$defs", "definitions"]) if (isObject(checked[key])) definitions[key] = checked[key];
  }
  const isValid = (part: Schema, value: unknown): boolean => {
    if (typeof part === "boolean") return part;
    try {
      const whole = { ...(withoutFormats(part) as JsonObject), ...definitions };
      if (isTooMuch(whole, whole, value)) return false;
      const numbers = hugeIn(value);
      const reading = readingOf(whole, new Set([...hugeIn(whole), ...numbers]), numbers.size > 0);
      return check(reading.stand(value ?? null), reading.schema as CheckedSchema, DRAFT, reading.lookup, true)
        .valid;
    } catch {
      return false;
    }
  };
  return {
    checked,
    drawn: hidden(prepare(known)),
    errors: (value) => run("", value, true),
    fits: (pointer, value) => run(pointer, value, false).length === 0,
    keyword: (location) => follow(checked, lookup, location),
    rjsf: {
      isValid: (part, value) => isValid(part as Schema, value),
      // Problems come from outside: the form shows them and never looks for them itself.
      validateFormData: () => ({ errors: [], errorSchema: {} }),
      rawValidation: () => ({}),
    },
    unread: false,
  };
}

/** Formats are hints. No server refuses a value for its format, and frameworks differ about what one is. */
function withoutFormats(schema: Schema): Schema {
  if (!isObject(schema)) return schema;
  const { format: _, ...rest } = mapInside(schema, withoutFormats);
  return rest;
}

/** What a value is checked against: the schema, with stand-ins for the numbers that the interpreter would change. */
function readings(schema: Schema, lookup: Lookup): (value: Json) => Reading {
  const own = hugeIn(schema);
  const plain = own.size === 0 ? { schema, lookup, stand: standIns([]) } : readingOf(schema, own, false);
  let last: { numbers: string; reading: Reading } | null = null;
  return (value) => {
    const others = hugeIn(value);
    if (others.size === 0) return plain;
    const numbers = [...others].join();
    if (last?.numbers !== numbers)
      last = { numbers, reading: readingOf(schema, new Set([...own, ...others]), true) };
    return last.reading;
  };
}

function readingOf(schema: Schema, numbers: Set<bigint>, inValue: boolean): Reading {
  const stand = standIns(numbers);
  // A stand-in is a multiple of other numbers than the one it stands for.
  const stood = stand(inValue ? withoutMultiples(schema) : schema) as Schema;
  return { schema: stood, lookup: lookupOf(stood), stand };
}

function withoutMultiples(schema: Schema): Schema {
  if (!isObject(schema)) return schema;
  const { multipleOf: _, ...rest } = mapInside(schema, withoutMultiples);
  return rest;
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
    return decodeURIComponent(location.replace(/^#/, ""));
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
