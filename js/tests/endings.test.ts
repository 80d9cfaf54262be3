// However a run ends, nothing of it stays: no process, no socket, no folder.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { type Agent, runScenario } from "../src/index.js";
import { node } from "./stage/node.js";
import { project, tool } from "./stage/project.js";
import { BINARY, file, folder, good, REFUND } from "./stage/refund.js";

/** A folder for temporary files, of this test alone. */
function temporary(): string {
  const made = folder();
  vi.stubEnv("TMPDIR", made);
  onTestFinished(() => void vi.unstubAllEnvs());
  return made;
}

/** The one socket below a folder. */
function socketIn(made: string): string {
  const [inside = ""] = readdirSync(made).filter((name) => name.startsWith("rehearsal-"));
  return join(made, inside, "agent");
}

/** The processes that serve an agent of a folder. */
function processes(made: string): string[] {
  const found = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return found.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(made);
    } catch {
      return false; // it has ended in between
    }
  });
}

const eventually = (holds: () => void) => vi.waitFor(holds, { timeout: 20_000, interval: 20 });

test("nobody else can reach the agent, and the socket is gone afterwards", async () => {
  const made = temporary();
  const seen: number[] = [];
  const agent: Agent = async (message, session) => {
    seen.push(statSync(join(socketIn(made), "..")).mode & 0o077);
    return good(message, session);
  };
  expect((await runScenario(file(), { agent })).passed).toBe(true);
  expect(seen).toEqual([0]);
  expect(readdirSync(made)).toEqual([]);
});

test("a temporary folder with a long name is no obstacle", async () => {
  const made = join(temporary(), "x".repeat(120));
  mkdirSync(made);
  vi.stubEnv("TMPDIR", made);
  expect((await runScenario(file(), { agent: good })).passed).toBe(true);
  expect(readdirSync(made)).toEqual([]);
});

test("one who connects and says what is no JSON disturbs nobody", async () => {
  const made = temporary();
  const agent: Agent = async (message, session) => {
    const stranger = createConnection(socketIn(made));
    stranger.write("hello\n");
    stranger.on("error", () => {});
    stranger.resume();
    await once(stranger, "close");
    return good(message, session);
  };
  expect((await runScenario(file(), { agent })).passed).toBe(true);
});

test("an aborted run is put away", async () => {
  const made = temporary();
  const controller = new AbortController();
  const agent: Agent = () => {
    controller.abort(new Error("enough"));
    return new Promise(() => {});
  };
  await expect(runScenario(file(), { agent, signal: controller.signal })).rejects.toThrow("enough");
  await expect(runScenario(file(), { agent, signal: controller.signal })).rejects.toThrow("enough");
  expect(readdirSync(made)).toEqual([]);
  // The shell that held it may still be going.
  await eventually(() => expect(processes(made)).toEqual([]));
});

test("what cannot be used leaves nothing", async () => {
  const made = temporary();
  await expect(runScenario("nowhere.scenario.yaml", { agent: good })).rejects.toThrow("nowhere");
  expect(readdirSync(made)).toEqual([]);
});

test.each([
  ["SIGINT", "alone"],
  ["SIGINT", "with all that it started, as Ctrl-C sends it"],
  ["SIGTERM", "alone"],
  ["SIGKILL", "alone"],
] as const)("a process that ends by %s, %s, leaves no other", async (signal, who) => {
  const here = folder();
  const made = join(here, "tmp");
  mkdirSync(made);
  mkdirSync(join(here, "node_modules"));
  symlinkSync(inject("packed"), join(here, "node_modules/agent-rehearsal"));
  const script = `
    import { runScenario } from "agent-rehearsal";
    const agent = () => { console.log("asked"); return new Promise(() => {}); };
    await runScenario(${JSON.stringify(file())}, { agent });`;
  writeFileSync(join(here, "run.mjs"), script);
  const env = { ...process.env, TMPDIR: made, REHEARSAL_BIN: BINARY };
  const child = spawn(process.execPath, ["run.mjs"], {
    cwd: here,
    env,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  expect(processes(made)).not.toEqual([]);
  process.kill(who === "alone" ? Number(child.pid) : -Number(child.pid), signal);
  const [, by] = await once(child, "exit");
  expect(by).toBe(signal);
  await eventually(() => expect(processes(made)).toEqual([]));
  // Nobody can put anything away after SIGKILL.
  if (signal !== "SIGKILL") expect(readdirSync(made)).toEqual([]);
});

const HANGS = `
test("hangs", async () => {
  const agent = () => new Promise(() => {});
  expect(await runScenario("refund.scenario.yaml", { agent })).toPass();
}, 200);
`;
const VITEST = [tool("vitest/vitest.mjs"), "run"];
const JEST = [tool("jest/bin/jest.js")];
const IMPORT =
  'import { runScenario } from "agent-rehearsal"; import "agent-rehearsal/vitest"; import { expect, test } from "vitest";';
const REQUIRE = 'const { runScenario } = require("agent-rehearsal"); require("agent-rehearsal/jest");';

test.each([
  ["Vitest", [...VITEST, "--pool=forks"], "hangs.test.mjs", IMPORT],
  ["Vitest with threads", [...VITEST, "--pool=threads"], "hangs.test.mjs", IMPORT],
  ["Jest", [...JEST, "-i"], "hangs.test.js", REQUIRE],
  ["Jest with workers", [...JEST, "-w", "2"], "hangs.test.js", REQUIRE],
])("a test that %s gives up leaves nothing, and keeps nobody from ending", async (_, command, name, head) => {
  const here = project();
  const made = join(here, "tmp");
  mkdirSync(made);
  writeFileSync(join(here, "refund.scenario.yaml"), REFUND);
  for (const each of [name, `more-${name}`]) writeFileSync(join(here, each), head + HANGS);
  const { code, stdout, stderr } = node(command, here, { TMPDIR: made });
  expect(stdout + stderr).toMatch(/Tests:? +2 failed/);
  expect(stdout + stderr).toMatch(/timed out in 200ms|Exceeded timeout of 200 ms/);
  expect(code).toBe(1);
  const left = () => readdirSync(made).filter((each) => each.startsWith("rehearsal-"));
  await eventually(() => expect([...left(), ...processes(made)]).toEqual([]));
});

test("a command that does not end is ended", async () => {
  const made = temporary();
  const deaf = join(folder(), "rehearse");
  const lines = [
    `[ "$1" = --version ] && echo rehearse 0.1.0 && exit`,
    "trap '' INT",
    "while :; do sleep 0.1; done",
  ];
  writeFileSync(deaf, ["#!/bin/sh", ...lines].join("\n"), { mode: 0o755 });
  const started = Date.now();
  const run = runScenario(file(), { agent: good, binary: deaf, signal: AbortSignal.timeout(100) });
  await expect(run).rejects.toThrow("timeout");
  expect(Date.now() - started).toBeGreaterThan(4_000);
  expect([...readdirSync(made), ...processes(made)]).toEqual([]);
});
