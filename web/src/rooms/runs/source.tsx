/**
 * Where runs come from. The page reads them from the server; a report has one of them inside its own file. The rooms
 * only know this, so that both show the same.
 */

import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import {
  type CaseLines,
  get,
  Problem,
  type Run,
  type Runs,
  type Schemas,
  type Session,
  Unreachable,
} from "../../api/client";
import type { LedgerEvent } from "../../ledger/event";

export interface Events {
  events: LedgerEvent[];
  /** Whether these are all. */
  complete: boolean;
}

export interface RunsSource {
  /** Whether there are other runs to go to. */
  many: boolean;
  /** What to say of a session that is not there. */
  absent: string;
  runs(after: string | null, sought: string, signal: AbortSignal): Promise<Runs>;
  /** A run with all that its cases came to, which may be much. */
  run(id: string, signal: AbortSignal): Promise<Run>;
  /** A run without what its cases came to. */
  head(id: string, signal: AbortSignal): Promise<Run>;
  /** Cases that have ended, a line each, after those that gave `after` as their `last`. */
  cases(run: string, after: string | null): Promise<CaseLines>;
  /** What one case came to. */
  one(run: string, number: number, signal: AbortSignal): Promise<Schemas["CaseResult"]>;
  /** A session, or nothing when it is no longer kept. */
  session(id: string, signal: AbortSignal): Promise<Session | null>;
  events(session: string, signal: AbortSignal): Promise<Events>;
  /** The address of a session, or of one of its events. */
  sessionHref(session: string, event?: number): string;
  /** The address of its ledger as a file; nothing where there is no such file. */
  ledgerHref(session: string): string | null;
  /** The address of the run's report; nothing inside a report. */
  reportHref(run: string): string | null;
}

const PAGE = 200;
const EVENTS_PAGE = 1000;
/** A transcript beside a result is for reading; the session's own room has the rest. */
const MOST_EVENTS = 5000;

export const server: RunsSource = {
  many: true,
  absent: "is no longer kept",
  runs: (after, sought, signal) => {
    const params = new URLSearchParams({ page_size: String(PAGE) });
    if (sought) params.set("q", sought);
    if (after) params.set("page_token", after);
    return get<Runs>(`/v1/runs?${params}`, signal);
  },
  run: (id, signal) => get<Run>(`/v1/runs/${encodeURIComponent(id)}`, signal),
  head: (id, signal) => get<Run>(`/v1/runs/${encodeURIComponent(id)}?cases=false`, signal),
  cases: (run, after) => {
    const place = after === null ? "" : `?after=${encodeURIComponent(after)}`;
    return get<CaseLines>(`/v1/runs/${encodeURIComponent(run)}/cases${place}`);
  },
  one: (run, number, signal) => get(`/v1/runs/${encodeURIComponent(run)}/cases/${number}`, signal),
  session: async (id, signal) => {
    try {
      return await get<Session>(`/v1/sessions/${encodeURIComponent(id)}`, signal);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return null;
      throw error;
    }
  },
  events: async (session, signal) => {
    const events: LedgerEvent[] = [];
    for (;;) {
      const after = events.at(-1)?.seq ?? 0;
      const path = `/v1/sessions/${encodeURIComponent(session)}/events?after=${after}&limit=${EVENTS_PAGE}`;
      const page = await get<{ events: LedgerEvent[]; last_seq: number }>(path, signal);
      events.push(...page.events);
      const last = events.at(-1)?.seq ?? 0;
      if (page.events.length === 0 || last >= page.last_seq) return { events, complete: true };
      if (events.length >= MOST_EVENTS) return { events, complete: false };
    }
  },
  sessionHref: (session, event) =>
    `/sessions/${encodeURIComponent(session)}${event === undefined ? "" : `#e${event}`}`,
  ledgerHref: (session) => `/v1/sessions/${encodeURIComponent(session)}/ledger`,
  reportHref: (run) => `/v1/runs/${encodeURIComponent(run)}/report`,
};

export const Source = createContext<RunsSource>(server);
export const useSource = (): RunsSource => useContext(Source);

/** What nobody tells is looked for from time to time. */
const LOOK_AGAIN_MS = 5000;

export function useRunList(sought: string) {
  const source = useSource();
  return useInfiniteQuery({
    queryKey: ["runs", "list", sought],
    queryFn: ({ pageParam, signal }) => source.runs(pageParam, sought, signal),
    placeholderData: (before) => before,
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_token ?? null,
    refetchInterval: LOOK_AGAIN_MS,
  });
}

/** A run with its result. One that has ended does not change, and may be large, so it is read once. */
export function useRunResult(id: string) {
  const source = useSource();
  return useQuery({
    queryKey: ["runs", "result", id],
    queryFn: ({ signal }) => source.run(id, signal),
    enabled: id !== "",
    staleTime: ({ state }) => (state.data?.ended_at ? "static" : 1000),
    refetchInterval: ({ state }) =>
      state.error instanceof Unreachable || (state.data && !state.data.ended_at) ? LOOK_AGAIN_MS : false,
  });
}

/** A run without its cases, as it stands now. */
export function useRun(id: string) {
  const source = useSource();
  return useQuery({
    queryKey: ["runs", "head", id],
    queryFn: ({ signal }) => source.head(id, signal),
    staleTime: ({ state }) => (state.data?.ended_at ? "static" : 0),
    refetchInterval: ({ state }) =>
      state.error instanceof Unreachable || (state.data && !state.data.ended_at) ? LOOK_AGAIN_MS : false,
  });
}

/** What one case of a run came to. It has ended, and does not change. */
export function useCase(run: string, number: number) {
  const source = useSource();
  return useQuery({
    queryKey: ["case", run, number],
    queryFn: ({ signal }) => source.one(run, number, signal),
    staleTime: "static",
  });
}

export function useCaseSessions(ids: readonly string[]) {
  const source = useSource();
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ["session", id, "of case"],
      queryFn: ({ signal }: { signal: AbortSignal }) => source.session(id, signal),
      staleTime: 60_000,
    })),
  });
}

export function useTranscript(session: string | null) {
  const source = useSource();
  return useQuery({
    queryKey: ["transcript", session],
    queryFn: ({ signal }) => source.events(session ?? "", signal),
    enabled: session !== null,
    staleTime: 60_000,
  });
}
