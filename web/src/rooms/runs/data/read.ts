/** Reading JSON of which nobody says what form it has. What is missing or of another form is read as nothing. */

import type { Json, JsonObject } from "../../../api/client";
import { isBranch, readJsonText } from "../../../json/exact";

export const object = (value: unknown): JsonObject =>
  isBranch(value as Json) && !Array.isArray(value) ? (value as JsonObject) : {};

export const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

export const text = (value: unknown): string => (typeof value === "string" ? value : "");

export const parse = <T>(json: string): T => readJsonText(json) as T;
