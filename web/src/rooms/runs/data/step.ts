/** A step of a scenario and what it came to. */

import { writeJson } from "../../../json/exact";
import { type Check, readCheck } from "./check";
import { list, number, object, text, words } from "./read";
import { type Verdict, verdictOf } from "./verdict";

export interface Execution {
  exitCode: number | null;
  stdout: string;
  stderr: string;
  files: [string, string][];
  durationMs: number | null;
}

export interface Turn {
  number: number;
  user: string;
  agent: string;
  durationMs: number | null;
  checks: Check[];
}

export interface Talk {
  turns: Turn[];
  ending: string | null;
  endingDetail: string | null;
  finalChecks: Check[];
}

export interface Step {
  number: number;
  name: string | null;
  kind: string;
  /** The word of the result, such as `skipped`. */
  word: string;
  status: Verdict;
  note: string | null;
  execution: Execution | null;
  talk: Talk | null;
  checks: Check[];
}

export function readStep(value: unknown, index: number): Step {
  const step = object(value);
  const word = text(step.status) || "not said";
  return {
    number: number(step.step) ?? index + 1,
    name: words(step.name),
    kind: text(step.kind),
    word,
    status: verdictOf(word),
    note: words(step.note),
    execution: step.execution ? readExecution(step.execution) : null,
    talk: step.conversation ? readTalk(step.conversation) : null,
    checks: list(step.evaluations).map((one) => readCheck(one)),
  };
}

function readExecution(value: unknown): Execution {
  const execution = object(value);
  const files = Object.entries(object(execution.files));
  return {
    exitCode: number(execution.exitCode),
    stdout: text(execution.stdout),
    stderr: text(execution.stderr),
    files: files.map(([path, file]) => [path, typeof file === "string" ? file : writeJson(file)]),
    durationMs: number(execution.durationMs),
  };
}

function readTalk(value: unknown): Talk {
  const talk = object(value);
  return {
    turns: list(talk.turns).map((one, index) => {
      const turn = object(one);
      return {
        number: number(turn.turnNumber) ?? index + 1,
        user: text(turn.userInput),
        agent: text(turn.agentResponse),
        durationMs: number(turn.duration),
        checks: list(turn.turnEvaluations).map((check) => readCheck(check)),
      };
    }),
    ending: words(talk.terminationReason),
    endingDetail: words(talk.terminationDetail),
    finalChecks: list(talk.finalEvaluations).map((check) => readCheck(check)),
  };
}

/** All evaluations of a step, in the order they were made. */
export const checksOfStep = (step: Step): Check[] => [
  ...(step.talk?.turns.flatMap((turn) => turn.checks) ?? []),
  ...(step.talk?.finalChecks ?? []),
  ...step.checks,
];
