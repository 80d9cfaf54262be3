/** Anything that Rehearsal itself reports. */
export class RehearsalError extends Error {
  override name = "RehearsalError";
}

/** Something that has to be there before anything can start is missing. */
export class SetupError extends RehearsalError {
  override name = "SetupError";
}

/** A scenario file, or what was asked of it, cannot be used. The message says where and what would be right. */
export class NotUsable extends SetupError {
  override name = "NotUsable";
}

/** The run was interrupted: somebody pressed Ctrl-C, or the process was told to end. */
export class Interrupted extends RehearsalError {
  override name = "Interrupted";
}

/** The session ended while the agent was still at work: nobody waits for what it does any more. */
export class SessionOver extends RehearsalError {
  override name = "SessionOver";
}

/** Where arguments break a tool's schema. */
export interface Violation {
  path: string;
  message: string;
}

/** A tool answered with an error. The agent may try again or do without. */
export class ToolFailed extends RehearsalError {
  override name = "ToolFailed";
  /** The tool. */
  readonly tool: string;
  /** The kind of error, such as `InvalidArguments` or the code that a mock names. */
  readonly type: string;
  /** What went wrong, in the tool's own words. */
  readonly reason: string;
  /** Where arguments break the tool's schema. */
  readonly violations: Violation[];

  constructor(tool: string, error: { type?: unknown; message?: unknown; violations?: unknown }) {
    const type = String(error.type ?? "");
    const reason = String(error.message ?? "");
    super(`${tool} failed (${type}): ${reason}`);
    this.tool = tool;
    this.type = type;
    this.reason = reason;
    this.violations = Array.isArray(error.violations) ? (error.violations as Violation[]) : [];
  }
}

/** What something thrown says. It need not be an `Error`, nor one of this realm: Jest has its own. */
export function said(thrown: unknown): string {
  if (isError(thrown)) return `${thrown.name || "Error"}: ${thrown.message}`;
  return `the agent threw what is no Error: ${String(thrown)}`;
}

/** All of something thrown, with its stack in the caller's own code and what caused it. */
export function told(thrown: unknown): string {
  if (!isError(thrown)) return said(thrown);
  const head = said(thrown);
  const stack = (thrown.stack ?? "").split("\n").filter(isOwn).join("\n");
  // A message that was changed later is not in the stack.
  const text = stack.includes(thrown.message) ? stack : `${head}\n${stack}`;
  return thrown.cause === undefined ? text : `${text}\ncaused by: ${told(thrown.cause)}`;
}

/** Whether a line of a stack is neither Node's nor this package's. */
function isOwn(line: string): boolean {
  return !(
    /^ +at /.test(line) &&
    (line.includes("node:internal/") || line.includes("(node:") || line.includes(__dirname))
  );
}

function isError(thrown: unknown): thrown is Error {
  return typeof thrown === "object" && thrown !== null && "message" in thrown && "stack" in thrown;
}
