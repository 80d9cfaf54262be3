/** Pictures and sounds inside a value: as data that is in it, never from elsewhere. */

import type { Json } from "../api/client";
import { isBranch } from "./exact";

export interface Medium {
  kind: "image" | "audio";
  type: string;
  /** A `data:` address; nothing where the server has cut the data. */
  src: string | null;
  /** About how many bytes there are in all. */
  bytes: number;
}

/** What a browser draws or plays without running anything. */
const TYPES =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/(?:mpeg|mp3|wav|wave|x-wav|ogg|webm|aac|flac|mp4))$/;
const DATA_URL = /^data:([a-z]+\/[\w.+-]+);base64,/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const CUT = /… \((\d+) bytes more\)$/;

const MOST = 8;
const MOST_LOOKED_AT = 5_000;

/** The first pictures and sounds in a value. */
export function mediaIn(value: Json): Medium[] {
  const found: Medium[] = [];
  const stack: Json[] = [value];
  for (let looked = 0; stack.length > 0 && found.length < MOST && looked < MOST_LOOKED_AT; looked += 1) {
    const at = stack.pop() as Json;
    const medium = mediumOf(at);
    if (medium) found.push(medium);
    else if (isBranch(at)) stack.push(...Object.values(at).slice(0, MOST_LOOKED_AT).reverse());
  }
  return found;
}

function mediumOf(value: Json): Medium | null {
  if (typeof value === "string") {
    const url = DATA_URL.exec(value);
    return url ? made(url[1] ?? "", value.slice(url[0].length)) : null;
  }
  if (!isBranch(value) || Array.isArray(value)) return null;
  // As MCP, GenAI and Anthropic say it.
  const type = value.mimeType ?? value.mime_type ?? value.media_type;
  const data = value.data ?? value.blob;
  return typeof type === "string" && typeof data === "string" ? made(type, data) : null;
}

function made(said: string, data: string): Medium | null {
  const type = said.toLowerCase().split(";")[0] ?? "";
  if (!TYPES.test(type)) return null;
  const kind = type.startsWith("image/") ? "image" : "audio";
  const cut = CUT.exec(data);
  if (cut) return { kind, type, src: null, bytes: Math.round(((data.length + Number(cut[1])) * 3) / 4) };
  if (!BASE64.test(data)) return null;
  const plain = data.replaceAll("-", "+").replaceAll("_", "/");
  return { kind, type, src: `data:${type};base64,${plain}`, bytes: Math.round((data.length * 3) / 4) };
}

/** An address that can be gone to, where a text is one and nothing else. */
export function addressOf(text: string): string | null {
  if (text.length > 2_000 || !/^https?:\/\/\S+$/i.test(text)) return null;
  try {
    const { protocol, href } = new URL(text);
    return protocol === "http:" || protocol === "https:" ? href : null;
  } catch {
    return null;
  }
}
