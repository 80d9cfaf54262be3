/** Where the agent's last run stands, read from the ledger as the server reads it. */

import type { LedgerEvent, ToolFailure } from "./event";

export type Standing =
  | { is: "new" | "running" | "answered" }
  /** It ended without a final response; the next message lets it try again. */
  | { is: "failed"; why: string };

/** An agent that is used as a tool has a mark in its path. */
const isInside = (event: LedgerEvent): boolean => event.invocation?.includes("/@") ?? false;

export function standing(events: readonly LedgerEvent[]): Standing {
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index] as LedgerEvent;
    const { body } = event;
    if (body.type === "run_failed") return { is: "failed", why: reason(body.error) };
    if (body.type === "agent_started") return { is: "running" };
    if (body.type === "agent_ended" && !isInside(event)) return { is: "answered" };
  }
  return { is: "new" };
}

const reason = ({ type, message }: ToolFailure): string => [type, message].filter(Boolean).join(": ");
