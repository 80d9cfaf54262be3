/** Events as the ledger writes them. */

import type { Json, JsonObject } from "../api/client";

export interface Part {
  text?: string;
  thought?: boolean;
  function_call?: { id?: string; name: string; args?: JsonObject };
  function_response?: { id?: string; name: string; response?: JsonObject };
  inline_data?: { mime_type?: string; data: string };
  file_data?: { mime_type?: string; file_uri: string };
}

export interface Content {
  role?: string;
  parts?: Part[];
}

export interface ToolDeclaration {
  name: string;
  description?: string;
  parameters?: JsonObject;
}

export interface ToolFailure {
  type: string;
  message: string;
  traceback?: string;
}

export interface Decision {
  by: string;
  name?: string;
  micros: number;
}

export interface Usage {
  input: number;
  output: number;
}

export type Body =
  | { type: "session_started"; agent: string; part?: string; case?: string; state?: JsonObject }
  | { type: "agent_started"; kind: string }
  | { type: "agent_ended"; output: Json; transfer_to?: string }
  | { type: "user_message"; content: Content }
  | { type: "model_request"; base?: string; keep?: number; contents?: Content[] }
  | { type: "model_response"; content: Content; finish?: string; usage?: Usage; model_version?: string }
  | { type: "output_rejected"; violations: { path?: string; message?: string }[] }
  | { type: "tool_call"; call: string; tool: string; args: JsonObject }
  | {
      type: "tool_result";
      call: string;
      tool: string;
      outcome: { output: Json } | { error: ToolFailure };
      changes?: JsonObject[];
    }
  | { type: "yield"; kind: string; calls?: { call: string; tool: string; args: JsonObject }[] }
  | { type: "state_change"; changes: JsonObject }
  | { type: "state_conflict"; earlier: string; later: string; overwrite: JsonObject }
  | { type: "final_response"; output: Json }
  | { type: "error"; phase: string; kind: string; message: string }
  | { type: "session_ended"; reason: string }
  | { type: "note"; name: string; data: Json };

export interface LedgerEvent {
  seq: number;
  event_id?: string;
  session: string;
  at: string;
  author: string;
  invocation?: string;
  turn?: string;
  decision?: Decision;
  body: Body;
  /** Large values were cut; the event by itself has them whole. */
  truncated?: boolean;
}

/** What a content says in words, without thoughts. */
export function textOf(content: Content | undefined): string {
  const texts = (content?.parts ?? []).filter((part) => part.text !== undefined && !part.thought);
  return texts.map((part) => part.text).join("\n");
}

export const callsOf = (content: Content | undefined) =>
  (content?.parts ?? []).flatMap((part) => (part.function_call ? [part.function_call] : []));
