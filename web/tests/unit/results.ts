/** Results as the API gives them, with what few tests are about already in them. */

import type { Schemas } from "../../src/api/client";
import { type Case, caseOf } from "../../src/rooms/runs/data/case";

type CaseResult = Schemas["CaseResult"];
type RunResult = Schemas["RunResult"];

export const scenario = (name: string, status: string, more: object = {}): CaseResult => ({
  name,
  status: status as CaseResult["status"],
  file: "a.yaml",
  repeat: 0,
  seed: "7",
  duration_ms: 3,
  turns: 0,
  metrics: {},
  steps: [],
  token_usage: {},
  sessions: [],
  ...more,
});

export const step = (more: object = {}): Schemas["StepResult"] => ({
  step: 1,
  kind: "input",
  status: "passed",
  evaluations: [],
  ...more,
});

export const evaluation = (name: string, status: string, more: object = {}): Schemas["EvaluationResult"] => ({
  name,
  label: name,
  scope: { of: "step", step: 1 },
  type: "string_contains",
  line: 1,
  success: status === "passed",
  message: "",
  status: status as Schemas["EvaluationResult"]["status"],
  ...more,
});

export const suite = (results: CaseResult[], more: object = {}): RunResult => ({
  version: 2,
  started_at: "2026-01-01T10:00:00Z",
  duration_ms: 5,
  seed: "0",
  interrupted: false,
  summary: {
    total: results.length,
    passed: results.filter(({ status }) => status === "passed").length,
    failed: results.filter(({ status }) => status === "failed").length,
    errors: 0,
    terminated: 0,
    unjudged: 0,
    not_run: 0,
  },
  results,
  ...more,
});

export const cases = (...results: CaseResult[]): Case[] => results.map(caseOf);
