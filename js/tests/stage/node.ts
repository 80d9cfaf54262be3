import { spawnSync } from "node:child_process";

/** Runs Node.js to its end; what it wrote is without colours. */
export function node(
  words: string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): { code: number | null; stdout: string; stderr: string } {
  // A test runner tells those it starts that it runs.
  const { NODE_OPTIONS: _, VITEST: __, VITEST_POOL_ID: ___, NODE_ENV: ____, ...rest } = process.env;
  const plain = { ...rest, NO_COLOR: "1", FORCE_COLOR: undefined, CI: "1", ...env };
  const done = spawnSync(process.execPath, words, { cwd, env: plain, encoding: "utf8" });
  return { code: done.status, stdout: done.stdout, stderr: done.stderr };
}
