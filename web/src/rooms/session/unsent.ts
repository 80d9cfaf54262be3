/** What somebody had typed for a question that was then answered otherwise: it is theirs, and stays until they say. */

import type { Json, JsonObject } from "../../api/client";
import { same } from "../../form/paths";
import { keepDraft, keptDraft } from "../../ui/draft";
import type { ModelDraft } from "./ModelDecision";

/** Under this name a session's unsent texts are kept. */
export const unsentOf = (session: string): string => `unsent-${session}`;

/** Keeps what was typed for a cue that is gone. */
export function keepUnsent(session: string, cue: string): void {
  const draft = keptDraft<Json>(cue);
  if (draft === undefined) return;
  keep(session, typed(draft));
  keepDraft(cue, undefined);
}

/** Keeps what of a model's draft was not in the answer that was sent. */
export function keepRest(session: string, draft: ModelDraft, sent: JsonObject): void {
  const calls = Array.isArray(sent.calls) ? (sent.calls as JsonObject[]) : [];
  const wasSent = (tool: string, args: Json) =>
    calls.some((call) => call.tool === tool && same(call.args, args));
  const rest: JsonObject = {};
  if (draft.text.trim() !== "" && sent.text !== draft.text) rest.text = draft.text;
  if (draft.value !== undefined && !same(sent.final, draft.value)) rest.value = draft.value;
  if (draft.aside.trim() !== "" && sent.text !== draft.aside) rest.aside = draft.aside;
  const args = Object.entries(draft.args).filter(([tool, value]) => !wasSent(tool, value));
  if (args.length > 0) rest.args = Object.fromEntries(args);
  const prepared = draft.prepared.filter((call) => !wasSent(call.tool, call.args));
  if (prepared.length > 0) rest.prepared = prepared as unknown as Json;
  keep(session, rest);
}

function keep(session: string, rest: JsonObject): void {
  const filled = Object.entries(rest).filter(([, value]) => !isNothing(value));
  if (filled.length > 0) keepDraft(unsentOf(session), Object.fromEntries(filled));
}

/** What of a draft somebody typed: not which form was open. */
function typed(draft: Json): JsonObject {
  if (draft === null || typeof draft !== "object" || Array.isArray(draft)) return { text: draft };
  const { mode: _, tool: __, place: ___, type: ____, ...rest } = draft;
  return rest;
}

/** Nothing but empty texts, lists and objects. */
function isNothing(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value === "string") return value.trim() === "";
  return typeof value === "object" && Object.values(value).every(isNothing);
}
