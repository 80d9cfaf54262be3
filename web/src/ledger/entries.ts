/** Events as entries of a timeline: which kind each is, and what it is called. */

import type { Json } from "../api/client";
import { readJsonText, writeJson } from "../json/exact";
import { oneLine } from "../json/show";
import { type Body, callsOf, type LedgerEvent, textOf } from "./event";

/** The five kinds that people tell apart at a glance, what a model said, and everything else. */
export type Kind = "user" | "call" | "output" | "error" | "final" | "model" | "quiet";

export interface Entry {
  seq: number;
  event: LedgerEvent;
  kind: Kind;
  /** What it is called: "Tool call". */
  word: string;
  /** What it is about: the tool, the agent. */
  about: string;
  /** In how many agents used as tools it happened. */
  depth: number;
}

/** What people should see among the conversation though it stands beside it. */
const LOUD = new Set<Body["type"]>([
  "state_change",
  "run_failed",
  "cue_dismissed",
  "late_result",
  "artifact_saved",
]);

/** Every event of the ledger, in its order. */
export const allEntries = (events: readonly LedgerEvent[]): Entry[] => events.map(entryOf);

/** What was said and done, without how it came about. */
export function conversation(events: readonly LedgerEvent[]): Entry[] {
  const entries: Entry[] = [];
  for (const event of events) {
    const entry = entryOf(event);
    if (entry.kind === "quiet" && !isLoud(event.body)) continue;
    if (entry.kind === "model" && textOf(bodyContent(event.body)) === "") continue;
    if (event.body.type === "final_response") {
      const reply = takeSameReply(entries, event.body.output);
      // What the model saw for it is known by the turn of the reply.
      if (reply?.turn !== undefined) entry.event = { ...event, turn: event.turn ?? reply.turn };
    }
    entries.push(entry);
  }
  return entries;
}

/** The final response says again what the model replied last; it is shown once. */
function takeSameReply(entries: Entry[], output: Json): LedgerEvent | undefined {
  const last = entries.at(-1);
  if (last?.event.body.type !== "model_response") return undefined;
  const said = textOf(last.event.body.content);
  return said === output || sameJson(said, output) ? entries.pop()?.event : undefined;
}

function sameJson(text: string, value: Json): boolean {
  try {
    return writeJson(readJsonText(text)) === writeJson(value);
  } catch {
    return false;
  }
}

const isLoud = (body: Body): boolean => LOUD.has(body.type);

const bodyContent = (body: Body) => (body.type === "model_response" ? body.content : undefined);

function entryOf(event: LedgerEvent): Entry {
  const [kind, word, about] = named(event);
  return { seq: event.seq, event, kind, word, about, depth: (event.invocation ?? "").split("/@").length - 1 };
}

function named(event: LedgerEvent): [Kind, string, string] {
  const { body, author } = event;
  switch (body.type) {
    case "user_message":
      return ["user", "User", ""];
    case "tool_call":
      return ["call", "Tool call", body.tool];
    // One that is repeated was run again for the same call, as a tool is that the user has confirmed.
    case "repeated_result":
    case "tool_result":
      return "error" in body.outcome
        ? ["error", "Tool error", body.tool]
        : ["output", "Tool output", body.tool];
    case "final_response":
      return ["final", "Final response", author];
    case "model_response":
      return callsOf(body.content).length > 0
        ? ["model", "Model called", calledTools(body.content)]
        : ["model", "Model replied", author];
    case "error":
      return ["error", "Error", body.kind];
    case "model_request":
      return ["quiet", "Model asked", author];
    case "session_started":
      return ["quiet", "Session began", body.agent];
    case "session_ended":
      return ["quiet", "Session ended", body.reason.replaceAll("_", " ")];
    case "agent_started":
      return ["quiet", "Agent began", author];
    case "agent_ended":
      return ["quiet", "Agent ended", author];
    case "output_rejected":
      return ["quiet", "Output rejected", author];
    case "yield":
      return ["quiet", body.kind === "loop" ? "Waits for the user" : "Waits for tools", author];
    case "state_change":
      return ["quiet", "State changed", Object.keys(body.changes).join(", ")];
    case "state_conflict":
      return ["quiet", "State conflict", ""];
    case "artifact_saved":
      return ["quiet", "Artifact saved", body.name];
    case "note":
      return ["quiet", inWords(body.name), author];
    default:
      // What stands beside the conversation; and a newer server may know kinds that this page does not.
      return ["quiet", inWords(body.type), author];
  }
}

function calledTools(content: Parameters<typeof callsOf>[0]): string {
  return oneLine(
    callsOf(content)
      .map((call) => call.name)
      .join(", "),
    80,
  );
}

function inWords(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
