/**
 * The address of a report. It is one file, often opened from a disk, where only what follows the `#` can change: both
 * the path and the query are there, as in `#/runs/ID?verdict=failed`.
 */

import { useSyncExternalStore } from "react";

const read = (): string => location.hash.slice(1) || "/";

function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

export function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  if (read() === to) return;
  if (!replace) location.hash = to;
  else {
    history.replaceState(null, "", `#${to}`);
    dispatchEvent(new Event("hashchange"));
  }
}

export function useHashPath(): [string, typeof navigate] {
  const hash = useSyncExternalStore(subscribe, read);
  return [hash.split("?", 1)[0] || "/", navigate];
}

export function useHashSearch(): string {
  const hash = useSyncExternalStore(subscribe, read);
  const at = hash.indexOf("?");
  return at < 0 ? "" : hash.slice(at + 1);
}

export const hashHref = (href: string): string => `#${href}`;
