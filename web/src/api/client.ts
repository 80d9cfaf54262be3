/** Calls of the server, and what comes back. */

import { readJsonText, writeJson } from "../json/exact";
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Session = Schemas["SessionView"];
export type Sessions = Schemas["Sessions"];
export type Cue = Schemas["CueView"];
export type Agent = Schemas["AgentView"];
export type Run = Schemas["RunView"];
export type Runs = Schemas["Runs"];
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

/** Nobody answered: the server is away, or on its way back. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";

  constructor() {
    super("The server cannot be reached. This page tries again by itself.");
  }
}

export interface CallOptions {
  body?: unknown;
  /** The same call with the same key is taken once. */
  key?: string;
  signal?: AbortSignal;
}

/** Makes a call and reads the JSON of its answer; nothing where there is none. */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const response = await send(method, path, options);
  if (response.status === 204 || response.status === 202) return undefined as T;
  return readJsonText(await response.text()) as T;
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  call<T>("GET", path, signal ? { signal } : {});

/** The text of an answer, for those who read numbers in it that JavaScript cannot hold. */
export const getText = async (path: string, signal?: AbortSignal): Promise<string> =>
  (await send("GET", path, signal ? { signal } : {})).text();

export const post = <T>(path: string, body?: unknown, key?: string): Promise<T> =>
  call<T>("POST", path, { body: body ?? {}, ...(key === undefined ? {} : { key }) });

async function send(method: string, path: string, { body, key, signal }: CallOptions): Promise<Response> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key !== undefined) headers["Idempotency-Key"] = key;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: writeJson(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable();
  }
  if (response.ok) return response;
  throw await problemOf(response);
}

async function problemOf(response: Response): Promise<Error> {
  // A proxy or a server that is ending answers without a problem of ours.
  const said = (await response.json().catch(() => null)) as JsonObject | null;
  if (said === null || typeof said.detail !== "string") {
    if (response.status >= 500) return new Unreachable();
    return new Problem(
      response.status,
      "http",
      `The server answered ${response.status} ${response.statusText}.`,
    );
  }
  const kind = typeof said.type === "string" ? said.type : "http";
  return new Problem(response.status, kind, said.detail, said);
}

/** What to tell a person about something that went wrong. */
export function inWords(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
