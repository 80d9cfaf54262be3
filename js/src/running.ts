import { all, type Paths } from "./cases.js";
import { type Done, failure, type Place, rehearse, withFolder, word } from "./command.js";
import { RehearsalError } from "./errors.js";
import { parse } from "./json.js";
import { Result } from "./outcome.js";
import type { RunResult } from "./schema.js";
import { Serving, type Thrown } from "./serving.js";
import type { Agent } from "./session.js";

/** The version of results that this package reads. */
const VERSION = 2;

/** How cases are run. */
export interface RunOptions extends Place {
  /** Who plays the agent in place of the file's own. */
  agent?: Agent | null | undefined;
  /** Further arguments for `rehearse run`, such as `["--model", "judge=openai:gpt-4o"]`. */
  args?: readonly string[] | undefined;
  /** Where all chance comes from; the same seed draws the same. */
  seed?: number | bigint | undefined;
  /** Runs each case so many times. */
  repeat?: number | undefined;
  /** Stops a case that takes longer: its verdict is `terminated`. */
  timeoutMs?: number | undefined;
  /** Ends the run; what was begun is put away, and the promise is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** How one case is run. */
export interface ScenarioOptions extends RunOptions {
  /** The case, by its name; needed where the file has several. */
  case?: string | undefined;
}

/** How several cases are run. */
export interface ScenariosOptions extends RunOptions {
  /** The cases, by their names; all of them unless some are named. */
  cases?: readonly string[] | undefined;
}

/**
 * Runs a case and gives what it came to.
 *
 * With `repeat` it is the first that did not pass, and `repeats` has all.
 */
export async function runScenario(path: string | URL, options: ScenarioOptions = {}): Promise<Result> {
  const results = await runScenarios(path, {
    ...options,
    cases: options.case === undefined ? [] : [options.case],
  });
  const names = new Set(results.map((result) => `${result.file}\n${result.case}`));
  const result = names.size === 1 ? Result.ofRepeats(results) : undefined;
  if (result !== undefined) return result;
  const found = results.slice(0, 20).map((each) => `\n  ${each.case}`);
  throw new RehearsalError(
    `${word(path)} gave ${names.size} cases, and \`runScenario\` gives one\n\nhint: name a case with \`case\`, or take all with \`runScenarios\`; there are:${found.join("")}`,
  );
}

/** Runs the cases of files, or of all files below a folder, side by side; all of them unless some are named. */
export async function runScenarios(paths: Paths, options: ScenariosOptions = {}): Promise<Result[]> {
  const { agent } = options;
  if (agent === undefined || agent === null)
    return results(await rehearse(wordsOf(paths, options), options, options.signal), []);
  if (typeof agent !== "function") {
    throw new RehearsalError(
      `\`agent\` is a function (message, session) that gives what the agent says, not ${shape(agent)}`,
    );
  }
  return withFolder(async (folder) => {
    const serving = new Serving(agent, folder);
    await serving.start();
    try {
      const words = [...wordsOf(paths, options), "--agent-socket", serving.path];
      return results(await rehearse(words, options, options.signal, folder), serving.thrown);
    } finally {
      await serving.close();
    }
  });
}

function wordsOf(paths: Paths, options: ScenariosOptions): string[] {
  const { args = [], cases = [], seed, repeat, timeoutMs } = options;
  return [
    "run",
    ...all(paths),
    "--quiet",
    ...["--color", "never", "--events", "--reports", "--json", "-"],
    ...store(options),
    ...cases.flatMap((name) => ["--case", name]),
    ...(seed === undefined ? [] : ["--seed", String(seed)]),
    ...(repeat === undefined ? [] : ["--repeat", String(repeat)]),
    ...(timeoutMs === undefined ? [] : ["--timeout", `${timeoutMs}ms`]),
    ...args,
  ];
}

/** Nothing is kept, unless somebody says where. */
function store({ args = [], env }: ScenariosOptions): string[] {
  const keeps = args.some((each) => each === "--store" || each.startsWith("--store="));
  return keeps || { ...process.env, ...env }.REHEARSAL_STORE ? [] : ["--no-store"];
}

function results(done: Done, thrown: readonly Thrown[]): Result[] {
  if (done.code !== 0 && done.code !== 1) throw failure(done);
  const run = parse(done.stdout) as RunResult;
  if (run.version !== VERSION) {
    throw new RehearsalError(
      `${done.program.path} (${done.program.version}) gives results of version ${run.version}, and this package reads version ${VERSION}\n\nhint: install the same version of both`,
    );
  }
  return run.results.map((each) => new Result(each, thrown));
}

function shape(given: unknown): string {
  return typeof given === "object"
    ? `an object with ${Object.keys(given ?? {}).join(", ") || "nothing"}`
    : typeof given;
}
