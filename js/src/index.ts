export { type Case, type CasesOptions, type Paths, scenarioCases, scenarioCasesSync } from "./cases.js";
export type { Place } from "./command.js";
export {
  Interrupted,
  NotUsable,
  RehearsalError,
  SessionOver,
  SetupError,
  ToolFailed,
  type Violation,
} from "./errors.js";
export type { Json } from "./json.js";
export { type Call, type Evaluation, type Event, Result } from "./outcome.js";
export {
  type RunOptions,
  runScenario,
  runScenarios,
  type ScenarioOptions,
  type ScenariosOptions,
} from "./running.js";
export type * from "./schema.js";
export type { Agent, Plugin, Reply, Said, Session, Tool } from "./session.js";
