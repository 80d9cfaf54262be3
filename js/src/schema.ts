// The form of results, from docs/reference/openapi.json. Do not edit: `npm run types` writes it.

/**
 * What a case came to.
 */
export type Verdict = "passed" | "failed" | "error" | "terminated" | "unjudged";
/**
 * The part of a run that failed.
 */
export type Phase = "system" | "user_agent" | "metric";
/**
 * Whose doing it is that a case did not pass. Only what the agent did says something about the agent: cases with any
 * other fault leave the rate.
 */
export type Fault = "agent" | "user" | "tool" | "judge" | "infrastructure" | "budget";
/**
 * Why a session ended.
 */
export type EndReason =
  "completed" | "state_matches" | "max_turns" | "max_duration" | "rule_broken" | "error" | "cancelled";
/**
 * What a metric came to.
 */
export type MetricStatus = "passed" | "failed" | "error" | "unscored";
/**
 * What a step does, as the ledger names it.
 */
export type StepKind = "input" | "conversation" | "code";
/**
 * What a step came to, in a word.
 */
export type StepStatus = "passed" | "failed" | "unjudged" | "errored" | "skipped";
/**
 * A kind of thing that the agent does or is given.
 */
export type TrajectoryKind = "thought" | "action" | "observation" | "message";
/**
 * What an evaluation looked at.
 */
export type EvaluationScope =
  | {
      of: "session";
    }
  | {
      of: "step";
      /**
       * Its number, from 1.
       */
      step: number;
    }
  | {
      of: "turn";
      /**
       * The number of the step, from 1.
       */
      step: number;
      /**
       * The number of the turn in it, from 1.
       */
      turn: number;
    }
  | {
      of: "final";
      /**
       * The number of the step, from 1.
       */
      step: number;
    };

/**
 * What a run of a suite came to.
 */
export interface RunResult {
  /**
   * The version of this form.
   */
  version: number;
  /**
   * The ADK `EvalSet` whose cases were run, where it was one.
   */
  eval_set?: string | null;
  /**
   * When it began.
   */
  started_at: string;
  /**
   * How long it took, in milliseconds.
   */
  duration_ms: number;
  /**
   * Where its chance came from: a number of 64 bits, as digits.
   */
  seed: string;
  /**
   * Whether somebody interrupted it.
   */
  interrupted: boolean;
  /**
   * Which part of a run it is, where others run the rest.
   */
  shard?: Shard | null;
  /**
   * The parts it was merged from.
   */
  parts?: RunPart[];
  /**
   * How calls to the models of providers went.
   */
  calls?: ModelCalls[];
  /**
   * Its limits and what it used of them, where it has any.
   */
  budget?: BudgetReport | null;
  summary: Summary;
  /**
   * What each case came to, in the order of the cases, repeats of a case one after the other.
   */
  results: CaseResult[];
  /**
   * Statistics of each case over its repeats, where a case was repeated.
   */
  repeats?: RepeatStatistics[];
  /**
   * What cases came to by their variants, where a matrix made them.
   */
  table?: CaseTable | null;
}
/**
 * One of so many parts of a run.
 */
export interface Shard {
  /**
   * Which one, from 1.
   */
  index: number;
  /**
   * How many there are.
   */
  of: number;
}
/**
 * A part that a run was merged from.
 */
export interface RunPart {
  shard: Shard;
  /**
   * The run it was, by its id in the store in which it was kept.
   */
  run: string;
  /**
   * How many cases it brought, repeats counted.
   */
  cases: number;
  /**
   * How long it took, in milliseconds.
   */
  duration_ms: number;
  /**
   * Where it ran, where that is known.
   */
  node?: string | null;
  /**
   * How often it was begun: more than once where a machine was lost. Only the last one counts.
   */
  attempts?: number | null;
}
/**
 * How calls to a model went, and how many it was asked at once.
 */
export interface ModelCalls {
  /**
   * The model, as people write it.
   */
  model: string;
  /**
   * How many calls were sent, each repetition counted.
   */
  sent: number;
  /**
   * How many it refused because there were too many.
   */
  refused: number;
  /**
   * The most that were under way at once.
   */
  peak: number;
  /**
   * How many are under way; none when a run has ended.
   */
  now?: number;
  /**
   * How many may be under way at once, as it was found out.
   */
  limit: number;
  /**
   * For so many milliseconds it is left alone, because it said when to come back.
   */
  pause_ms?: number | null;
}
/**
 * The limits of a run, what it used of them, and which it came to.
 */
export interface BudgetReport {
  /**
   * The most tokens.
   */
  max_tokens?: number | null;
  /**
   * The most US dollars.
   */
  max_cost?: number | null;
  /**
   * The longest time, in milliseconds.
   */
  max_time_ms?: number | null;
  spent: Spent;
  /**
   * Which limit ended the run before its cases did, in words for people.
   */
  reached?: string | null;
}
/**
 * What was used of something that is limited, and the limit.
 */
export interface Spent {
  /**
   * Tokens of all models, read and written.
   */
  tokens: number;
  /**
   * What they cost in US dollars, where every model has a price.
   */
  cost?: number | null;
}
/**
 * How many runs came to what.
 */
export interface Summary {
  /**
   * All of them.
   */
  total: number;
  /**
   * Every metric passed.
   */
  passed: number;
  /**
   * A metric failed.
   */
  failed: number;
  /**
   * Something went wrong.
   */
  errors: number;
  /**
   * Ran into a limit.
   */
  terminated: number;
  /**
   * Had no metrics.
   */
  unjudged: number;
  /**
   * Not started, because an earlier one did not pass, a budget was used up or somebody ended the run.
   */
  not_run: number;
  /**
   * Of those that did not pass, how many say nothing about the agent, because that was not its doing. They are not
   * part of the rate.
   */
  invalid?: number;
  /**
   * Of those that say nothing about the agent, how many were followed by others until enough runs of their case did.
   */
  replaced?: number;
  /**
   * Those that say nothing about the agent, by whose doing it was.
   */
  faults?: {
    [k: string]: number;
  };
}
/**
 * What one run of a case came to: of a case in Rust, of an ADK `EvalSet`, or of a scenario, which has steps.
 */
export interface CaseResult {
  /**
   * The case.
   */
  name: string;
  /**
   * What it is about.
   */
  description?: string;
  /**
   * Words to select it by.
   */
  tags?: string[];
  /**
   * Its file, where it has one.
   */
  file?: string | null;
  /**
   * The scenario it was made from, where that makes several cases: one for each row and variant.
   */
  scenario?: string | null;
  /**
   * The name of the row that it was made from.
   */
  row?: string | null;
  /**
   * The values of the matrix that it was made with, in words, by the names of its axes.
   */
  variant?: {
    [k: string]: string;
  };
  /**
   * Which repeat of it, from 0.
   */
  repeat: number;
  status: Verdict;
  /**
   * The seed that repeats it, as digits.
   */
  seed: string;
  /**
   * How long it took.
   */
  duration_ms: number;
  /**
   * How often the agent yielded and was resumed.
   */
  turns: number;
  /**
   * What went wrong, if something did.
   */
  error?: Failure | null;
  /**
   * Whose doing it is that it did not pass; nothing where it passed, or where nothing judged it.
   */
  fault?: Fault | null;
  /**
   * Why it ended before the agent or its steps did.
   */
  termination_reason?: EndReason | null;
  /**
   * Which limit that was, in words for people.
   */
  termination_detail?: string | null;
  /**
   * What each metric of the whole session found, in the order the case lists them.
   */
  metrics: {
    [k: string]: MetricResult;
  };
  /**
   * Its steps, in order; what was asked of them stands with them.
   */
  steps: StepResult[];
  mocks?: MockReport;
  token_usage: TokenUsage;
  /**
   * What its models cost in US dollars, where every one of them has a price.
   */
  cost?: number | null;
  /**
   * What a million tokens of its models cost, by their names, as far as its file says so.
   */
  prices?: {
    [k: string]: ModelPrice;
  };
  /**
   * The folder in which its commands ran, where it was kept.
   */
  folder?: string | null;
  /**
   * Its ledgers, by file, where they were written.
   */
  ledgers?: string[];
  /**
   * Its sessions: the agent's, then those of its users and its judge where they took part. Where it was kept, these
   * are their ids in the store.
   */
  sessions: string[];
  /**
   * The events of these sessions, where they were asked for, in the form of a ledger.
   */
  events?: {
    [k: string]: unknown;
  }[];
  /**
   * What people are told of it, as a terminal shows it, where it was asked for.
   */
  report?: string | null;
  /**
   * Its agent's session line by line, as people read it, where it was asked for.
   */
  transcript?: string | null;
}
/**
 * Something that went wrong and ended a session.
 */
export interface Failure {
  phase: Phase;
  /**
   * A word for the kind of failure, such as `unmocked_tool`.
   */
  kind: string;
  /**
   * What went wrong and how to fix it.
   */
  message: string;
}
/**
 * What a metric found.
 */
export interface MetricResult {
  status: MetricStatus;
  /**
   * How good, from 0 to 1, where the metric has degrees.
   */
  score?: number | null;
  /**
   * The value it looked at.
   */
  value?: {
    [k: string]: unknown;
  };
  /**
   * Why it came to that.
   */
  evidence?: Evidence[];
}
/**
 * One reason for a metric's result.
 */
export interface Evidence {
  /**
   * The reason.
   */
  text: string;
  /**
   * The numbers of the events it points at.
   */
  events?: number[];
}
/**
 * What a step came to.
 */
export interface StepResult {
  /**
   * Its number, from 1.
   */
  step: number;
  /**
   * Its name.
   */
  name?: string | null;
  kind: StepKind;
  status: StepStatus;
  /**
   * What there is to say about that.
   */
  note?: string | null;
  /**
   * How it was executed; nothing for a step that was skipped.
   */
  execution?: ExecutionResult | null;
  /**
   * What its evaluations found.
   */
  evaluations: EvaluationResult[];
  /**
   * Its conversation, where it is one.
   */
  conversation?: ConversationResult | null;
}
/**
 * How a step or a turn was executed.
 */
export interface ExecutionResult {
  /**
   * How its code ended; 0 for one that talked and came to its end, nothing for one that did not.
   */
  exit_code: number | null;
  /**
   * What its code wrote, or what was said.
   */
  stdout: string;
  /**
   * What its code complained of.
   */
  stderr: string;
  /**
   * The files in the environment, by path: the text, or an object that says why there is none.
   */
  files: {
    [k: string]: unknown;
  };
  /**
   * When it began, in milliseconds since 1970.
   */
  started_at_ms: number;
  /**
   * When it ended.
   */
  ended_at_ms: number;
  /**
   * How long it took.
   */
  duration_ms: number;
  /**
   * What the agent did.
   */
  trajectory: TrajectoryStep[];
}
/**
 * Something the agent did or was given.
 */
export interface TrajectoryStep {
  type: TrajectoryKind;
  /**
   * When.
   */
  timestamp: string;
  /**
   * The number of its event on the ledger.
   */
  event: number;
  /**
   * What.
   */
  content: {
    [k: string]: unknown;
  };
}
/**
 * What an evaluation found.
 */
export interface EvaluationResult {
  /**
   * Its name in the case.
   */
  name: string;
  /**
   * What it asks, without where.
   */
  label: string;
  scope: EvaluationScope;
  /**
   * Its type, such as `string_contains`.
   */
  type: string;
  /**
   * The line it stands at in the file.
   */
  line: number;
  /**
   * Why it is asked, in the words of the file.
   */
  description?: string | null;
  /**
   * Whether it passed.
   */
  success: boolean;
  /**
   * What was looked for and what was found: its first piece of evidence.
   */
  message: string;
  status: MetricStatus;
  /**
   * How good, from 0 to 1, where the metric has degrees.
   */
  score?: number | null;
  /**
   * The value it looked at.
   */
  value?: {
    [k: string]: unknown;
  };
  /**
   * Why it came to that.
   */
  evidence?: Evidence[];
}
/**
 * A conversation and what it came to.
 */
export interface ConversationResult {
  /**
   * Its turns, in order.
   */
  turns: ConversationTurn[];
  /**
   * How long it took, in milliseconds.
   */
  total_duration: number;
  /**
   * Whether it ended before the most turns were taken.
   */
  terminated_early: boolean;
  /**
   * What ended it.
   */
  termination_reason: string | null;
  /**
   * Why that was found to hold.
   */
  termination_detail?: string | null;
  /**
   * What its final evaluations found.
   */
  final_evaluations: EvaluationResult[];
  /**
   * What was said; nothing when the file does not want it exported.
   */
  conversation_transcript: string | null;
  /**
   * Whether every turn was answered and every turn and final evaluation passed.
   */
  success: boolean;
  metrics: ConversationMetrics;
}
/**
 * One exchange with the agent.
 */
export interface ConversationTurn {
  /**
   * Its number, from 1.
   */
  turn_number: number;
  /**
   * What the user said.
   */
  user_input: string;
  /**
   * What the agent answered.
   */
  agent_response: string;
  /**
   * The session it belongs to.
   */
  room_id: string;
  /**
   * What the agent did.
   */
  trajectory: TrajectoryStep[];
  /**
   * How long it took, in milliseconds.
   */
  duration: number;
  execution_result: ExecutionResult;
  /**
   * What the evaluations of this turn found.
   */
  turn_evaluations: EvaluationResult[];
}
/**
 * Counts and times of a conversation.
 */
export interface ConversationMetrics {
  /**
   * How long it took, in milliseconds.
   */
  total_duration: number;
  /**
   * How many turns were taken.
   */
  turn_count: number;
  /**
   * How long a turn took on average, in milliseconds.
   */
  avg_turn_duration: number;
  /**
   * How often models were asked in a turn on average: the agent's, the simulated user's and the judge's.
   */
  llm_calls_per_turn: number;
  token_usage: ConversationTokens;
}
/**
 * Tokens of a conversation, read and written together; nothing where a provider did not say.
 */
export interface ConversationTokens {
  /**
   * All of them.
   */
  total: number | null;
  /**
   * The simulated user's.
   */
  user_simulation: number | null;
  /**
   * The agent's.
   */
  agent_responses: number | null;
  /**
   * The judge's.
   */
  evaluations: number | null;
}
/**
 * What the mocks of a case did.
 */
export interface MockReport {
  /**
   * Which mock answered which call.
   */
  answered: MockAnswer[];
  /**
   * The mocks that answered nothing.
   */
  unused: string[];
}
/**
 * A call that a mock, a person or a real tool answered.
 */
export interface MockAnswer {
  /**
   * The number of the result's event on the ledger.
   */
  event: number;
  /**
   * The tool.
   */
  tool: string;
  /**
   * The mock; `the real tool` for one that ran.
   */
  by: string;
  /**
   * Whether the answer was an error.
   */
  failed: boolean;
}
/**
 * Tokens by the part that used them; nothing where no provider said.
 */
export interface TokenUsage {
  /**
   * The agent under test.
   */
  agent?: Usage | null;
  /**
   * The simulated users.
   */
  user?: Usage | null;
  /**
   * The judge.
   */
  judge?: Usage | null;
}
/**
 * Tokens that a model call cost.
 */
export interface Usage {
  /**
   * Tokens read, cached ones included.
   */
  input: number;
  /**
   * Tokens written, thoughts included.
   */
  output: number;
  /**
   * Of the tokens read, those that came from a cache.
   */
  cached?: number;
  /**
   * Of the tokens written, those that were thoughts.
   */
  thoughts?: number;
}
/**
 * What a model costs, in US dollars for a million tokens.
 */
export interface ModelPrice {
  /**
   * For tokens read.
   */
  input: number;
  /**
   * For tokens written.
   */
  output: number;
  /**
   * For tokens read from a cache; as for others unless told.
   */
  cached?: number | null;
}
/**
 * What the repeats of one case say together.
 */
export interface RepeatStatistics {
  /**
   * The case.
   */
  name: string;
  /**
   * How often it ran; where valid runs were wanted, how many of its runs were valid.
   */
  runs: number;
  /**
   * How many valid runs were wanted, where there are fewer although all tries were taken.
   */
  wanted?: number | null;
  /**
   * How often it passed.
   */
  passed: number;
  /**
   * For k from 1 to `runs`: the chance that at least one of k runs passes.
   */
  pass_at_k: number[];
  /**
   * For k from 1 to `runs`: the chance that all of k runs pass.
   */
  pass_hat_k: number[];
  /**
   * The 95 % Wilson interval of the pass rate.
   *
   * @minItems 2
   * @maxItems 2
   */
  wilson: [unknown, unknown];
}
/**
 * What the cases of a matrix came to: a row for each case, a cell for each variant.
 */
export interface CaseTable {
  /**
   * The variants, in the order of the cells.
   */
  variants: TableVariant[];
  /**
   * The cases, each without its variant.
   */
  rows: TableRow[];
}
/**
 * A variant of cases.
 */
export interface TableVariant {
  /**
   * What it is called, as in the names of cases.
   */
  name: string;
  /**
   * The values of the matrix, in words, by the names of its axes.
   */
  values: {
    [k: string]: string;
  };
  all: TableCell;
}
/**
 * How many runs there were, and how many passed.
 */
export interface TableCell {
  /**
   * All runs.
   */
  runs: number;
  /**
   * Those that passed.
   */
  passed: number;
}
/**
 * A case with all its variants.
 */
export interface TableRow {
  /**
   * The scenario, and its row where it has rows.
   */
  name: string;
  /**
   * What it came to with each variant; nothing where there is no such case, or it was not run.
   */
  cells: (TableCell | null)[];
}
