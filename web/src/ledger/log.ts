/** The events of a session as far as this page knows them: in order, none missing, none twice. */

import { useEffect, useSyncExternalStore } from "react";
import { get, inWords, Problem } from "../api/client";
import { live } from "../api/live";
import type { LedgerEvent } from "./event";

export interface LogView {
  events: readonly LedgerEvent[];
  /** Whether all events that the server had when it was last asked are here. */
  complete: boolean;
  problem: string | null;
}

interface Page {
  events: LedgerEvent[];
  last_seq: number;
}

const PAGE = 1000;
const PAUSE_MS = 1000;

/** Reads a session's events after the last one it has, whenever it is told to look. */
export class EventLog {
  private view: LogView = { events: [], complete: false, problem: null };
  private readonly listeners = new Set<() => void>();
  private reading = false;
  private again = false;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private stopFollowing: (() => void) | null = null;

  constructor(
    readonly session: string,
    private readonly read: (path: string) => Promise<Page> = get,
  ) {}

  readonly current = (): LogView => this.view;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    if (this.listeners.size === 1) {
      this.stopFollowing = live.onChange((change) => {
        if (change === "everything" || !("session" in change) || change.session === this.session) {
          void this.catchUp();
        }
      });
      void this.catchUp();
    }
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.stopFollowing?.();
    };
  };

  /** Reads what is new. Being told while reading means reading once more, also when that reading fails. */
  async catchUp(): Promise<void> {
    this.again = true;
    if (this.reading) return;
    this.reading = true;
    try {
      while (this.again) {
        this.again = false;
        await this.readPages().catch((error: unknown) => this.fail(error));
      }
    } finally {
      this.reading = false;
    }
  }

  private fail(error: unknown): void {
    this.show({ ...this.view, problem: inWords(error) });
    // A "no" is final; silence is not.
    if (error instanceof Problem) return;
    this.retry ??= setTimeout(() => {
      this.retry = undefined;
      if (this.listeners.size > 0) void this.catchUp();
    }, PAUSE_MS);
  }

  private async readPages(): Promise<void> {
    for (;;) {
      const known = this.view.events.at(-1)?.seq ?? 0;
      const page = await this.read(`/v1/sessions/${this.session}/events?after=${known}&limit=${PAGE}`);
      const fresh = page.events.filter((event) => event.seq > known);
      const last = fresh.at(-1)?.seq ?? known;
      const complete = last >= page.last_seq || fresh.length === 0;
      if (fresh.length > 0 || !this.view.complete || this.view.problem !== null) {
        const events = fresh.length > 0 ? this.view.events.concat(fresh) : this.view.events;
        this.show({ events, complete, problem: null });
      }
      if (complete) return;
    }
  }

  private show(view: LogView): void {
    this.view = view;
    for (const listener of this.listeners) listener();
  }
}

/** The logs of the sessions seen last, so that going back shows them at once. */
const logs = new Map<string, EventLog>();
const KEPT = 4;

function logOf(session: string): EventLog {
  const log = logs.get(session) ?? new EventLog(session);
  logs.delete(session);
  logs.set(session, log);
  for (const old of logs.keys()) {
    if (logs.size <= KEPT) break;
    logs.delete(old);
  }
  return log;
}

export function useEvents(session: string): LogView {
  const log = logOf(session);
  useEffect(() => void log.catchUp(), [log]);
  return useSyncExternalStore(log.subscribe, log.current);
}
