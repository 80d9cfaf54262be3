/** What took how long: each decision of a model and each call of a tool, from its beginning to its end. */

import type { LedgerEvent } from "./event";

export interface Span {
  /** The event it began with. */
  seq: number;
  kind: "model" | "tool";
  name: string;
  /** Milliseconds since 1970. */
  begin: number;
  /** Nothing while it goes on. */
  end: number | null;
  failed: boolean;
  depth: number;
}

export function spansOf(events: readonly LedgerEvent[]): Span[] {
  const spans: Span[] = [];
  const open = new Map<string, Span>();
  for (const event of events) {
    const { body } = event;
    const at = Date.parse(event.at);
    const begin = (key: string, kind: Span["kind"], name: string) => {
      const depth = (event.invocation ?? "").split("/@").length - 1;
      const span: Span = { seq: event.seq, kind, name, begin: at, end: null, failed: false, depth };
      open.set(key, span);
      spans.push(span);
    };
    const end = (key: string, failed: boolean) => {
      const span = open.get(key);
      if (!span) return;
      open.delete(key);
      span.end = at;
      span.failed = failed;
    };
    if (body.type === "model_request") begin(`turn ${event.turn}`, "model", event.author);
    else if (body.type === "model_response") end(`turn ${event.turn}`, false);
    else if (body.type === "tool_call") begin(`call ${body.call}`, "tool", body.tool);
    else if (body.type === "tool_result") end(`call ${body.call}`, "error" in body.outcome);
  }
  return spans;
}
