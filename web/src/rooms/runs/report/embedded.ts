/** The run that a report has inside its own file. */

import { Problem, type Run, type Session } from "../../../api/client";
import type { LedgerEvent } from "../../../ledger/event";
import { lineOfCase } from "../data/case";
import { list, object, parse, text } from "../data/read";
import { readResult } from "../data/result";
import type { RunsSource } from "../source";

export interface Told {
  session: Session;
  events: LedgerEvent[];
}

/** What `rehearse report` puts into the element `rehearsal-report`. */
export interface Report {
  run: Run;
  sessions: Told[];
}

/** Reads the element's text; nothing where it holds no run. */
export function readReport(json: string): Report | null {
  let found: ReturnType<typeof object>;
  try {
    found = object(parse<unknown>(json));
  } catch {
    return null;
  }
  const run = object(found.run);
  if (!text(run.id)) return null;
  const sessions = list(found.sessions).flatMap((one) => {
    const told = object(one);
    if (!text(object(told.session).id)) return [];
    return [
      { session: told.session as unknown as Session, events: list(told.events) as unknown as LedgerEvent[] },
    ];
  });
  return { run: run as unknown as Run, sessions };
}

/** Answers from the report what the rooms ask of a server. */
export function embedded(report: Report): RunsSource {
  const sessions = new Map(report.sessions.map((told) => [told.session.id, told]));
  return {
    many: false,
    absent: "is not in this report",
    runs: async () => ({ runs: [report.run], next_page_token: null }),
    run: async (id) => {
      if (id === report.run.id) return report.run;
      throw new Problem(404, "not_found", "This report is of another run.");
    },
    head: async (id) => {
      if (id === report.run.id) return report.run;
      throw new Problem(404, "not_found", "This report is of another run.");
    },
    cases: async () => {
      const cases = readResult(report.run)?.cases.map(lineOfCase) ?? [];
      return { cases, last: null, more: false };
    },
    one: async (_, number) => {
      const found = report.run.result?.results[number];
      if (found) return found;
      throw new Problem(404, "not_found", "This report has no such case.");
    },
    session: async (id) => sessions.get(id)?.session ?? null,
    events: async (id) => ({ events: sessions.get(id)?.events ?? [], complete: true }),
    sessionHref: (id, event) =>
      `/sessions/${encodeURIComponent(id)}${event === undefined ? "" : `?e=${event}`}`,
    ledgerHref: () => null,
    reportHref: () => null,
  };
}
