/** State that is kept in the address, so that a reload and a link show the same. */

import { useLocation, useSearch } from "wouter";

export type Address = [URLSearchParams, (change: Record<string, string | null>) => void];

/** The query of the address, and a way to change some of it in place. */
export function useAddress(): Address {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const params = new URLSearchParams(search);
  const change = (values: Record<string, string | null>) => {
    const next = new URLSearchParams(search);
    for (const [key, value] of Object.entries(values)) {
      if (value) next.set(key, value);
      else next.delete(key);
    }
    const query = next.toString();
    navigate(query ? `${path}?${query}` : path, { replace: true });
  };
  return [params, change];
}

export const runHref = (id: string) => `/runs/${encodeURIComponent(id)}`;
export const caseHref = (id: string, n: number) => `${runHref(id)}/cases/${n}`;
export const compareHref = (a: string, b: string) =>
  `/runs/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`;
