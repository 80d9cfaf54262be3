/** The cases of a run that have ended, as far as this page knows them: a line each, in the order in which they were kept. */

import { useEffect, useRef, useSyncExternalStore } from "react";
import { type CaseLines, inWords, Problem } from "../../api/client";
import { live } from "../../api/live";
import { type Line, lineOf } from "./data/case";
import { type RunsSource, useSource } from "./source";

export interface CasesView {
  lines: readonly Line[];
  /** Whether all that had ended when the server was last asked are here. */
  complete: boolean;
  problem: string | null;
}

/** While much happens, what is new is asked for at most so often. */
const PAUSE_MS = 250;
const AGAIN_MS = 1000;

/** Reads the cases that ended after the last one it has, whenever it is told to look. */
export class CaseLog {
  private view: CasesView = { lines: [], complete: false, problem: null };
  private readonly listeners = new Set<() => void>();
  private last: string | null = null;
  private reading = false;
  private again = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly run: string,
    private readonly read: (after: string | null) => Promise<CaseLines>,
  ) {}

  readonly current = (): CasesView => this.view;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Forgets all of it: the run goes on once more, and cases that were stopped with it are run again. */
  forget(): void {
    this.last = null;
    this.show({ lines: [], complete: false, problem: null });
  }

  /** Looks whenever something may have happened to the run. */
  follow(): () => void {
    return live.onChange((change) => {
      if (change === "everything" || ("run" in change && change.run === this.run)) this.soon(PAUSE_MS);
    });
  }

  private soon(pause: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (this.listeners.size > 0) void this.catchUp();
    }, pause);
  }

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
    if (!(error instanceof Problem)) this.soon(AGAIN_MS);
  }

  private async readPages(): Promise<void> {
    for (;;) {
      const page = await this.read(this.last);
      const complete = !page.more;
      if (page.cases.length > 0 || this.view.complete !== complete || this.view.problem !== null) {
        const lines =
          page.cases.length > 0 ? this.view.lines.concat(page.cases.map(lineOf)) : this.view.lines;
        this.last = page.last ?? this.last;
        this.show({ lines, complete, problem: null });
      }
      if (complete) return;
    }
  }

  private show(view: CasesView): void {
    this.view = view;
    for (const listener of this.listeners) listener();
  }
}

/** The logs of the runs seen last, so that going back shows them at once. */
const logs = new WeakMap<RunsSource, Map<string, CaseLog>>();
const KEPT = 4;

function logOf(source: RunsSource, run: string): CaseLog {
  const known = logs.get(source) ?? new Map<string, CaseLog>();
  logs.set(source, known);
  const log = known.get(run) ?? new CaseLog(run, (after) => source.cases(run, after));
  known.delete(run);
  known.set(run, log);
  for (const old of known.keys()) {
    if (known.size <= KEPT) break;
    known.delete(old);
  }
  return log;
}

/** The cases of a run that have ended; those that end from now on too, where it goes on. */
export function useCaseLines(run: string, goesOn: boolean): CasesView {
  const log = logOf(useSource(), run);
  const went = useRef(goesOn);
  // A run that has just ended may have written more than was told.
  useEffect(() => {
    if (log.run === "") return;
    if (goesOn && !went.current) log.forget();
    went.current = goesOn;
    void log.catchUp();
    return goesOn ? log.follow() : undefined;
  }, [log, goesOn]);
  return useSyncExternalStore(log.subscribe, log.current);
}
