// `rehearse` as a process: started, heard to its end, and never left behind.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram, mismatch, type Program, type Variables } from "./binary.js";
import { Interrupted, NotUsable, RehearsalError, SetupError } from "./errors.js";

/** Where and with what `rehearse` runs. */
export interface Place {
  /** The `rehearse` program, where it is not to be found as usual. */
  binary?: string | undefined;
  /** The folder in which it runs, and to which paths are relative; that of this process unless told. */
  cwd?: string | URL | undefined;
  /** Variables for it, besides those of this process. `undefined` takes one away. */
  env?: Variables | undefined;
}

/** What a command came to. */
export interface Done {
  program: Program;
  code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

/** The code with which `rehearse` ends where it was interrupted. */
const INTERRUPTED = 130;

/** The longest path of a socket that every system takes. */
const LONGEST_PATH = 100;

/**
 * Runs a command and holds it by a leash: its standard input, which is a pipe. When that is closed, because a run is
 * given up or because this process is gone for whatever reason, the command is told to end as by Ctrl-C, and after five
 * seconds it is ended. Its folder goes when it has ended.
 *
 * A handler of signals in this process could not do that: Jest's tests have none, a thread that is terminated runs none,
 * and none hears SIGKILL.
 */
const LEASH = `
folder=$1
shift
exec 3<&0
"$@" </dev/null 3<&- &
program=$!
PATH=$PATH:/usr/bin:/bin
{
  while read -r _ <&3; do :; done
  kill -INT $program
  left=50
  while [ $left -gt 0 ] && kill -0 $program; do sleep 0.1; left=$((left - 1)); done
  kill -KILL $program
} >/dev/null 2>&1 &
leash=$!
exec 3<&-
# What a terminal sends to all, the command hears itself; here it only interrupts the waiting.
heard=
trap 'heard=1' INT TERM HUP
wait $program
code=$?
while [ -n "$heard" ]; do
  heard=
  wait $program
  again=$?
  [ $again -eq 127 ] || code=$again
done
kill $leash 2>/dev/null
[ -z "$folder" ] || rm -rf -- "$folder"
exit $code
`;

/** Makes a folder that only this user can enter, hands it on, and takes it away. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  let folder = mkdtempSync(join(tmpdir(), "rehearsal-"));
  if (join(folder, "agent").length > LONGEST_PATH) {
    rmSync(folder, { recursive: true });
    folder = mkdtempSync("/tmp/rehearsal-");
  }
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs `rehearse` to its end, and takes the folder away with it should this process end before. */
export async function rehearse(
  words: string[],
  place: Place,
  signal?: AbortSignal,
  folder = "",
): Promise<Done> {
  signal?.throwIfAborted();
  const { program, cwd, env } = settled(place);
  const child = spawn("/bin/sh", ["-c", LEASH, "sh", folder, program.path, ...words], { cwd, env });
  const [stdout, stderr] = [gathered(child.stdout), gathered(child.stderr)];
  // The shell may be gone before the leash is let go.
  child.stdin.on("error", () => {});
  loosen(child, child.stdin, child.stdout, child.stderr);
  const letGo = () => void child.stdin.destroy();
  signal?.addEventListener("abort", letGo, { once: true });
  try {
    const [code, by] = await new Promise<[number | null, string | null]>((resolve, reject) => {
      child.once("error", (error) =>
        reject(new SetupError(`cannot run ${program.path} in ${cwd}: ${error.message}`)),
      );
      child.once("close", (code, by) => resolve(by === null ? ended(code) : [code, by]));
    });
    signal?.throwIfAborted();
    return { program, code, signal: by, stdout: stdout(), stderr: stderr() };
  } finally {
    signal?.removeEventListener("abort", letGo);
  }
}

/**
 * Under Jest, what a test that was given up left open would keep Jest from ending. A test that runs is kept alive by
 * Jest itself.
 */
export function loosen(...open: unknown[]): void {
  if (process.env.JEST_WORKER_ID === undefined) return;
  for (const each of open) (each as { unref(): void }).unref();
}

/** What the code of a shell says: beyond 128 it is the signal that ended the command. */
function ended(code: number | null): [number | null, string | null] {
  const signals = Object.entries(constants.signals);
  const [by] = signals.find(([, number]) => number + 128 === code && code !== INTERRUPTED) ?? [];
  return by === undefined ? [code, null] : [null, by];
}

/** The same while everything else waits, for what has to be known at once. */
export function rehearseSync(words: string[], place: Place): Done {
  const { program, cwd, env } = settled(place);
  const done = spawnSync(program.path, words, { cwd, env, encoding: "utf8", maxBuffer: 1 << 30 });
  if (done.error) throw new SetupError(`cannot run ${program.path} in ${cwd}: ${done.error.message}`);
  return { program, code: done.status, signal: done.signal, stdout: done.stdout, stderr: done.stderr };
}

/** A path as a word of the command line. */
export function word(path: string | URL): string {
  const text = typeof path === "string" ? path : fileURLToPath(path);
  // A file may be called `-x`; the command line would take that for a flag.
  return text.startsWith("-") ? `./${text}` : text;
}

/** Says why there are no results. */
export function failure(done: Done): RehearsalError {
  const text = (done.stderr.trim() || done.stdout.trim()).replace(/^error: /, "");
  const other = mismatch(done.program);
  const told = (what: string) => (other === undefined ? what : `${what}\n\nnote: ${other}`);
  if (done.code === 2) return new NotUsable(told(text || "`rehearse` ended with 2 and said nothing"));
  if (done.code === INTERRUPTED) return new Interrupted(text || "the run was interrupted");
  const ended = done.signal === null ? `ended with ${done.code}` : `was ended by ${done.signal}`;
  return new RehearsalError(told(`${done.program.path} ${ended} before it gave results\n${text}`.trimEnd()));
}

function settled(place: Place): { program: Program; cwd: string; env: NodeJS.ProcessEnv } {
  const cwd = typeof place.cwd === "object" ? fileURLToPath(place.cwd) : (place.cwd ?? process.cwd());
  const env = { ...process.env, ...place.env };
  return { program: findProgram(place.binary, env, cwd), cwd, env };
}

function gathered(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString("utf8");
}
