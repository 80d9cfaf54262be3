// However a run ends, nothing of it stays: no process, no socket, no folder.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { type Agent, runScenario } from "../src/index.js";
import { binary, file, folder, good } from "./stage/refund.js";

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
  const before = process.listenerCount("SIGINT");
  await expect(runScenario(file(), { agent, signal: controller.signal })).rejects.toThrow("enough");
  await expect(runScenario(file(), { agent, signal: controller.signal })).rejects.toThrow("enough");
  expect(readdirSync(made)).toEqual([]);
  expect(processes(made)).toEqual([]);
  expect(process.listenerCount("SIGINT")).toBe(before);
});

test("what cannot be used leaves nothing", async () => {
  const made = temporary();
  await expect(runScenario("nowhere.scenario.yaml", { agent: good })).rejects.toThrow("nowhere");
  expect(readdirSync(made)).toEqual([]);
});

test.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
  "a process that ends by %s leaves no other",
  async (signal) => {
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
    const env = { ...process.env, TMPDIR: made, REHEARSAL_BIN: binary() };
    const child = spawn(process.execPath, ["run.mjs"], {
      cwd: here,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    await eventually(() => expect(processes(made)).toHaveLength(1));
    child.kill(signal);
    const [, by] = await once(child, "exit");
    expect(by).toBe(signal);
    await eventually(() => expect(processes(made)).toEqual([]));
    // Nobody can put anything away after SIGKILL.
    if (signal !== "SIGKILL") expect(readdirSync(made)).toEqual([]);
  },
);
