/** One run of a scenario or of a case of an EvalSet. */

import { writeJson } from "../../../json/exact";
import { type Check, readCheck } from "./check";
import { digits, list, number, object, text, texts, words } from "./read";
import { checksOfStep, readStep, type Step } from "./step";
import { type Verdict, verdictOf } from "./verdict";

export interface Failure {
  phase: string;
  kind: string;
  message: string;
}

export interface MockAnswer {
  event: number | null;
  tool: string;
  by: string;
  failed: boolean;
}

export interface Tokens {
  part: string;
  input: number | null;
  output: number | null;
}

export interface Case {
  /** Its place in the result, from 1; the address has it. */
  n: number;
  name: string;
  file: string | null;
  description: string | null;
  tags: string[];
  /** Which repeat, from 0. */
  repeat: number;
  verdict: Verdict;
  seed: string | null;
  durationMs: number | null;
  error: Failure | null;
  terminatedBy: string | null;
  steps: Step[];
  /** Of a case of an EvalSet, which has no steps. */
  metrics: Check[];
  mocks: { answered: MockAnswer[]; unused: string[] };
  tokens: Tokens[];
  folder: string | null;
  /** The agent's session first, then those of the users and the judge. */
  sessions: string[];
}

/** Reads a scenario's result (camel case, `verdict`, `steps`) or a case's (snake case, `status`, `metrics`). */
export function readCase(value: unknown, index: number): Case {
  const found = object(value);
  const mocks = object(found.mocks);
  const metrics = Object.entries(object(found.metrics));
  const ended = words(found.terminatedBy) ?? words(found.termination_reason);
  return {
    n: index + 1,
    name: text(found.name) || `case ${index + 1}`,
    file: words(found.file),
    description: words(found.description),
    tags: texts(found.tags),
    repeat: number(found.repeat) ?? 0,
    verdict: verdictOf(found.verdict ?? found.status),
    seed: digits(found.seed),
    durationMs: number(found.durationMs) ?? number(found.duration_ms),
    error: found.error ? readFailure(found.error) : null,
    terminatedBy: ended?.replaceAll("_", " ") ?? null,
    steps: list(found.steps).map(readStep),
    metrics: metrics.map(([name, metric]) => readCheck(metric, name)),
    mocks: { answered: list(mocks.answered).map(readAnswer), unused: texts(mocks.unused) },
    tokens: readTokens(found.tokenUsage ?? found.token_usage),
    folder: words(found.folder),
    sessions: texts(found.sessions),
  };
}

function readFailure(value: unknown): Failure {
  if (typeof value === "string") return { phase: "", kind: "", message: value };
  const failure = object(value);
  const message = text(failure.message) || writeJson(value);
  return { phase: text(failure.phase), kind: text(failure.kind), message };
}

function readAnswer(value: unknown): MockAnswer {
  const answer = object(value);
  return {
    event: number(answer.event),
    tool: text(answer.tool) || "a tool",
    by: text(answer.by) || "not said",
    failed: answer.failed === true,
  };
}

const PARTS = [
  ["agent", "Agent"],
  ["user", "Simulated user"],
  ["judge", "Judge"],
] as const;

function readTokens(value: unknown): Tokens[] {
  const usage = object(value);
  return PARTS.flatMap(([key, part]) => {
    if (!usage[key]) return [];
    const used = object(usage[key]);
    return [{ part, input: number(used.input), output: number(used.output) }];
  });
}

/** All that judged a case, in the order it was done. */
export const checksOf = (one: Case): Check[] => [...one.steps.flatMap(checksOfStep), ...one.metrics];

/** The command that repeats just this run; nothing where the result does not say enough. */
export function again(one: Case): string | null {
  return one.file && one.seed ? `rehearse run ${quoted(one.file)} --case-seed ${one.seed}` : null;
}

/** A word as a shell reads it, quoted as the command line quotes it. */
export const quoted = (word: string): string =>
  /^[A-Za-z0-9_\-./:=@,+%]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
