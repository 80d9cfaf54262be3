/** Searching in a JSON value. */

import type { Json } from "../api/client";

export interface Found {
  /** Where a key or a value has the text. */
  paths: ReadonlySet<string>;
  /** What has to be unfolded to see them. */
  open: ReadonlySet<string>;
  /** Whether there may be more. */
  more: boolean;
}

const MOST_FOUND = 200;
const MOST_LOOKED_AT = 500_000;

export const childPath = (path: string, key: string | number): string =>
  `${path}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** Finds a text in keys and values, without regard to case. */
export function find(value: Json, text: string): Found {
  const sought = text.toLowerCase();
  const paths = new Set<string>();
  const open = new Set<string>();
  let looked = 0;
  const ended = () => paths.size >= MOST_FOUND || looked >= MOST_LOOKED_AT;
  // A stack of its own: values may be nested deeper than calls can be.
  const stack: { value: Json; path: string; key: string; around: readonly string[] }[] = [
    { value, path: "", key: "", around: [] },
  ];
  while (stack.length > 0 && !ended()) {
    const next = stack.pop();
    if (next === undefined) break;
    looked += 1;
    const { value, path, key, around } = next;
    const isLeaf = value === null || typeof value !== "object";
    if (key.toLowerCase().includes(sought) || (isLeaf && String(value).toLowerCase().includes(sought))) {
      paths.add(path);
      for (const each of around) open.add(each);
    }
    if (isLeaf) continue;
    const entries = Object.entries(value);
    const inside = [...around, path];
    for (let index = entries.length - 1; index >= 0; index -= 1) {
      const entry = entries[index];
      if (!entry) continue;
      stack.push({
        value: entry[1],
        path: childPath(path, entry[0]),
        key: Array.isArray(value) ? "" : entry[0],
        around: inside,
      });
    }
  }
  return { paths, open, more: ended() };
}
