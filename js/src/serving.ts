// Agents of this process, on a socket where `rehearse` finds them: one connection is one session.
//
// The protocol is that of command agents (docs/reference/command-agent.md).

import { AsyncResource } from "node:async_hooks";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { loosen } from "./command.js";
import { SessionOver, SetupError, said } from "./errors.js";
import { parse } from "./json.js";
import { type Agent, type Message, Session } from "./session.js";

/** Something that the agent threw, and in which session. */
export interface Thrown {
  session: string;
  thrown: unknown;
}

/** Serves an agent until it is closed. */
export class Serving {
  readonly path: string;
  readonly thrown: Thrown[] = [];
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  /** The socket goes into a folder that only this user can enter. */
  constructor(agent: Agent, folder: string) {
    this.path = join(folder, "agent");
    // What belongs to the caller's work (AsyncLocalStorage) belongs to the agent's too.
    this.#agent = AsyncResource.bind(agent);
    this.#server = createServer((socket) => this.#serve(socket));
    loosen(this.#server);
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ path: this.path, backlog: 1024 }, resolve);
    });
  }

  /** Hears nobody any more. An agent that is still at work is left: nobody waits for it. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#open) socket.destroy();
    await closed;
  }

  #serve(socket: Socket): void {
    this.#open.add(socket);
    loosen(socket);
    let session: Session | undefined;
    let rest = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      try {
        for (const line of lines) session = this.#obey(line, session, socket);
      } catch (thrown) {
        this.thrown.push({ session: session?.id ?? "", thrown });
        socket.destroy();
      }
    });
    // Whoever was there is gone; what matters of it is told by `rehearse`.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#open.delete(socket);
      session?.end();
    });
  }

  #obey(line: string, session: Session | undefined, socket: Socket): Session | undefined {
    const message = parse(line) as Message;
    if (message.type === "start") {
      if (message.version !== 1) {
        throw new SetupError(
          `\`rehearse\` speaks version ${message.version} of the protocol with agents, and this package version 1\n\nhint: install the same version of both`,
        );
      }
      return new Session(message, (text) => socket.write(text));
    }
    if (session === undefined) return undefined;
    // Types that are not known are for later versions of this package.
    if (message.type === "history") session.history.push(...((message.messages as Session["history"]) ?? []));
    else if (message.type === "message") void this.#answer(session, message);
    else if (message.type === "tool_result") session.takeResult(message);
    else if (message.type === "end") socket.end();
    return session;
  }

  async #answer(session: Session, message: Message): Promise<void> {
    const text = String(message.text ?? "");
    session.begin(message);
    const agent = this.#agent;
    try {
      session.finish(text, await agent(text, session));
    } catch (thrown) {
      if (thrown instanceof SessionOver) return;
      this.thrown.push({ session: session.id, thrown });
      try {
        session.fail(said(thrown));
      } catch {
        // The session is over; what was thrown stands in the report all the same.
      }
    }
  }
}
