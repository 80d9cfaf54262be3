/** The counts of many runs, which the list of runs does not say: read from each run's result, a few at a time. */

import { useEffect, useMemo, useSyncExternalStore } from "react";
import { Problem, type Run } from "../../api/client";
import { type Summary, summaryOf } from "./data/summary";
import { type RunsSource, useSource } from "./source";

type Known = ReadonlyMap<string, Summary | null>;

/** Browsers open six connections to a server; some are left for what people do meanwhile. */
const AT_ONCE = 3;
/** A room with hundreds of rows is not drawn again for each run that was read. */
const TELL_EVERY_MS = 150;
const AGAIN_AFTER_MS = 2000;

export class Shelf {
  private known: Known = new Map();
  private readonly fresh = new Map<string, Summary | null>();
  private readonly listeners = new Set<() => void>();
  private queue: string[] = [];
  private readonly underWay = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly read: (id: string) => Promise<Run>) {}

  readonly current = (): Known => this.known;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Reads these next, in this order, in place of what was asked for before. */
  want(ids: readonly string[]): void {
    this.queue = ids.filter((id) => !this.known.has(id) && !this.fresh.has(id) && !this.underWay.has(id));
    while (this.underWay.size < AT_ONCE && this.queue.length > 0) this.next();
  }

  private next(): void {
    const id = this.queue.shift();
    if (id === undefined) return;
    this.underWay.add(id);
    this.read(id)
      .then(
        (run) => this.keep(id, summaryOf(run)),
        (error: unknown) => {
          // A "no" is an answer: the run was removed meanwhile. Silence is not.
          if (error instanceof Problem) this.keep(id, null);
          else setTimeout(() => this.listeners.size > 0 && this.want([...this.queue, id]), AGAIN_AFTER_MS);
        },
      )
      .finally(() => {
        this.underWay.delete(id);
        this.next();
      });
  }

  private keep(id: string, summary: Summary | null): void {
    this.fresh.set(id, summary);
    this.timer ??= setTimeout(() => this.tell(), TELL_EVERY_MS);
  }

  private tell(): void {
    this.timer = undefined;
    this.known = new Map([...this.known, ...this.fresh]);
    this.fresh.clear();
    for (const listener of this.listeners) listener();
  }
}

const shelves = new WeakMap<RunsSource, Shelf>();

function shelfOf(source: RunsSource): Shelf {
  const shelf = shelves.get(source) ?? new Shelf((id) => source.head(id, new AbortController().signal));
  shelves.set(source, shelf);
  return shelf;
}

/** The counts of these runs as far as they are known: as the list says them, otherwise as they were read. */
export function useSummaries(runs: readonly Run[]): Known {
  const shelf = shelfOf(useSource());
  const read = useSyncExternalStore(shelf.subscribe, shelf.current);
  useEffect(() => {
    shelf.want(
      runs.filter((run) => run.status !== "running" && summaryOf(run) === null).map((run) => run.id),
    );
    return () => shelf.want([]);
  }, [shelf, runs]);
  return useMemo(() => {
    const known = new Map(read);
    for (const run of runs) {
      const said = summaryOf(run);
      if (said) known.set(run.id, said);
    }
    return known;
  }, [read, runs]);
}
