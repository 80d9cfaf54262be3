/**
 * Reading what a run came to without trusting its form: results stay in stores for years, and an older or newer
 * program may have written them. What is missing or of another form is read as nothing, never as an exception.
 */

import type { Json, JsonObject } from "../../../api/client";

export const object = (value: unknown): JsonObject =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? (value as JsonObject) : {};

export const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

export const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** A text that says something, or nothing. */
export const words = (value: unknown): string | null => text(value) || null;

export const number = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

export const texts = (value: unknown): string[] => list(value).filter((one) => typeof one === "string");

export const numbers = (value: unknown): number[] => list(value).filter((one) => typeof one === "number");

/**
 * Parses JSON and keeps the digits of seeds. A seed has 64 bits and a number of JavaScript 53, so that a parsed seed
 * would repeat another run than the one it belongs to.
 *
 * A quote inside a JSON text is escaped, so a bare `"seed":` after a brace or a comma is always a key.
 */
export function parse<T>(json: string): T {
  return JSON.parse(json.replace(/([{,]\s*"seed"\s*:\s*)(\d{16,})(?=\s*[,}])/g, '$1"$2"')) as T;
}

/** The digits of a seed, in either form. */
export function digits(value: unknown): string | null {
  if (typeof value === "string") return /^\d+$/.test(value) ? value : null;
  return number(value) === null ? null : String(value);
}
