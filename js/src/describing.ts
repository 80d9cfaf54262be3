import { type Case, type Paths, scenarioCasesSync } from "./cases.js";
import type { Result } from "./outcome.js";
import { type RunOptions, runScenario } from "./running.js";

/** How scenario files become tests. */
export interface DescribeOptions extends RunOptions {
  /** Stops a case that takes longer, in milliseconds; a minute unless told. */
  timeoutMs?: number | undefined;
}

/** What of a test runner is needed. */
export interface Runner {
  describe(name: string, body: () => void): unknown;
  test(name: string, body: () => Promise<void>, timeoutMs: number): unknown;
}

/** How long a test may take beyond the case that it runs. */
const MORE = 10_000;

/** Makes a test for each case, in a group for each file. */
export function describeWith(runner: Runner, paths: Paths, options: DescribeOptions): void {
  const { timeoutMs = 60_000, agent = null } = options;
  const { binary, cwd, env } = options;
  const files = new Map<string, Case[]>();
  for (const each of scenarioCasesSync(paths, { agent, binary, cwd, env })) {
    files.set(each.file, [...(files.get(each.file) ?? []), each]);
  }
  for (const [file, cases] of files) {
    runner.describe(file, () => {
      for (const { name } of cases) {
        const run = async () => pass(await runScenario(file, { ...options, timeoutMs, case: name }));
        runner.test(name, run, timeoutMs + MORE);
      }
    });
  }
}

/** A case that did not pass. */
export class NotPassed extends Error {
  override name = "NotPassed";
  readonly result: Result;

  constructor(result: Result) {
    super(`${result.headline}\n\n${result.report()}`);
    this.result = result;
    // What matters is in the report; where in this package it was noticed does not.
    this.stack = `${this.name}: ${this.message}`;
  }
}

function pass(result: Result): void {
  if (!result.passed) throw new NotPassed(result);
}
