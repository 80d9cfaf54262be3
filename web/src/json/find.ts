/** Searching in a JSON value. */

import type { Json } from "../api/client";
import { isBranch } from "./exact";

export interface Found {
  /** What was looked for, in small letters. */
  sought: string;
  /** Where a key or a value has the text, in the order of the value. */
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
  const stack: Place[] = [{ value, path: "", key: "", around: null }];
  while (stack.length > 0 && !ended()) {
    const place = stack.pop();
    if (place === undefined) break;
    looked += 1;
    const { value, path, key } = place;
    const isLeaf = !isBranch(value);
    if (key.toLowerCase().includes(sought) || (isLeaf && String(value).toLowerCase().includes(sought))) {
      paths.add(path);
      for (let outer = place.around; outer !== null; outer = outer.around) open.add(outer.path);
    }
    if (isLeaf) continue;
    // What comes first is looked at first.
    for (const [name, item] of Object.entries(value).reverse()) {
      stack.push({
        value: item,
        path: childPath(path, name),
        key: Array.isArray(value) ? "" : name,
        around: place,
      });
    }
  }
  return { sought, paths, open, more: ended() };
}

interface Place {
  value: Json;
  path: string;
  key: string;
  around: Place | null;
}
