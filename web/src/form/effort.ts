/**
 * How much work a schema makes. Definitions that name the next one twice double at each level, so whatever follows
 * references is counted first, with an end.
 */

import type { Json, JsonObject } from "../api/client";
import { mapInside, type Schema } from "./keywords";
import { fromRef, getAt, has, isObject } from "./paths";

/** So many schemas may hold for one place of a value; a form with more cannot be drawn. */
const MOST_AT_ONE_PLACE = 5_000;
/** So many steps a check may take, for a value of any size. */
const MOST_STEPS = 30_000;
/** And so many for each part of a large one. */
const STEPS_FOR_EACH = 30;
/** Nobody nests deeper; a schema that is a choice of itself would. */
const DEEPEST = 500;

const HERE_ONE = ["not", "if", "then", "else"];
const HERE_LISTS = ["allOf", "anyOf", "oneOf"];
const HERE_MAPS = ["dependentSchemas", "dependencies"];

const targetOf = (schema: JsonObject, root: Schema): unknown =>
  typeof schema.$ref === "string" && isObject(root) ? getAt(root, fromRef(schema.$ref)[0] ?? []) : undefined;

const listed = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
const valuesOf = (value: Json | undefined): Json[] =>
  isObject(value) ? (Object.values(value) as Json[]) : [];

/** The schemas that hold for the same place as this one. */
function here(schema: JsonObject, root: Schema): unknown[] {
  return [
    targetOf(schema, root),
    ...HERE_ONE.map((key) => schema[key]),
    ...HERE_LISTS.flatMap((key) => listed(schema[key])),
    ...HERE_MAPS.flatMap((key) => valuesOf(schema[key])),
  ];
}

/** Refuses a schema of which more holds for one place than can be drawn and checked. */
export function refuseTooMany(root: Schema): void {
  const known = new Map<JsonObject, number>();
  const count = (schema: unknown, depth: number): number => {
    if (!isObject(schema)) return 0;
    const before = known.get(schema);
    if (before !== undefined) return before;
    // What leads back to itself holds no more than it did.
    known.set(schema, 0);
    const sum = here(schema, root).reduce<number>((sum, inner) => sum + count(inner, depth + 1), 1);
    known.set(schema, sum);
    if (sum > MOST_AT_ONE_PLACE || depth > DEEPEST) throw new Error("The schema says too much at one place.");
    return sum;
  };
  const walk = (schema: Schema): Schema => {
    count(schema, 0);
    return isObject(schema) ? mapInside(schema, walk) : schema;
  };
  walk(root);
}

class TooMuch extends Error {}

/** Whether checking a value would take longer than anybody waits. */
export function isTooMuch(schema: Schema, root: Schema, value: unknown): boolean {
  try {
    const most = Math.max(MOST_STEPS, STEPS_FOR_EACH * sizeOf(value));
    new Count(root, most).visit(schema, value, 0);
    return false;
  } catch (error) {
    if (error instanceof TooMuch) return true;
    throw error;
  }
}

class Count {
  /** The steps that a schema makes with a value, once they are counted: what doubles is counted once at each level. */
  private readonly known = new Map<JsonObject, Map<unknown, number>>();
  private looks = 0;

  constructor(
    private readonly root: Schema,
    private readonly most: number,
  ) {}

  visit(schema: unknown, value: unknown, depth: number): number {
    if (depth > DEEPEST) throw new TooMuch();
    if (!isObject(schema)) return 1;
    const known = this.known.get(schema) ?? new Map<unknown, number>();
    const before = known.get(value);
    if (before !== undefined) return before;
    this.looks += 1;
    const steps = this.looks > this.most ? Number.POSITIVE_INFINITY : this.count(schema, value, depth);
    if (steps > this.most) throw new TooMuch();
    this.known.set(schema, known.set(value, steps));
    return steps;
  }

  private count(schema: JsonObject, value: unknown, depth: number): number {
    let steps = 1;
    for (const inner of here(schema, this.root))
      if (inner !== undefined) steps += this.visit(inner, value, depth + 1);
    if (Array.isArray(value)) return steps + this.items(schema, value, depth);
    return isObject(value) ? steps + this.fields(schema, value, depth) : steps;
  }

  private items(schema: JsonObject, value: unknown[], depth: number): number {
    let steps = 0;
    const places = listed(schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []));
    const others = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
    for (const [index, item] of value.entries()) {
      steps += this.visit(index < places.length ? places[index] : others, item, depth + 1);
      if (schema.contains !== undefined) steps += this.visit(schema.contains, item, depth + 1);
    }
    return steps;
  }

  private fields(schema: JsonObject, value: JsonObject, depth: number): number {
    let steps = 0;
    const { properties, patternProperties, additionalProperties, propertyNames } = schema;
    for (const name of Object.keys(value)) {
      const own = isObject(properties) && has(properties, name) ? properties[name] : additionalProperties;
      steps += this.visit(own, value[name], depth + 1);
      if (propertyNames !== undefined) steps += this.visit(propertyNames, name, depth + 1);
      for (const inner of valuesOf(patternProperties)) steps += this.visit(inner, value[name], depth + 1);
    }
    return steps;
  }
}

function sizeOf(value: unknown): number {
  let size = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const at = waiting.pop();
    size += 1;
    if (Array.isArray(at) || isObject(at)) for (const inner of Object.values(at)) waiting.push(inner);
  }
  return size;
}
