/** A step of a scenario and what it came to. */

import type { Schemas } from "../../../api/client";
import type { Check } from "./check";

export type Step = Schemas["StepResult"];
export type Execution = Schemas["ExecutionResult"];
export type Talk = Schemas["ConversationResult"];

/** All evaluations of a step, in the order they were made. */
export const checksOfStep = (step: Step): Check[] => [
  ...(step.conversation?.turns.flatMap((turn) => turn.turn_evaluations) ?? []),
  ...(step.conversation?.final_evaluations ?? []),
  ...step.evaluations,
];
