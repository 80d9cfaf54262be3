/** Reads JSON as people type it, and says where it stops being JSON. */

import type { Json } from "../api/client";
import { readJsonText } from "../json/exact";

export type Read = { value: Json | undefined } | { problem: string };

class Stop extends Error {
  constructor(
    readonly at: number,
    readonly why: string,
  ) {
    super(why);
  }
}

/** Nothing at all is no value. (Browsers word and place their own messages differently, and some give no place.) */
export function readJson(text: string): Read {
  if (text.trim() === "") return { value: undefined };
  try {
    const end = value(text, blank(text, 0));
    const after = blank(text, end);
    if (after < text.length) throw new Stop(after, "there is something after the end of the value");
    return { value: readJsonText(text) };
  } catch (error) {
    if (!(error instanceof Stop)) return { problem: "This is not JSON." };
    const before = text.slice(0, error.at).split("\n");
    const column = (before.at(-1)?.length ?? 0) + 1;
    return { problem: `This is not JSON yet. Line ${before.length}, column ${column}: ${error.why}.` };
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[A-Za-z]+/y;
const BLANK = /[ \t\r\n]*/y;

function blank(text: string, at: number): number {
  BLANK.lastIndex = at;
  BLANK.test(text);
  return BLANK.lastIndex;
}

function value(text: string, at: number): number {
  const first = text[at];
  if (first === undefined) throw new Stop(at, "a value is missing");
  if (first === "{") return object(text, at);
  if (first === "[") return list(text, at);
  if (first === '"') return string(text, at);
  if (first === "-" || (first >= "0" && first <= "9")) return number(text, at);
  WORD.lastIndex = at;
  const word = WORD.exec(text)?.[0] ?? "";
  if (word === "true" || word === "false" || word === "null") return at + word.length;
  if (word !== "") throw new Stop(at, `“${word}” is not a value; texts stand in double quotes`);
  throw new Stop(at, first === "'" ? "texts stand in double quotes" : `“${first}” cannot stand here`);
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Character by character: a pattern over a text of megabytes runs out of stack. */
function string(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (Number.isNaN(code)) throw new Stop(at, "the text does not end");
    if (code === 34) return at + 1;
    if (code < 32) throw new Stop(at, "a line ends inside a text; write \\n for a new line");
    if (code !== 92) at += 1;
    else {
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(text))
        throw new Stop(at, "a backslash stands before something it cannot stand before");
      at = ESCAPE.lastIndex;
    }
  }
}

function number(text: string, at: number): number {
  NUMBER.lastIndex = at;
  const token = NUMBER.exec(text)?.[0];
  if (token === undefined) throw new Stop(at, "the number is not complete");
  const end = at + token.length;
  if (/[0-9.eE+]/.test(text[end] ?? "")) throw new Stop(end, "the number is not complete");
  if (!Number.isFinite(Number(token))) throw new Stop(at, "the number is too large");
  return end;
}

function object(text: string, start: number): number {
  let at = blank(text, start + 1);
  if (text[at] === "}") return at + 1;
  for (;;) {
    if (text[at] !== '"')
      throw new Stop(
        at,
        text[at] === "}" ? "there is a comma too many" : "a name in double quotes is missing",
      );
    at = blank(text, string(text, at));
    if (text[at] !== ":") throw new Stop(at, "a colon is missing");
    at = blank(text, value(text, blank(text, at + 1)));
    if (text[at] === "}") return at + 1;
    if (text[at] !== ",") throw new Stop(at, "a comma or a closing } is missing");
    at = blank(text, at + 1);
  }
}

function list(text: string, start: number): number {
  let at = blank(text, start + 1);
  if (text[at] === "]") return at + 1;
  for (;;) {
    if (text[at] === "]") throw new Stop(at, "there is a comma too many");
    at = blank(text, value(text, at));
    if (text[at] === "]") return at + 1;
    if (text[at] !== ",") throw new Stop(at, "a comma or a closing ] is missing");
    at = blank(text, at + 1);
  }
}
