/** Calls of the server, and what comes back. */

import { readJsonText, writeJson } from "../json/exact";
import { hearTime } from "./clock";
import type { components } from "./schema";

export type Schemas = components["schemas"];

export type Session = Schemas["SessionView"];
export type Sessions = Schemas["Sessions"];
export type Cue = Schemas["CueView"];
export type Agent = Schemas["AgentView"];
export type Run = Schemas["RunView"];
export type Runs = Schemas["Runs"];
export type CaseLines = Schemas["CaseLines"];
export type CaseLine = Schemas["CaseLine"];
export type Progress = Schemas["RunProgress"];
export type Answered = Schemas["Answered"];

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** The server understood and said no. `detail` says what was wrong and what to do. */
export class Problem extends Error {
  override readonly name = "Problem";

  constructor(
    readonly status: number,
    readonly kind: string,
    readonly detail: string,
    /** What else it said, such as the `head` that is to be answered first. */
    readonly fields: JsonObject = {},
  ) {
    super(detail);
  }
}

/** Nobody answered, or only that it cannot be done now: the server is away, on its way back, or busy. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";

  /** Whether somebody tries again is for those who show it to say. */
  constructor(words = "The server cannot be reached.") {
    super(words);
  }
}

/** Is told of calls that had no answer. */
export const unanswered = new Set<() => void>();

export interface CallOptions {
  body?: unknown;
  /** The same call with the same key is taken once. */
  key?: string;
  signal?: AbortSignal;
}

/** Makes a call and reads the JSON of its answer; nothing where there is none. */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const { response, text } = await send(method, path, options);
  if (!response.ok) throw problemOf(response, text);
  if (response.status === 204 || response.status === 202) return undefined as T;
  return readJsonText(text) as T;
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  call<T>("GET", path, signal ? { signal } : {});

export const post = <T>(path: string, body?: unknown, key?: string): Promise<T> =>
  call<T>("POST", path, { body: body ?? {}, ...(key === undefined ? {} : { key }) });

/** Sends a call and waits for all of the answer: one that breaks off is none. */
async function send(method: string, path: string, { body, key, signal }: CallOptions) {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key !== undefined) headers["Idempotency-Key"] = key;
  const sent = body === undefined ? {} : { body: writeJson(body) };
  try {
    const response = await fetch(path, { method, headers, ...sent, ...(signal ? { signal } : {}) });
    hearTime(response.headers.get("Date"));
    return { response, text: await response.text() };
  } catch (error) {
    if (signal?.aborted) throw error;
    for (const tell of unanswered) tell();
    throw new Unreachable();
  }
}

/** A server that answers so did nothing, and may do it in a moment: it is busy, or its store is away. */
const PASSING = new Set([429, 502, 503, 504]);

function problemOf({ status, statusText }: Response, text: string): Error {
  // A proxy or a server that is ending answers without a problem of ours.
  const said = fieldsOf(text);
  const detail = typeof said.detail === "string" ? said.detail : undefined;
  if (PASSING.has(status) || (status >= 500 && detail === undefined)) return new Unreachable(detail);
  const kind = typeof said.type === "string" ? said.type : "http";
  return new Problem(status, kind, detail ?? `The server answered ${status} ${statusText}.`, said);
}

function fieldsOf(text: string): JsonObject {
  try {
    const said: unknown = JSON.parse(text);
    return said !== null && typeof said === "object" && !Array.isArray(said) ? (said as JsonObject) : {};
  } catch {
    return {};
  }
}

/** What to tell a person about something that went wrong. */
export function inWords(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
