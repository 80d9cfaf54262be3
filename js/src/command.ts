// `rehearse` as a process: started, heard to its end, and never left behind.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
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

/** How long `rehearse` may take to end when it was told to, in milliseconds. */
const PATIENCE = 5_000;

/** The longest path of a socket that every system takes. */
const LONGEST_PATH = 100;

/** What there is to put away should this process end first. */
const held = new Set<() => void>();

/** Makes a folder that only this user can enter, hands it on, and takes it away. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  let folder = mkdtempSync(join(tmpdir(), "rehearsal-"));
  if (join(folder, "agent").length > LONGEST_PATH) {
    rmSync(folder, { recursive: true });
    folder = mkdtempSync("/tmp/rehearsal-");
  }
  const remove = () => rmSync(folder, { recursive: true, force: true });
  hold(remove);
  try {
    return await use(folder);
  } finally {
    remove();
    release(remove);
  }
}

/** Runs `rehearse` to its end. */
export async function rehearse(words: string[], place: Place, signal?: AbortSignal): Promise<Done> {
  signal?.throwIfAborted();
  const { program, cwd, env } = settled(place);
  const child = spawn(program.path, words, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr] = [gathered(child.stdout), gathered(child.stderr)];
  const kill = () => void child.kill("SIGKILL");
  const abort = () => end(child);
  hold(kill);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    const [code, by] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.once("error", (error) =>
        reject(new SetupError(`cannot run ${program.path} in ${cwd}: ${error.message}`)),
      );
      child.once("close", (code, by) => resolve([code, by]));
    });
    signal?.throwIfAborted();
    return { program, code, signal: by, stdout: stdout(), stderr: stderr() };
  } finally {
    signal?.removeEventListener("abort", abort);
    release(kill);
  }
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
  if (done.code === 130) return new Interrupted(text || "the run was interrupted");
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

/** Tells it to end as Ctrl-C does, and ends it where it does not. */
function end(child: ChildProcess): void {
  child.kill("SIGINT");
  const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
  child.once("close", () => clearTimeout(late));
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function hold(put: () => void): void {
  if (held.size === 0) {
    process.on("exit", putAway);
    for (const signal of SIGNALS) process.on(signal, ended);
  }
  held.add(put);
}

function release(put: () => void): void {
  held.delete(put);
  if (held.size > 0) return;
  process.off("exit", putAway);
  for (const signal of SIGNALS) process.off(signal, ended);
}

function putAway(): void {
  for (const put of held) put();
}

/** Puts everything away, and lets the signal do what it would have done without us. */
function ended(signal: NodeJS.Signals): void {
  putAway();
  held.clear();
  process.off("exit", putAway);
  for (const each of SIGNALS) process.off(each, ended);
  // Where others listen, such as the test runner, it is for them to say what happens.
  if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
}
