/** What rooms read: cached, and read again when the server says that something changed. */

import {
  type Query,
  QueryCache,
  QueryClient,
  type QueryFilters,
  queryOptions,
  useQuery,
} from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import {
  type Agent,
  type Cue,
  get,
  Problem,
  type Session,
  type Sessions,
  Unreachable,
  unanswered,
} from "./client";
import { type Change, type Connection, live } from "./live";

unanswered.add(() => void live.doubt());

/** What could not be read for now is asked for again after this time. */
const AGAIN_AFTER_MS = 5_000;

export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (error instanceof Problem && error.status === 401) live.lock();
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A "no" is an answer; only silence is worth another try.
      retry: (count, error) => !(error instanceof Problem) && count < 5,
      retryDelay: (count) => Math.min(200 * 2 ** count, 2000),
      // Nobody tells when a server that was busy can answer again.
      refetchInterval: ({ state }) => (state.error instanceof Unreachable ? AGAIN_AFTER_MS : false),
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

/** Lists are read again at most so often while much happens at once. */
const LIST_PAUSE_MS = 150;

/** What is read once more as soon as the reading that is under way has ended. */
const onceMore = new WeakSet<Query>();

/**
 * Reads again, and misses nothing. A reading that is under way goes on, since begun anew at each change it would never
 * end while much happens. It may have begun before the change, so that another one follows it.
 */
export function readAgain(what: QueryFilters): void {
  const cache = queries.getQueryCache();
  const underWay = cache.findAll({ ...what, fetchStatus: "fetching" });
  // What only waits to try again, as in a tab that nobody looks at, begins anew.
  void queries.invalidateQueries({ ...what, fetchStatus: "paused" });
  void queries.invalidateQueries(what, { cancelRefetch: false });
  for (const query of underWay) readOnceMore(query);
}

function readOnceMore(query: Query): void {
  if (onceMore.has(query)) return;
  onceMore.add(query);
  const follow = () => {
    onceMore.delete(query);
    void queries.invalidateQueries({ queryKey: query.queryKey, exact: true }, { cancelRefetch: false });
  };
  // This begins nothing: it is what is under way.
  query.fetch().then(follow, follow);
}

/** Reads again what a change may have touched. */
export function followChanges(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const lists = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      readAgain({ queryKey: ["cues"] });
      readAgain({ queryKey: ["sessions"] });
      readAgain({ queryKey: ["runs"] });
    }, LIST_PAUSE_MS);
  };
  const stop = live.onChange((change: Change) => {
    if (change === "everything") readAgain({});
    else {
      if ("session" in change) readAgain({ queryKey: ["session", change.session] });
      lists();
    }
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}

export const useConnection = (): Connection => useSyncExternalStore(live.onConnection, live.connection);

export const useSession = (id: string) =>
  useQuery({
    queryKey: ["session", id],
    queryFn: ({ signal }) => get<Session>(`/v1/sessions/${id}`, signal),
  });

/** So many cues are listed at most. */
export const MOST_CUES = 200;

export const useOpenCues = () =>
  useQuery({
    queryKey: ["cues"],
    queryFn: ({ signal }) => get<{ cues: Cue[] }>(`/v1/cues?limit=${MOST_CUES}`, signal),
  });

/** A session's cues that wait, the head first. */
export const useSessionCues = (session: string) =>
  useQuery({
    queryKey: ["session", session, "cues"],
    queryFn: ({ signal }) => get<{ cues: Cue[] }>(`/v1/cues?session=${session}`, signal),
  });

/**
 * One cue with what is needed to decide. That may be megabytes and never changes, so it is read once: whether the cue
 * waits, and whether it is the head, is in the list.
 */
export const cueQuery = (session: string, id: string | null | undefined) =>
  queryOptions({
    queryKey: ["session", session, "cue", id],
    queryFn: ({ signal }) => get<Cue>(`/v1/cues/${encodeURIComponent(id ?? "")}`, signal),
    enabled: Boolean(id),
    staleTime: "static",
  });

export const useCue = (session: string, id: string | null | undefined) => useQuery(cueQuery(session, id));

export interface SessionFilter {
  status?: string;
  q?: string;
  agent?: string;
  run?: string;
  pageSize?: number;
  pageToken?: string;
}

export const useSessions = (filter: SessionFilter) => {
  const params = new URLSearchParams();
  if (filter.status) params.set("status", filter.status);
  if (filter.q) params.set("q", filter.q);
  if (filter.agent) params.set("agent", filter.agent);
  if (filter.run) params.set("run", filter.run);
  if (filter.pageToken) params.set("page_token", filter.pageToken);
  params.set("page_size", String(filter.pageSize ?? 25));
  return useQuery({
    queryKey: ["sessions", params.toString()],
    queryFn: ({ signal }) => get<Sessions>(`/v1/sessions?${params}`, signal),
    placeholderData: (before) => before,
  });
};

/** Agents that hosts can run. Hosts come and go without a word, so they are asked for now and then. */
export const useAgents = () =>
  useQuery({
    queryKey: ["agents"],
    queryFn: ({ signal }) => get<{ agents: Agent[] }>("/v1/agents", signal),
    refetchInterval: 3_000,
  });
