/** The artifacts that a session's ledger tells of. */

import type { Json } from "../api/client";
import { isObject } from "../form/paths";
import type { LedgerEvent, Part } from "./event";

export interface ArtifactVersion {
  name: string;
  version: number;
  /** The event that tells of it. */
  seq: number;
  mimeType: string | null;
  size: number | null;
  /** What it is; nothing where the content is not kept. */
  part: Part | null;
  /** Why the content is not here. */
  leftOut: string | null;
  /** Whether the server has cut the content for this list. */
  isCut: boolean;
}

/** What an event says of an artifact; nothing where it says none. */
export function artifactOf({ seq, body, truncated }: LedgerEvent): ArtifactVersion | null {
  if (body.type !== "artifact_saved") return null;
  const { name, version, mime_type, size, part, left_out } = body;
  return {
    name,
    version,
    seq,
    mimeType: mime_type ?? null,
    size: size ?? null,
    // A server may cut a content to a text that says so.
    part: isObject(part as Json) ? (part as Part) : null,
    leftOut: left_out ?? null,
    isCut: truncated ?? false,
  };
}

/** Every artifact by its name, each with its versions, the newest first. */
export function artifactsOf(events: readonly LedgerEvent[]): ReadonlyMap<string, readonly ArtifactVersion[]> {
  const found = new Map<string, ArtifactVersion[]>();
  for (const event of events) {
    const artifact = artifactOf(event);
    if (!artifact) continue;
    const versions = found.get(artifact.name) ?? [];
    versions.unshift(artifact);
    found.set(artifact.name, versions);
  }
  return found;
}

/** What kinds of content are texts that can be read as they are. */
const TEXTS =
  /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|javascript|sql|toml)\b|[\w.+-]+\/[\w.+-]+\+(?:json|xml))/i;
/** How the server says that it has cut a text. */
const CUT = /… \(\d+ bytes more\)$/;

/** The text of a part, where it is one; nothing where it is not, or where the server has cut it. */
export function textOfPart(part: Part): string | null {
  if (part.text !== undefined) return part.text;
  const { mime_type = "", data } = part.inline_data ?? {};
  if (data === undefined || !TEXTS.test(mime_type) || CUT.test(data)) return null;
  const bytes = bytesOf(data);
  try {
    return bytes && new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The bytes of base64, standard or as in addresses. */
export function bytesOf(data: string): Uint8Array<ArrayBuffer> | null {
  try {
    const plain = atob(data.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}

/** What an artifact's event has as its part. */
export const partOf = ({ body }: LedgerEvent): Json =>
  body.type === "artifact_saved" ? ((body.part ?? null) as Json) : null;
