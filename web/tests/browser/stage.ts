/** The real server, the real agents and the command line, started for a test and ended with it. */

import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = resolve(HERE, "../../..");
const BIN = process.env.REHEARSAL_BIN ?? join(ROOT, "target/debug/rehearse");
const PYTHON = process.env.REHEARSAL_PYTHON ?? "python3";
const START_MS = 90_000;

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What is read of a session's events. */
export interface EventView {
  seq: number;
  event_id: string;
  turn?: string;
  body: { type: string; [key: string]: unknown };
}

/** A process, with everything it has said so far. */
class Running {
  said = "";
  readonly ended: Promise<number | null>;

  constructor(
    readonly process: ChildProcess,
    readonly name: string,
  ) {
    const listen = (chunk: Buffer) => {
      this.said += chunk.toString();
    };
    process.stdout?.on("data", listen);
    process.stderr?.on("data", listen);
    this.ended = new Promise((resolve, reject) => {
      process.once("exit", (code) => resolve(code));
      process.once("error", reject);
    });
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal);
    await this.ended;
  }

  /** What it says, once it fits. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const found = () => pattern.exec(this.said);
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => end(new Error(`${this.name} has only said: ${this.said}`)), START_MS);
      const look = () => {
        const match = found();
        if (match) end(match);
      };
      const over = () => end(found() ?? new Error(`${this.name} ended: ${this.said}`));
      const end = (result: RegExpExecArray | Error) => {
        clearTimeout(late);
        this.process.stdout?.off("data", look);
        this.process.stderr?.off("data", look);
        this.process.off("exit", over);
        if (result instanceof Error) reject(result);
        else resolve(result);
      };
      this.process.stdout?.on("data", look);
      this.process.stderr?.on("data", look);
      this.process.once("exit", over);
      look();
    });
  }
}

/** A folder with a server in it, and agents if they are wanted. */
export class Stage {
  private server: Running | null = null;
  private host: Running | null = null;
  private readonly others = new Set<Running>();
  private port = 0;
  token = "";

  private constructor(readonly folder: string) {}

  static async open({ agents }: { agents: boolean }): Promise<Stage> {
    const stage = new Stage(await mkdtemp(join(tmpdir(), "rehearsal-page-")));
    try {
      await stage.serve();
      if (agents) await stage.offerAgents();
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  async close(): Promise<void> {
    for (const running of this.others) await running.stop("SIGKILL");
    await this.host?.stop("SIGKILL");
    await this.server?.stop("SIGKILL");
    await rm(this.folder, { recursive: true, force: true });
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The address that a person is told to open. */
  get entry(): string {
    return `${this.url}/?token=${this.token}`;
  }

  /** Starts the server: on any port at first, and on the same one ever after. */
  async serve(options: string[] = []): Promise<void> {
    const server = this.run(["serve", "--port", String(this.port), ...options]);
    const [, port] = await server.says(/listens on http:\/\/127\.0\.0\.1:(\d+)(?=[/\s])/);
    this.server = server;
    this.port = Number(port);
    this.token = (await readFile(this.path(".rehearsal/token"), "utf8")).trim();
  }

  /** Ends the server as a crash would. */
  async killServer(): Promise<void> {
    await this.server?.stop("SIGKILL");
    this.server = null;
  }

  /** Starts a program of these tests with the address of the server. */
  private python(script: string): ChildProcess {
    return spawn(PYTHON, [join(HERE, "agents", script), this.url, this.token], {
      cwd: this.folder,
      env: {
        ...process.env,
        PYTHONPATH: [join(ROOT, "python"), process.env.PYTHONPATH].filter(Boolean).join(":"),
        PYTHONDONTWRITEBYTECODE: "1",
        REHEARSAL_BIN: BIN,
      },
    });
  }

  /** Starts a program that runs its agent by itself. Gives the session that it plays, and the way to kill it. */
  async program(): Promise<{ session: string; kill(): Promise<void> }> {
    const program = new Running(this.python("program.py"), "the program");
    this.others.add(program);
    void program.ended.finally(() => this.others.delete(program));
    const [, session] = await program.says(/waits for a person: \S+\/sessions\/(\S+)/);
    return { session: session ?? "", kill: () => program.stop("SIGKILL") };
  }

  /** Starts the program with the agents, or starts it again. */
  async offerAgents(): Promise<void> {
    const process_ = this.python("cast.py");
    this.host = new Running(process_, "the host");
    await this.host.says(/waiting to be played/);
  }

  /** Ends the program with the agents as Ctrl+C does. */
  async endHost(): Promise<void> {
    await this.host?.stop("SIGINT");
    this.host = null;
  }

  /** Runs `rehearse` in the stage's folder. */
  run(args: string[]): Running {
    const running = new Running(spawn(BIN, args, { cwd: this.folder }), `rehearse ${args.join(" ")}`);
    this.others.add(running);
    void running.ended.finally(() => this.others.delete(running));
    return running;
  }

  /** Runs `rehearse` to its end, and gives what it said. */
  async command(args: string[]): Promise<{ code: number | null; said: string }> {
    const running = this.run(args);
    return { code: await running.ended, said: running.said };
  }

  /** Runs the ADK's own `adk eval` on an agent of these tests, to its end. */
  async adkEval(agent: string, evalset: string): Promise<{ code: number | null; said: string }> {
    await cp(join(HERE, "agents", agent), this.path(agent), { recursive: true });
    const adk = spawn(join(dirname(PYTHON), "adk"), ["eval", this.path(agent), this.path(evalset)], {
      cwd: this.folder,
      env: { ...process.env, ADK_DISABLE_LOAD_DOTENV: "1" },
    });
    const running = new Running(adk, "adk eval");
    return { code: await running.ended, said: running.said };
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  write(name: string, text: string): Promise<void> {
    return writeFile(this.path(name), text);
  }

  async readJson<T = Json>(name: string): Promise<T> {
    return JSON.parse(await readFile(this.path(name), "utf8")) as T;
  }

  async call<T = Json>(method: string, path: string, body?: unknown): Promise<T> {
    const isText = typeof body === "string";
    const response = await fetch(this.url + path, {
      method,
      headers: {
        Authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { "Content-Type": isText ? "application/jsonl" : "application/json" }),
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    const text = await response.text();
    return (text === "" ? null : JSON.parse(text)) as T;
  }

  get<T = Json>(path: string): Promise<T> {
    return this.call<T>("GET", path);
  }

  /** What the server says, to the letter. */
  async text(path: string): Promise<string> {
    const response = await fetch(this.url + path, { headers: { Authorization: `Bearer ${this.token}` } });
    return response.text();
  }

  /** Every event of a session, in the ledger's order. */
  async events(session: string): Promise<EventView[]> {
    const events: EventView[] = [];
    for (;;) {
      const after = events.at(-1)?.seq ?? 0;
      const page = await this.get<{ events: EventView[]; last_seq: number }>(
        `/v1/sessions/${session}/events?after=${after}&limit=1000`,
      );
      events.push(...page.events);
      if (page.events.length === 0 || (events.at(-1)?.seq ?? 0) >= page.last_seq) return events;
    }
  }

  /** Ends whatever still waits, so that a test leaves nothing for the next one to find. */
  async tidy(): Promise<void> {
    const { sessions } = await this.get<{ sessions: { id: string; source: string }[] }>(
      "/v1/sessions?status=active&page_size=100",
    );
    for (const { id, source } of sessions) {
      if (source !== "run")
        await this.call("POST", `/v1/sessions/${id}/cancel`, { reason: "the test ended" });
    }
  }
}
