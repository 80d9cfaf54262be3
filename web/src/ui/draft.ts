/** What somebody has typed and not yet sent, kept in the browser so that nothing loses it. */

import { useCallback, useSyncExternalStore } from "react";
import { readJsonText, writeJson } from "../json/exact";

const PREFIX = "rehearsal-draft:";
/** Drafts of cues that nobody came back to are let go after a while. */
const KEPT_MS = 30 * 24 * 3600 * 1000;

const listeners = new Map<string, Set<() => void>>();
const cache = new Map<string, { text: string | null; value: unknown }>();

/**
 * A draft under a name, such as a cue's id. The same name in another tab is the same draft.
 * `undefined` takes it away.
 */
export function useDraft<T>(name: string, empty: T): [T, (draft: T | undefined) => void] {
  const key = PREFIX + name;
  const read = useCallback((): T => {
    const text = stored(key);
    const known = cache.get(key);
    if (known && known.text === text) return known.value as T;
    // Nothing is kept: what that means depends on who asks.
    if (text === null) return empty;
    const value = parsed(text, empty);
    cache.set(key, { text, value });
    return value;
  }, [key, empty]);
  const subscribe = useCallback(
    (listener: () => void) => {
      const mine = listeners.get(key) ?? new Set();
      listeners.set(key, mine.add(listener));
      const elsewhere = (event: StorageEvent) => event.key === key && listener();
      window.addEventListener("storage", elsewhere);
      return () => {
        mine.delete(listener);
        window.removeEventListener("storage", elsewhere);
      };
    },
    [key],
  );
  const draft = useSyncExternalStore(subscribe, read);
  const write = useCallback(
    (draft: T | undefined) => {
      cache.delete(key);
      try {
        if (draft === undefined) localStorage.removeItem(key);
        else localStorage.setItem(key, writeJson({ at: Date.now(), draft }));
      } catch {
        // The browser keeps nothing, or no more. What is on the page stays there.
        cache.set(key, { text: stored(key), value: draft ?? empty });
      }
      for (const listener of listeners.get(key) ?? []) listener();
    },
    [key, empty],
  );
  return [draft, write];
}

/** What is kept under a name now, for those who do not follow it. */
export function keptDraft<T>(name: string): T | undefined {
  const text = stored(PREFIX + name);
  return text === null ? undefined : parsed<T | undefined>(text, undefined);
}

/** Keeps something under a name, or takes it away. */
export function keepDraft<T>(name: string, draft: T | undefined): void {
  try {
    if (draft === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, writeJson({ at: Date.now(), draft }));
  } catch {
    // The browser keeps nothing, or no more. What is on the page stays there.
  }
  for (const listener of listeners.get(PREFIX + name) ?? []) listener();
}

/** Whether something is kept under a name. */
export const hasDraft = (name: string): boolean => stored(PREFIX + name) !== null;

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function parsed<T>(text: string, empty: T): T {
  try {
    return (readJsonText(text) as unknown as { draft: T }).draft ?? empty;
  } catch {
    return empty;
  }
}

/** Takes away what nobody came back to. */
export function forgetOldDrafts(now: number): void {
  try {
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith(PREFIX)) continue;
      const at = (JSON.parse(localStorage.getItem(key) ?? "{}") as { at?: number }).at ?? 0;
      if (now - at > KEPT_MS) localStorage.removeItem(key);
    }
  } catch {
    // Nothing is kept here, so nothing is old.
  }
}
