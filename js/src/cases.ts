import { type Done, failure, type Place, rehearse, rehearseSync, word } from "./command.js";
import { NotUsable } from "./errors.js";
import { parse } from "./json.js";
import type { Agent } from "./session.js";

/** A case of a scenario file. */
export interface Case {
  /** Its name. */
  name: string;
  /** Its file. */
  file: string;
  /** The line at which it stands, from 1. */
  line: number;
  /** What it is about. */
  description: string;
  /** Words to select it by. */
  tags: string[];
}

/** How cases are listed. */
export interface CasesOptions extends Place {
  /** Who will play the agent; `null` where the file's own agent does, which is then looked at too. */
  agent?: Agent | null | undefined;
  /** Further arguments for `rehearse check`. */
  args?: readonly string[] | undefined;
}

/** A file or folder, or several; patterns such as `tests/*.yaml` are understood. */
export type Paths = string | URL | readonly (string | URL)[];

/** Gives the cases of a scenario file, or of all files below a folder, without running them. */
export async function scenarioCases(paths: Paths, options: CasesOptions = {}): Promise<Case[]> {
  return listed(await rehearse(wordsOf(paths, options), options));
}

/** The same while everything else waits, for test files that cannot `await` outside of a test. */
export function scenarioCasesSync(paths: Paths, options: CasesOptions = {}): Case[] {
  return listed(rehearseSync(wordsOf(paths, options), options));
}

export function all(paths: Paths): string[] {
  return (Array.isArray(paths) ? (paths as readonly (string | URL)[]) : [paths as string | URL]).map(word);
}

function wordsOf(paths: Paths, { agent, args = [] }: CasesOptions): string[] {
  // Nothing is run: the socket need not be there.
  const socket = agent === null ? [] : ["--agent-socket", "elsewhere"];
  return ["check", ...all(paths), "--json", "-", "--color", "never", ...socket, ...args];
}

interface Checked {
  file: string;
  usable: boolean;
  problems: { shown: string }[];
  cases: { name: string; line: number; description?: string; tags?: string[] }[];
}

function listed(done: Done): Case[] {
  if (done.stdout.trim() === "") throw failure(done);
  const { files } = parse(done.stdout) as { files: Checked[] };
  const bad = files.filter((file) => !file.usable).flatMap((file) => file.problems.map(({ shown }) => shown));
  if (bad.length > 0) throw new NotUsable(bad.join("\n"));
  return files.flatMap(({ file, cases }) =>
    cases.map(({ name, line, description = "", tags = [] }) => ({ name, file, line, description, tags })),
  );
}
