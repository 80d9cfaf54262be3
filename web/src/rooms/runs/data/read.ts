/**
 * Reading what a run came to without trusting its form: results stay in stores for years, and an older or newer
 * program may have written them. What is missing or of another form is read as nothing, never as an exception.
 */

import type { Json, JsonObject } from "../../../api/client";
import { isBig, isBranch, readJsonText } from "../../../json/exact";

export const object = (value: unknown): JsonObject =>
  isBranch(value as Json) && !Array.isArray(value) ? (value as JsonObject) : {};

export const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

export const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** A text that says something, or nothing. */
export const words = (value: unknown): string | null => text(value) || null;

/** A number to count with: one that is too large for that is about as large. */
export function number(value: unknown): number | null {
  const said = isBig(value) ? value.valueOf() : value;
  return typeof said === "number" && Number.isFinite(said) ? said : null;
}

export const texts = (value: unknown): string[] => list(value).filter((one) => typeof one === "string");

export const numbers = (value: unknown): number[] => list(value).filter((one) => typeof one === "number");

/** Reads JSON of this form. A seed has 64 bits, and with other digits would repeat another run. */
export const parse = <T>(json: string): T => readJsonText(json) as T;

/** The digits of a seed, as a number of any size or as a text. */
export function digits(value: unknown): string | null {
  const said = typeof value === "string" || typeof value === "number" || isBig(value) ? String(value) : "";
  return /^\d+$/.test(said) ? said : null;
}
