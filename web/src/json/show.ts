/** JSON values as texts. */

import type { Json } from "../api/client";
import { isBranch, writeJson } from "./exact";

export const pretty = (value: unknown): string => writeJson(value, 2) ?? "";

/** A value in one line of at most so many characters. Only as much of it is looked at as that takes. */
export function oneLine(value: Json | undefined, most = 120): string {
  if (value === undefined) return "";
  const line = new Line(most);
  if (typeof value === "string") line.putPieces(value, (piece) => piece);
  else line.put(value);
  return line.cut();
}

/** So much of a long text is written at a time. */
const PIECE = 256;

/** A line that grows until it is full. */
class Line {
  private text = "";

  constructor(private readonly most: number) {}

  private get isFull(): boolean {
    return this.text.length > this.most;
  }

  cut(): string {
    return this.isFull ? `${this.text.slice(0, this.most - 1)}…` : this.text;
  }

  /** Writes a value as `JSON.stringify` does. How deep this goes is bounded by how much fits. */
  put(value: Json | undefined): void {
    if (this.isFull) return;
    if (typeof value === "string") this.putString(value);
    else if (!isBranch(value)) this.putText(writeJson(value ?? null));
    else if (Array.isArray(value)) {
      this.putEntries("[", value.keys(), (index) => this.put(value[index]), "]");
    } else {
      const keys = Object.keys(value).filter((key) => value[key] !== undefined);
      const putField = (key: string) => {
        this.putString(key);
        this.putText(":");
        this.put(value[key]);
      };
      this.putEntries("{", keys, putField, "}");
    }
  }

  private putEntries<K>(begin: string, keys: Iterable<K>, putEntry: (key: K) => void, end: string): void {
    let between = begin;
    for (const key of keys) {
      if (this.isFull) return;
      this.putText(between);
      putEntry(key);
      between = ",";
    }
    this.putText(between === begin ? begin + end : end);
  }

  private putString(text: string): void {
    this.putText('"');
    this.putPieces(text, (piece) => JSON.stringify(piece).slice(1, -1));
    this.putText('"');
  }

  putPieces(text: string, written: (piece: string) => string): void {
    for (let at = 0; at < text.length && !this.isFull; ) {
      const end = pieceEnd(text, at + PIECE);
      this.putText(written(text.slice(at, end)));
      at = end;
    }
  }

  /** White space becomes one space, also where it began in the piece before. */
  private putText(text: string): void {
    const flat = text.replace(/\s+/g, " ");
    this.text += flat.startsWith(" ") && this.text.endsWith(" ") ? flat.slice(1) : flat;
  }
}

/** Two code units that are one character stay together. */
function pieceEnd(text: string, end: number): number {
  const [unit, next] = [text.charCodeAt(end - 1), text.charCodeAt(end)];
  return unit >= 0xd800 && unit < 0xdc00 && next >= 0xdc00 && next < 0xe000 ? end + 1 : end;
}

/** How large a value is, in words. */
export function sizeOf(value: Json): string {
  if (Array.isArray(value)) return value.length === 1 ? "1 item" : `${value.length} items`;
  if (isBranch(value)) {
    const count = Object.keys(value).length;
    return count === 1 ? "1 field" : `${count} fields`;
  }
  if (typeof value === "string") return `${value.length} characters`;
  return "";
}

/** How many entries the server says it has left out of an array: `… (2000 more)` stands in their place. */
export function leftOut(value: Json): number {
  if (!Array.isArray(value)) return 0;
  const last = value.at(-1);
  return typeof last === "string" ? Number(/^… \((\d+) more\)$/.exec(last)?.[1] ?? 0) : 0;
}

/** To what depth a value can be unfolded without filling the screen: at least its first level. */
export function depthFor(value: Json, deepest: number, mostLines: number, mostEntries: number): number {
  let lines = 0;
  let level: Json[] = [value];
  for (let depth = 1; depth <= deepest; depth += 1) {
    const next = level.filter(isBranch).flatMap((branch) => Object.values(branch).slice(0, mostEntries));
    lines += next.length;
    if (lines > mostLines) return Math.max(1, depth - 1);
    level = next;
  }
  return deepest;
}
