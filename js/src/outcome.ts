import { told } from "./errors.js";
import type { CaseResult, EvaluationResult, MetricStatus, Verdict } from "./schema.js";
import type { Thrown } from "./serving.js";

/** A call of a tool. */
export interface Call {
  /** The tool. */
  tool: string;
  /** Its arguments. */
  // biome-ignore lint/suspicious/noExplicitAny: arguments have the form that the tool's schema gives them
  args: any;
  /** What it gave; nothing where it failed. */
  // biome-ignore lint/suspicious/noExplicitAny: what a tool gives is up to the scenario
  output?: any;
  /** What went wrong; nothing where it did not fail. */
  error?: { type: string; message: string };
  /** The number of the call's event. */
  event: number;
}

/** Something that was asked of the case. */
export interface Evaluation {
  /** What was asked. */
  label: string;
  /** The evaluator, such as `tool_called`. */
  type: string;
  /** `passed`, `failed`, `error` (it could not be evaluated) or `unscored`. */
  status: MetricStatus;
  /** Whether it passed. What could not be decided has not. */
  passed: boolean;
  /** What was looked for and what was found. */
  message: string;
  /** The line of the scenario file. */
  line: number;
  /** How good, from 0 to 1, where there are degrees. */
  score?: number;
}

/** An event of a ledger; `docs/reference/events.md` has the kinds. */
export interface Event {
  seq: number;
  session: string;
  at: string;
  author: string;
  // biome-ignore lint/suspicious/noExplicitAny: each kind of event has a form of its own
  body: { type: string; [key: string]: any };
}

/** By this results are known also to a copy of this package that a test runner loaded a second time. */
const BRAND = Symbol.for("agent-rehearsal.Result");

/** What a run of a case came to. */
export class Result {
  /** @internal */
  readonly [BRAND] = true;
  /** The case as `rehearse run --json --events --reports` gives it. Whole numbers beyond 2^53 are BigInt. */
  readonly raw: CaseResult;
  /** What the agent of this process threw. */
  readonly exceptions: unknown[];
  /** All repeats of the case, this one among them. */
  readonly repeats: readonly Result[] = [this];

  /** @internal */
  constructor(raw: CaseResult, thrown: readonly Thrown[]) {
    this.raw = raw;
    const own = thrown.filter(({ session }) => session === "" || raw.sessions?.includes(session));
    this.exceptions = own.map((each) => each.thrown);
  }

  /**
   * Of repeats, the first that did not pass says what the case came to.
   *
   * @internal
   */
  static ofRepeats(results: readonly Result[]): Result | undefined {
    const chosen = results.find((result) => !result.passed) ?? results[0];
    if (chosen !== undefined) (chosen as { repeats: readonly Result[] }).repeats = results;
    return chosen;
  }

  /** Whether something is a result. */
  static isResult(given: unknown): given is Result {
    return typeof given === "object" && given !== null && BRAND in given;
  }

  /** The case. */
  get case(): string {
    return this.raw.name;
  }

  /** Its file. */
  get file(): string {
    return this.raw.file ?? "";
  }

  /** What it came to: `passed`, `failed`, `error`, `terminated` or `unjudged`. */
  get verdict(): Verdict {
    return this.raw.status;
  }

  /** Whether everything that was asked of it holds. What could not be decided, or was not asked, is no pass. */
  get passed(): boolean {
    return this.verdict === "passed";
  }

  /** What went wrong, where something did. */
  get error(): string | undefined {
    return this.raw.error?.message;
  }

  /** The seed that repeats it. */
  get seed(): bigint {
    return BigInt(this.raw.seed);
  }

  /** How long it took, in milliseconds. */
  get durationMs(): number {
    return this.raw.duration_ms;
  }

  /** The verdict, and the first reason for it, in a line. */
  get headline(): string {
    if (this.passed) return this.verdict;
    const reasons = this.evaluations
      .filter((one) => !one.passed)
      .map((one) => `${one.label}: ${one.message}`);
    // Of what could not be decided the evaluation tells more; of all else the error is the reason.
    if (this.error !== undefined)
      reasons.splice(this.verdict === "failed" ? reasons.length : 0, 0, this.error);
    if (this.verdict === "terminated" && this.raw.termination_detail)
      reasons.unshift(this.raw.termination_detail);
    const first = reasons.flatMap((reason) => reason.split("\n")).find((line) => line.trim() !== "");
    return first === undefined ? this.verdict : `${this.verdict}: ${first}`;
  }

  /** What was asked of the case and of its steps, turns and conversations, in the order of the file. */
  get evaluations(): Evaluation[] {
    const found: EvaluationResult[] = [];
    for (const step of this.raw.steps ?? []) {
      found.push(...step.evaluations);
      for (const turn of step.conversation?.turns ?? []) found.push(...turn.turn_evaluations);
      found.push(...(step.conversation?.final_evaluations ?? []));
    }
    const whole = Object.entries(this.raw.metrics).map(([label, metric]) =>
      evaluation({ ...metric, label, type: "metric", message: metric.evidence?.[0]?.text ?? "", line: 0 }),
    );
    return [...found.map(evaluation), ...whole];
  }

  /** The events of the agent's session, in order. */
  get events(): Event[] {
    const [session] = this.raw.sessions ?? [];
    const all = (this.raw.events ?? []) as unknown as Event[];
    return all.filter((event) => event.session === session);
  }

  /** The agent's calls of its tools, in order, with what came of them. */
  get calls(): Call[] {
    const events = this.events;
    const outcomes = new Map<string, Pick<Call, "output" | "error">>();
    for (const { body } of events) if (body.type === "tool_result") outcomes.set(body.call, body.outcome);
    return events
      .filter(({ body }) => body.type === "tool_call")
      .map(({ seq, body }) => {
        const { output, error } = outcomes.get(body.call) ?? {};
        return {
          tool: body.tool,
          args: body.args ?? {},
          ...(output === undefined ? {} : { output }),
          ...(error === undefined ? {} : { error }),
          event: seq,
        };
      });
  }

  /** What the agent said last; nothing where it said nothing. */
  get reply(): string {
    return this.events.flatMap(({ body }) => texts(body)).at(-1) ?? "";
  }

  /** The agent's session line by line, as people read it. */
  get transcript(): string {
    return this.raw.transcript ?? "";
  }

  /** Everything that there is to say to people: what was asked and found, the transcript, what was thrown. */
  report(): string {
    const thrown = this.exceptions.map((each) => `\n\nthe agent threw:\n${told(each).trimEnd()}`);
    return `${(this.raw.report ?? "").trimEnd()}${thrown.join("")}\n`;
  }
}

function evaluation(found: {
  label: string;
  type: string;
  status: MetricStatus;
  message: string;
  line: number;
  score?: number | null;
}): Evaluation {
  const { label, type, status, message, line, score } = found;
  const passed = status === "passed";
  return { label, type, status, passed, message, line, ...(score == null ? {} : { score }) };
}

function texts(body: Event["body"]): string[] {
  if (body.type !== "model_response") return [];
  const parts = (body.content?.parts ?? []) as { text?: string; thought?: boolean }[];
  const text = parts.map((part) => (part.thought ? "" : (part.text ?? ""))).join("");
  return text === "" ? [] : [text];
}
