/** JSON values as texts. */

import type { Json } from "../api/client";
import { writeJson } from "./exact";

export const pretty = (value: unknown): string => writeJson(value, 2) ?? "";

/** A value in one line of at most so many characters. */
export function oneLine(value: Json | undefined, most = 120): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : writeJson(value);
  const flat = text.replace(/\s+/g, " ");
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

/** How large a value is, in words. */
export function sizeOf(value: Json): string {
  if (Array.isArray(value)) return value.length === 1 ? "1 item" : `${value.length} items`;
  if (value !== null && typeof value === "object") {
    const count = Object.keys(value).length;
    return count === 1 ? "1 field" : `${count} fields`;
  }
  if (typeof value === "string") return `${value.length} characters`;
  return "";
}
