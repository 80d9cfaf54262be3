/** Pass rates over time, for the plot and for its words. */

import type { Run } from "../../../api/client";
import { nameOf } from "./result";
import { passRate, percent, type Summary, summaryOf } from "./summary";

export interface Point {
  id: string;
  title: string;
  at: string;
  rate: number;
  summary: Summary;
}

/** A point for each run that came to something, oldest first. Runs under way have none yet. */
export function pointsOf(runs: readonly Run[], known: (id: string) => Summary | null | undefined): Point[] {
  const points = runs.flatMap((run) => {
    const summary = summaryOf(run) ?? known(run.id) ?? null;
    const rate = passRate(summary);
    if (run.status === "running" || summary === null || rate === null) return [];
    return [{ id: run.id, title: nameOf(run), at: run.started_at, rate, summary }];
  });
  return points.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at) || (a.id < b.id ? -1 : 1));
}

/** What the plot shows, for those who do not see it. */
export function inWords(points: readonly Point[]): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return "No run has come to something yet.";
  if (points.length === 1) return `One run, of which ${percent(last.rate)} passed.`;
  const rates = points.map((point) => point.rate);
  const range = `from ${percent(Math.min(...rates))} to ${percent(Math.max(...rates))}`;
  return `${points.length} runs. Pass rates go ${range}; the first was ${percent(first.rate)}, the last ${percent(last.rate)}.`;
}
