import { SessionOver, ToolFailed } from "./errors.js";
import { type Json, stringify } from "./json.js";

/** A tool of the agent, as a model wants it. */
export interface Tool {
  name: string;
  description?: string;
  /** A JSON Schema. */
  // biome-ignore lint/suspicious/noExplicitAny: a schema has any form, and is handed on
  parameters?: any;
}

/** Something that was said before. */
export interface Said {
  role: "user" | "assistant";
  text: string;
}

/** What the scenario's `plugins` hand over. */
export interface Plugin {
  name: string;
  version?: string | null;
  config?: unknown;
}

/** What an agent may give where a text alone is not enough. */
export interface Reply {
  /** What the user is told. */
  text: string;
  /** A result of any other form. */
  output?: unknown;
  /** What the turn took, for `token_count` and `cost`. */
  usage?: { input: number; output: number };
}

/**
 * Who plays the agent: called once for each message of the user.
 *
 * It gives what the agent says, as a text, as a `Reply`, or as any value that JSON has.
 */
export type Agent = (message: string, session: Session) => unknown;

/** A message as the protocol has it. */
export type Message = { [key: string]: unknown };

interface Waiting {
  tool: string;
  resolve: (output: unknown) => void;
  reject: (why: unknown) => void;
  over: (why: SessionOver) => void;
}

/** A session with an agent of this process. */
export class Session {
  /** The session's id. */
  readonly id: string;
  /** The scenario's name. */
  readonly scenario: string;
  /** The agent's tools. */
  readonly tools: Tool[];
  /** What the scenario's `plugins` hand over. */
  readonly plugins: Plugin[];
  /** What the scenario wants the agent to know. */
  readonly context: unknown;
  /** What was said before. */
  readonly history: Said[] = [];
  /** Whatever the agent wants to keep from turn to turn. */
  // biome-ignore lint/suspicious/noExplicitAny: what the agent keeps is its own affair
  readonly data: { [key: string]: any } = {};
  #turn = 0;
  #calls = 0;
  #isOver = false;
  #usage: { input: number; output: number } | undefined;
  readonly #open = new Map<string, Waiting>();
  readonly #write: (line: string) => void;

  /** @internal */
  constructor(start: Message, write: (line: string) => void) {
    this.id = String(start.session ?? "");
    this.scenario = String(start.scenario ?? "");
    this.tools = (start.tools as Tool[] | undefined) ?? [];
    this.plugins = (start.plugins as Plugin[] | undefined) ?? [];
    this.context = start.context ?? null;
    this.#write = write;
  }

  /** The number of the user's message, from 1. */
  get turn(): number {
    return this.#turn;
  }

  /**
   * Calls a tool: the scenario's mocks or its world answer.
   *
   * Throws `ToolFailed` where the tool answered with an error, and `SessionOver` where the session ended before that.
   */
  // biome-ignore lint/suspicious/noExplicitAny: what a tool gives is up to the scenario
  call<T = any>(tool: string, args: { [key: string]: unknown } = {}): Promise<T> {
    const answer = new Promise<unknown>((resolve, reject) => {
      if (typeof args !== "object" || args === null || Array.isArray(args)) {
        throw new TypeError(`the arguments of a tool are an object: session.call("${tool}", {name: value})`);
      }
      const id = String(this.#calls + 1);
      this.#send({ type: "tool_call", id, tool, args });
      this.#calls += 1;
      const over = (why: SessionOver) => {
        // An agent that does not wait for the answer need not be told.
        answer.catch(() => {});
        reject(why);
      };
      this.#open.set(id, { tool, resolve, reject, over });
    });
    return answer as Promise<T>;
  }

  /** Says something to the user before the final answer. */
  say(text: string): void {
    this.#send({ type: "message", text });
  }

  /** Keeps something with the session, which nobody answers. */
  log(text: string): void {
    this.#send({ type: "log", text });
  }

  /** Adds to the tokens that this turn took. */
  countTokens(read: number, written: number): void {
    const { input, output } = this.#usage ?? { input: 0, output: 0 };
    this.#usage = { input: input + read, output: output + written };
  }

  /** @internal */
  begin(message: Message): void {
    this.#turn = Number(message.turn ?? this.#turn + 1);
  }

  /** @internal */
  finish(asked: string, given: unknown): void {
    const final = finalOf(given);
    const usage = final.usage ?? this.#usage;
    this.#usage = undefined;
    const line = stringify({ type: "final", ...final, ...(usage === undefined ? {} : { usage }) });
    const text = "text" in final ? String(final.text) : stringify(final.output);
    this.history.push({ role: "user", text: asked }, { role: "assistant", text });
    this.#sendLine(line);
  }

  /** @internal */
  fail(message: string): void {
    this.#send({ type: "error", message });
  }

  /** @internal */
  takeResult(message: Message): void {
    const id = String(message.id);
    const waiting = this.#open.get(id);
    this.#open.delete(id);
    if (waiting === undefined) return;
    if ("error" in message) waiting.reject(new ToolFailed(waiting.tool, message.error as Message));
    else waiting.resolve(message.output ?? null);
  }

  /** @internal */
  end(): void {
    this.#isOver = true;
    for (const { over } of this.#open.values()) {
      over(new SessionOver("the session ended before the tool answered"));
    }
    this.#open.clear();
  }

  #send(message: Message): void {
    this.#sendLine(stringify(message));
  }

  #sendLine(line: string): void {
    if (this.#isOver) throw new SessionOver("the session is over: nobody hears what the agent says");
    this.#write(`${line}\n`);
  }
}

/** The final message for what an agent gave. */
function finalOf(given: unknown): { text?: string; output?: unknown; usage?: unknown } {
  if (given === undefined || given === null) {
    throw new TypeError(
      `the agent gave ${given}; it has to return what it says, as a text, as {text}, or as a value that JSON has`,
    );
  }
  if (typeof given === "string") return { text: given };
  return isReply(given) ? given : { output: given as Json };
}

/** Whether it is a reply, and not a value that happens to have a text among other things. */
function isReply(given: unknown): given is Reply {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return false;
  const { text } = given as { text?: unknown };
  const parts = ["text", "output", "usage"];
  return typeof text === "string" && Object.keys(given).every((key) => parts.includes(key));
}
