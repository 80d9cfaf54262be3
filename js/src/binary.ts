import { spawnSync } from "node:child_process";
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join, resolve } from "node:path";
import { SetupError } from "./errors.js";

/** The environment variable that names the program. */
const VARIABLE = "REHEARSAL_BIN";

/** The package that has the program for this system. */
const PACKAGE = `@agent-rehearsal/${process.platform}-${process.arch}`;

/** The version of this package. */
export const VERSION = String(
  (JSON.parse(readFileSync(join(__dirname, "..", "package.json"), "utf8")) as { version: unknown }).version,
);

/** What was found, and which version it says it is. */
export interface Program {
  path: string;
  version: string;
}

/** Variables, by their names. */
export type Variables = { [name: string]: string | undefined };

/** What each program said, by its path and when it was written. */
const known = new Map<string, string>();

/**
 * Finds `rehearse`: the one that is named, that of `REHEARSAL_BIN`, the one that was installed with this package, else
 * the one on PATH.
 */
export function findProgram(named: string | undefined, env: Variables, cwd: string): Program {
  const path = pathOf(named, env, cwd);
  return { path, version: versionOf(path) };
}

/** Says that the program is of another version than this package, where it is. */
export function mismatch({ path, version }: Program): string | undefined {
  if (version === VERSION) return undefined;
  return `agent-rehearsal is ${VERSION}, and ${path} is ${version}: what one says the other may not know\n\nhint: install the same version of both, or name another program in ${VARIABLE}`;
}

function pathOf(named: string | undefined, env: Variables, cwd: string): string {
  if (named !== undefined) return runnable(resolve(cwd, named), "`binary`");
  const variable = env[VARIABLE];
  if (variable) return runnable(resolve(cwd, variable), VARIABLE);
  const installed = inPackage();
  if (installed !== undefined) return runnable(installed, PACKAGE);
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    const candidate = join(folder, "rehearse");
    if (folder !== "" && problemOf(candidate) === undefined) return resolve(cwd, candidate);
  }
  throw new SetupError(
    `the program \`rehearse\` was not found: ${VARIABLE} is not set, the package ${PACKAGE} is not installed, and there is none on PATH\n\nhint: install agent-rehearsal without \`--omit=optional\`, put \`rehearse\` on PATH, or name it in ${VARIABLE}`,
  );
}

function inPackage(): string | undefined {
  try {
    return createRequire(__filename).resolve(`${PACKAGE}/bin/rehearse`);
  } catch {
    return undefined;
  }
}

function runnable(path: string, who: string): string {
  const problem = problemOf(path);
  if (problem !== undefined) throw new SetupError(`${who} names ${path}, which ${problem}`);
  return path;
}

function problemOf(path: string): string | undefined {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return "is not a file";
  try {
    accessSync(path, constants.X_OK);
    return undefined;
  } catch {
    return "is not a program that may be run";
  }
}

function versionOf(path: string): string {
  const key = `${path} ${statSync(path).mtimeMs}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const asked = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 30_000 });
  const version = /^rehearse (\S+)/.exec(asked.stdout ?? "")?.[1];
  if (version === undefined) {
    const why = asked.error?.message ?? (asked.stderr || asked.stdout).trim();
    throw new SetupError(
      `${path} is not \`rehearse\`: asked for its version, it said nothing of the kind\n${why}`,
    );
  }
  known.set(key, version);
  const other = mismatch({ path, version });
  if (other !== undefined) process.emitWarning(other, { code: "REHEARSAL_VERSION" });
  return version;
}
