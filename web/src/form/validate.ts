/** What is wrong with a value, said at the field and in plain words. */

import type { OutputUnit } from "@cfworker/json-schema";
import type { Json, JsonObject } from "../api/client";
import { escapeToken, fromPointer, getAt } from "./paths";
import { decode, type Engine, engineOf } from "./validator";
import { inPlainWords, oneOfTypes, tooLarge } from "./words";

export interface FieldProblem {
  /** JSON pointer; "" is the whole value. */
  pointer: string;
  message: string;
}

export function validate(schema: JsonObject, value: Json | undefined): FieldProblem[] {
  if (value === undefined) return [{ pointer: "", message: "is required" }];
  const engine = engineOf(schema);
  const problems = read(engine, value, engine.errors(value));
  const seen = new Set<string>();
  return problems.filter(({ pointer, message }) => {
    const key = `${pointer}\n${message}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** These say that something inside them is wrong, which says so itself. */
const AROUND = new Set([
  "properties",
  "items",
  "prefixItems",
  "patternProperties",
  "additionalProperties",
  "additionalItems",
]);
const ALSO_AROUND = new Set([
  "$ref",
  "$recursiveRef",
  "allOf",
  "if",
  "dependentSchemas",
  "unevaluatedProperties",
  "unevaluatedItems",
]);

function read(engine: Engine, value: Json, errors: OutputUnit[]): FieldProblem[] {
  const problems: FieldProblem[] = [];
  let rest = errors;
  while (rest.length > 0) {
    const [error, ...others] = rest as [OutputUnit, ...OutputUnit[]];
    rest = others;
    const pointer = pointerOf(error);
    if (error.keyword === "anyOf" || error.keyword === "oneOf") {
      const inside = `${error.keywordLocation}/`;
      const below = rest.filter((other) => other.keywordLocation.startsWith(inside));
      rest = rest.filter((other) => !below.includes(other));
      problems.push(...choose(engine, value, error, below));
    } else if (
      error.keyword === "required" ||
      error.keyword === "dependentRequired" ||
      error.keyword === "dependencies"
    ) {
      problems.push(missing(engine, value, error, pointer));
    } else if (error.keyword === "propertyNames") {
      problems.push({ pointer, message: "has a field with a name that is not allowed" });
    } else if (!AROUND.has(error.keyword) && !ALSO_AROUND.has(error.keyword)) {
      const at = getAt(value, fromPointer(pointer)) as Json;
      problems.push({
        pointer,
        message: inPlainWords(error.keyword, engine.keyword(error.keywordLocation), at, pointer),
      });
    }
  }
  return problems;
}

const pointerOf = (error: OutputUnit): string => decode(error.instanceLocation);

/** Said at the field that is missing, not at the object it is missing from. */
function missing(engine: Engine, value: Json, error: OutputUnit, pointer: string): FieldProblem {
  const at = getAt(value, fromPointer(pointer));
  const says = engine.keyword(error.keywordLocation);
  const quoted = /"(.*)"/s.exec(error.error)?.[1];
  const names = Array.isArray(says) ? says.map(String) : [];
  const name =
    names.find((one) => error.error.includes(`"${one}"`) && getAt(at, [one]) === undefined) ?? quoted;
  return {
    pointer: name === undefined ? pointer : `${pointer}/${escapeToken(name)}`,
    message: "is required",
  };
}

/** Of several choices, what is wrong with the one that was most likely meant. */
function choose(engine: Engine, value: Json, error: OutputUnit, below: OutputUnit[]): FieldProblem[] {
  const pointer = pointerOf(error);
  const options = engine.keyword(error.keywordLocation);
  if (!Array.isArray(options)) return [{ pointer, message: "does not fit any of the choices" }];
  if (below.length === 0) return [{ pointer, message: "fits more than one of the choices" }];
  const here = error.instanceLocation;
  const groups = options.map((_, index) => {
    const prefix = `${error.keywordLocation}/${index}`;
    return below.filter(
      (other) => other.keywordLocation === prefix || other.keywordLocation.startsWith(`${prefix}/`),
    );
  });
  if (groups.some((group) => group.length === 0))
    return [{ pointer, message: "fits more than one of the choices" }];
  const wrongKind = (one: OutputUnit) =>
    one.instanceLocation === here && ["type", "const", "enum", "false"].includes(one.keyword);
  const meant = groups.filter((group) => !group.some(wrongKind));
  if (meant.length === 0) {
    const at = getAt(value, fromPointer(pointer)) as Json;
    const types = groups.flat().filter((one) => one.keyword === "type" && one.instanceLocation === here);
    const numbers = types.some((one) => /number|integer/.test(String(engine.keyword(one.keywordLocation))));
    if (numbers && tooLarge(at)) return [{ pointer, message: inPlainWords("type", "integer", at, pointer) }];
    return [{ pointer, message: oneOfTypes(groups.map((group) => kindOf(engine, group, here))) }];
  }
  // A tag that says otherwise ("kind": "dog") counts for more than a missing field.
  const cost = (group: OutputUnit[]) =>
    group.length + 20 * group.filter((one) => one.keyword === "const" || one.keyword === "enum").length;
  const best = meant.reduce((a, b) => (cost(b) < cost(a) ? b : a));
  return read(engine, value, best);
}

function kindOf(engine: Engine, group: OutputUnit[], here: string): { keyword: string; says: unknown } {
  const one = group.find(
    (error) => error.instanceLocation === here && ["type", "const", "enum"].includes(error.keyword),
  );
  return { keyword: one?.keyword ?? "", says: one ? engine.keyword(one.keywordLocation) : undefined };
}
