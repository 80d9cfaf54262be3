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
      outcome: Outcome;
      changes?: JsonObject[];
    }
  | { type: "yield"; kind: string; calls?: { call: string; tool: string; args: JsonObject }[] }
  | { type: "state_change"; changes: JsonObject }
  | { type: "state_conflict"; earlier: string; later: string; overwrite: JsonObject }
  | { type: "final_response"; output: Json }
  | { type: "error"; phase: string; kind: string; message: string }
  | { type: "session_ended"; reason: string }
  | { type: "step_started"; step: number; name?: string; kind: string }
  | { type: "step_ended"; step: number; exit_code: number | null; stdout: string; stderr: string }
  | { type: "step_commands"; commands: JsonObject[] }
  | { type: "time_limit"; limit: string; millis?: number }
  | { type: "world_started"; scope: string; tools: string[]; user_tools?: string[] }
  | { type: "world_log"; text: string }
  | { type: "world_references"; references: JsonObject[] }
  | { type: "folder_kept"; folder: string }
  | { type: "turn_ended"; step: number; turn: number; files: JsonObject }
  | { type: "turn_decision"; step: number; turn: number; condition: string; holds: boolean; why: string }
  | { type: "user_simulation"; step: number; prompt: string; message: string }
  | { type: "user_hung_up"; step: number; how: string; said?: string; why?: string }
  | { type: "remote_session"; session: Json }
  | { type: "agent_log"; text: string }
  | { type: "run_failed"; error: ToolFailure }
  | { type: "cue_dismissed"; cue: string; kind: string; agent?: string | null }
  | { type: "late_result"; call: string; tool: string; outcome: Outcome }
  | { type: "repeated_result"; call: string; tool: string; outcome: Outcome }
  | { type: "tool_exception"; call: string; error: ToolFailure }
  | { type: "agent_chosen"; agent: string }
  | { type: "cancel_reason"; reason: string }
  | ({ type: "artifact_saved" } & Artifact)
  | { type: "note"; name: string; data: Json };

/** What came of a tool call. */
export type Outcome = { output: Json } | { error: ToolFailure };

/** An artifact as its event tells of it. */
export interface Artifact {
  name: string;
  version: number;
  call?: string;
  mime_type?: string;
  size?: number;
  left_out?: string;
  part?: Part;
}

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
