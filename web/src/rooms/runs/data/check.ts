/** An evaluation of a scenario or a metric of a case, and what it found. */

import type { Schemas } from "../../../api/client";

/** What a metric found, with what it is called; an evaluation also says where it stands. */
export type Check = Schemas["MetricResult"] &
  Pick<Schemas["EvaluationResult"], "name" | "message"> &
  Partial<Pick<Schemas["EvaluationResult"], "line" | "description">>;

export const ofMetric = (name: string, metric: Schemas["MetricResult"]): Check => ({
  ...metric,
  name,
  message: metric.evidence?.[0]?.text ?? "",
});

/** The numbers of all events that they point at. */
export function eventsOf(checks: readonly Check[]): Set<number> {
  return new Set(checks.flatMap(({ evidence }) => (evidence ?? []).flatMap(({ events }) => events ?? [])));
}
