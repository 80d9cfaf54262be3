/** Rules of a schema, in words that stand behind a field's name. */

import type { Json, JsonObject } from "../api/client";
import { writeJson } from "../json/exact";
import { own } from "./paths";

const KINDS: Record<string, string> = {
  string: "text",
  integer: "a whole number",
  number: "a number",
  boolean: "yes or no",
  object: "an object",
  array: "a list",
  null: "null",
};

const FORMATS: Record<string, string> = {
  date: "a date such as 2025-01-31",
  time: "a time such as 12:30:00Z",
  "date-time": "a date and time such as 2025-01-31T12:30:00Z",
  duration: "a duration such as PT1H30M",
  email: "an email address",
  "idn-email": "an email address",
  uri: "an address such as https://example.com/page",
  "uri-reference": "an address or part of one",
  url: "an address such as https://example.com/page",
  hostname: "a host name",
  ipv4: "an IPv4 address",
  ipv6: "an IPv6 address",
  uuid: "a UUID",
  regex: "a regular expression",
  "json-pointer": "a JSON pointer",
};

/** What a text in a format has, as far as everybody agrees. */
const LOOKS: Record<string, RegExp> = {
  time: /^\d\d:\d\d/,
  "date-time": /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/,
  duration: /^[+-]?P/i,
  email: /^\S.*@.*\S$/s,
  "idn-email": /^\S.*@.*\S$/s,
  uri: /^[a-z][a-z0-9+.-]*:/i,
  url: /^[a-z][a-z0-9+.-]*:/i,
  hostname: /^\S+$/,
  ipv4: /^\d+\.\d+\.\d+\.\d+$/,
  ipv6: /:/,
  uuid: /^[0-9a-f]{8}(-?)([0-9a-f]{4}\1){3}[0-9a-f]{12}$/i,
  "json-pointer": /^(\/|$)/,
};

/** Whether a text looks like its format; nothing where nobody can tell. Formats are hints: they refuse nothing. */
export function looksRight(schema: JsonObject, value: Json | undefined): boolean | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  if (schema.format === "date") return isDate(value);
  return own(LOOKS, String(schema.format))?.test(value);
}

/** A day that the calendar has. */
function isDate(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

/** A value, briefly: texts as they are, the rest as JSON. */
export const brief = (value: Json | undefined): string => {
  const text = typeof value === "string" && value !== "" ? value : (writeJson(value) ?? "");
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
};

const or = (parts: string[]): string => {
  const unique = [...new Set(parts.filter((part) => part !== ""))];
  return unique.length < 2 ? unique.join("") : `${unique.slice(0, -1).join(", ")} or ${unique.at(-1)}`;
};

const count = (many: unknown, one: string, more = `${one}s`): string => `${many} ${many === 1 ? one : more}`;

/** A number that nobody can hold. It is kept as text, so that it is refused instead of changed. */
export const tooLarge = (value: unknown): boolean =>
  typeof value === "string" &&
  /^-?\d/.test(value.trim()) &&
  Math.abs(Number(value)) === Number.POSITIVE_INFINITY;

/** A text that looks like the number it should be. */
const likeNumber = (value: unknown): boolean =>
  typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value));

export function inPlainWords(keyword: string, says: unknown, value: Json, pointer: string): string {
  switch (keyword) {
    case "type": {
      const types = (Array.isArray(says) ? says : [says]).map(String);
      const numbers = types.some((type) => type === "integer" || type === "number");
      if (numbers && tooLarge(value)) return "is too large";
      // An item that nobody filled in.
      if (value === null && /\/\d+$/.test(pointer)) return "is required";
      const kinds = `must be ${or(types.map((type) => KINDS[type] ?? type))}`;
      return numbers && likeNumber(value) ? `${kinds}, not text` : kinds;
    }
    case "enum":
      if (value === null && /\/\d+$/.test(pointer)) return "is required";
      return Array.isArray(says) && says.length > 1
        ? `must be one of ${says.map(brief).join(", ")}`
        : `must be ${brief(Array.isArray(says) ? says[0] : null)}`;
    case "const":
      return `must be ${brief(says as Json)}`;
    case "minimum":
      return `must be at least ${says}`;
    case "maximum":
      return `must be at most ${says}`;
    case "exclusiveMinimum":
      return `must be more than ${says}`;
    case "exclusiveMaximum":
      return `must be less than ${says}`;
    case "multipleOf":
      return `must be a multiple of ${says}`;
    case "minLength":
      return says === 1 ? "must not be empty" : `must have at least ${count(says, "character")}`;
    case "maxLength":
      return `must have at most ${count(says, "character")}`;
    case "pattern":
      return `must match ${says}`;
    case "minItems":
      return `must have at least ${count(says, "item")}`;
    case "maxItems":
      return `must have at most ${count(says, "item")}`;
    case "uniqueItems":
      return "must not have the same item twice";
    case "contains":
    case "minContains":
    case "maxContains":
      return "does not have the items it must have";
    case "minProperties":
      return `must have at least ${count(says, "field")}`;
    case "maxProperties":
      return `must have at most ${count(says, "field")}`;
    case "false":
      return "is not allowed here";
    case "not":
      return "has a value that is not allowed";
    default:
      return "is not valid";
  }
}

export function oneOfTypes(kinds: { keyword: string; says: unknown }[]): string {
  const words = kinds.map(({ keyword, says }) => {
    if (keyword === "type")
      return or((Array.isArray(says) ? says : [says]).map((type) => KINDS[String(type)] ?? String(type)));
    if (keyword === "const") return brief(says as Json);
    return keyword === "enum" && Array.isArray(says) ? or(says.map(brief)) : "";
  });
  const said = or(words);
  return said === "" ? "does not fit any of the choices" : `must be ${said}`;
}

/** The limits of a field, as a hint under it. */
export function limits(schema: JsonObject): string {
  const parts: string[] = [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (minimum !== undefined && maximum !== undefined) parts.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) parts.push(`at least ${minimum}`);
  else if (maximum !== undefined) parts.push(`at most ${maximum}`);
  if (exclusiveMinimum !== undefined) parts.push(`more than ${exclusiveMinimum}`);
  if (exclusiveMaximum !== undefined) parts.push(`less than ${exclusiveMaximum}`);
  if (multipleOf !== undefined && multipleOf !== 1) parts.push(`a multiple of ${multipleOf}`);
  parts.push(...range(schema.minLength, schema.maxLength, "character"));
  parts.push(...range(schema.minItems, schema.maxItems, "item"));
  if (typeof schema.pattern === "string") parts.push(`matches ${schema.pattern}`);
  const format = own(FORMATS, String(schema.format));
  if (format !== undefined) parts.push(format);
  if (schema.contentEncoding === "base64" || schema.format === "byte" || schema.format === "binary")
    parts.push("bytes, written as base64");
  const text = parts.join("; ");
  return text === "" ? "" : `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

function range(least: Json | undefined, most: Json | undefined, what: string): string[] {
  if (least !== undefined && most !== undefined) {
    return [least === most ? count(least, what) : `${least} to ${count(most, what)}`];
  }
  if (least !== undefined) return least === 0 ? [] : [`at least ${count(least, what)}`];
  return most === undefined ? [] : [`at most ${count(most, what)}`];
}
