/** The state of a session as its ledger tells it, and what each event changed of it. */

import type { Json, JsonObject } from "../api/client";
import { isObject, put, same } from "../form/paths";
import type { Body, LedgerEvent } from "./event";

export interface Kept {
  value: Json;
  /** The event that made it so. */
  seq: number;
}

export interface Change {
  scope: string;
  key: string;
  /** Nothing where it was not there before, or is not any more. */
  before: Json | undefined;
  after: Json | undefined;
}

export interface StateView {
  scopes: ReadonlyMap<string, ReadonlyMap<string, Kept>>;
  /** What events changed, by their numbers. */
  changes: ReadonlyMap<number, readonly Change[]>;
  /** Whether some values are here in part only: the server cuts what is large. */
  isPart: boolean;
}

export function stateOf(events: readonly LedgerEvent[]): StateView {
  const scopes = new Map<string, Map<string, Kept>>();
  const changes = new Map<number, Change[]>();
  let isPart = false;
  for (const { seq, body, truncated } of events) {
    const patches = patchesOf(body);
    if (patches.length === 0) continue;
    if (truncated) isPart = true;
    const made = patches.flatMap((patch) => apply(scopes, patch, seq));
    if (made.length > 0) changes.set(seq, made);
  }
  return { scopes, changes, isPart };
}

function patchesOf(body: Body): JsonObject[] {
  if (body.type === "state_change") return [body.changes];
  if (body.type === "tool_result") return body.changes ?? [];
  return body.type === "session_started" && body.state ? [body.state] : [];
}

/** Changes state by a merge patch for each scope (RFC 7396), and says what became another. */
function apply(scopes: Map<string, Map<string, Kept>>, patch: JsonObject, seq: number): Change[] {
  const made: Change[] = [];
  for (const [scope, fields] of Object.entries(patch)) {
    // What the server has cut may stand in the place of a scope.
    if (!isObject(fields)) continue;
    const kept = scopes.get(scope) ?? new Map<string, Kept>();
    scopes.set(scope, kept);
    for (const [key, to] of Object.entries(fields)) {
      const before = kept.get(key)?.value;
      const after = to === null ? undefined : merged(before, to);
      if (after === undefined) kept.delete(key);
      else if (!same(before, after)) kept.set(key, { value: after, seq });
      if (!same(before, after)) made.push({ scope, key, before, after });
    }
  }
  return made;
}

function merged(before: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: JsonObject = {};
  if (isObject(before)) for (const [key, value] of Object.entries(before)) put(result, key, value);
  for (const [key, to] of Object.entries(patch)) {
    if (to === null) delete result[key];
    else put(result, key, merged(Object.hasOwn(result, key) ? result[key] : undefined, to));
  }
  return result;
}
