/** A session as people read it: messages, tool calls and results, errors, each with the number of its event. */

import { oneLine } from "../../../json/show";
import { type LedgerEvent, textOf } from "../../../ledger/event";

export interface Line {
  seq: number;
  who: string;
  kind: "user" | "agent" | "call" | "output" | "error";
  text: string;
}

const LONGEST = 2000;

/** The line that shows an event; nothing for events that people do not read. */
export function lineOf(event: LedgerEvent): Line | null {
  const line = (kind: Line["kind"], who: string, text: string): Line => ({
    seq: event.seq,
    who,
    kind,
    text: cut(text),
  });
  const body = event.body;
  switch (body?.type) {
    case "user_message":
      return line("user", "user", textOf(body.content));
    case "model_response": {
      const said = textOf(body.content);
      return said === "" ? null : line("agent", event.author, said);
    }
    case "tool_call":
      return line("call", event.author, `calls ${body.tool} ${oneLine(body.args, LONGEST)}`);
    case "tool_result": {
      const outcome = body.outcome ?? {};
      if ("error" in outcome) {
        return line("error", body.tool, `fails: ${outcome.error?.type}: ${outcome.error?.message}`);
      }
      return line(
        "output",
        body.tool,
        `gives ${oneLine("output" in outcome ? outcome.output : undefined, LONGEST)}`,
      );
    }
    case "error":
      return line("error", "error", body.message);
    default:
      return null;
  }
}

export const linesOf = (events: readonly LedgerEvent[]): Line[] =>
  events.flatMap((event) => lineOf(event) ?? []);

const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
