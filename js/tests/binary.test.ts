// Which program is run, and what is told where it is not there or another one than expected.

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect, inject, test, vi } from "vitest";
import { RehearsalError, runScenario, SetupError, scenarioCases } from "../src/index.js";
import { node } from "./stage/node.js";
import { BINARY, file, folder, good } from "./stage/refund.js";

const NAME = `@agent-rehearsal/${process.platform}-${process.arch}`;

/** A program that does what the lines say. */
function program(...lines: string[]): string {
  const path = join(folder(), "rehearse");
  writeFileSync(path, ["#!/bin/sh", ...lines, ""].join("\n"));
  chmodSync(path, 0o755);
  return path;
}

const said = (words: string) => `[ "$1" = --version ] && echo '${words}' && exit`;
const VERSION: string = JSON.parse(readFileSync(join(__dirname, "../package.json"), "utf8")).version;

test("this package and the program have one version", () => {
  expect(execFileSync(BINARY, ["--version"], { encoding: "utf8" })).toBe(`rehearse ${VERSION}\n`);
});

test("the one that is named comes before that of the variable, and that before PATH", async () => {
  const other = program(said(`rehearse ${VERSION}`), 'echo "error: $0" >&2; exit 2');
  const env = { REHEARSAL_BIN: other };
  expect((await runScenario(file(), { agent: good, env, binary: BINARY })).passed).toBe(true);
  await expect(runScenario(file(), { agent: good, env })).rejects.toThrow(other);
  const path = [dirname(other), process.env.PATH].join(delimiter);
  const onPath = { REHEARSAL_BIN: undefined, PATH: path };
  await expect(runScenario(file(), { agent: good, env: onPath })).rejects.toThrow(other);
});

test("where there is none, it is told how to get it", async () => {
  const env = { REHEARSAL_BIN: "", PATH: folder() };
  const told = runScenario(file(), { agent: good, env });
  await expect(told).rejects.toBeInstanceOf(SetupError);
  await expect(told).rejects.toThrow(
    `the package ${NAME} is not installed, and there is none on PATH\n\nhint: `,
  );
  await expect(scenarioCases(file(), { env })).rejects.toThrow("hint: install agent-rehearsal");
});

test("what is named has to be a program", async () => {
  const nothing = join(folder(), "rehearse");
  const run = (named: string) => runScenario(file(), { agent: good, binary: named });
  await expect(run(nothing)).rejects.toThrow(`\`binary\` names ${nothing}, which is not a file`);
  await expect(run(file())).rejects.toThrow("which is not a program that may be run");
  await expect(run(program("echo hello"))).rejects.toThrow(/is not `rehearse`.*hello/s);
  const env = { REHEARSAL_BIN: nothing };
  await expect(runScenario(file(), { agent: good, env })).rejects.toThrow(`REHEARSAL_BIN names ${nothing}`);
  await expect(runScenario(file(), { agent: good, cwd: nothing })).rejects.toThrow("cannot run");
});

test("another version is told", async () => {
  const warning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const old = program(said("rehearse 0.0.1"), "echo 'unknown flag --agent-socket' >&2; exit 2");
  const run = () => runScenario(file(), { agent: good, binary: old });
  const expected = `agent-rehearsal is ${VERSION}, and ${old} is 0.0.1`;
  await expect(run()).rejects.toThrow(`unknown flag --agent-socket\n\nnote: ${expected}`);
  await expect(run()).rejects.toThrow();
  expect(warning).toHaveBeenCalledTimes(1);
  expect(warning.mock.calls[0]?.[0]).toContain(expected);
  const newer = program(said("rehearse 9.0.0"), 'echo \'{"version": 3, "results": []}\'');
  await expect(runScenario(file(), { binary: newer })).rejects.toThrow("gives results of version 3");
  warning.mockRestore();
});

test("one that dies is no result", async () => {
  const dies = program(said(`rehearse ${VERSION}`), "echo 'out of memory' >&2; kill -9 $$");
  const run = runScenario(file(), { agent: good, binary: dies });
  await expect(run).rejects.toThrow("was ended by SIGKILL before it gave results\nout of memory");
  await expect(run).rejects.toBeInstanceOf(RehearsalError);
  const panics = program(said(`rehearse ${VERSION}`), "exit 101");
  await expect(runScenario(file(), { binary: panics })).rejects.toThrow("ended with 101");
});

test("the package of this system has it", () => {
  const here = folder();
  const modules = join(here, "node_modules");
  mkdirSync(join(modules, NAME, "bin"), { recursive: true });
  copyFileSync(BINARY, join(modules, NAME, "bin/rehearse"));
  writeFileSync(join(modules, NAME, "package.json"), JSON.stringify({ name: NAME, version: VERSION }));
  symlinkSync(inject("packed"), join(modules, "agent-rehearsal"));
  const script = `
    import { runScenario } from "agent-rehearsal";
    const result = await runScenario(${JSON.stringify(file())}, { agent: () => "no" });
    console.log(result.verdict);`;
  writeFileSync(join(here, "run.mjs"), script);
  // Links are followed to where the package is: the one of the system is looked for beside it, not beside the link.
  const { stdout } = node(["--preserve-symlinks", "run.mjs"], here, { REHEARSAL_BIN: undefined, PATH: "" });
  expect(stdout).toBe("failed\n");
  rmSync(modules, { recursive: true });
});

test("both kinds of modules have the same classes", () => {
  const here = folder();
  mkdirSync(join(here, "node_modules"));
  symlinkSync(inject("packed"), join(here, "node_modules/agent-rehearsal"));
  const script = `
    import { createRequire } from "node:module";
    import * as imported from "agent-rehearsal";
    const required = createRequire(import.meta.url)("agent-rehearsal");
    const names = Object.keys(required);
    console.log(names.every((name) => required[name] === imported[name]), names.sort().join(" "));`;
  writeFileSync(join(here, "run.mjs"), script);
  expect(node(["run.mjs"], here).stdout).toBe(
    "true Interrupted NotUsable RehearsalError Result SessionOver SetupError ToolFailed runScenario runScenarios scenarioCases scenarioCasesSync\n",
  );
});
