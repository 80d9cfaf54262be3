import { useState } from "react";
import type { Json, JsonObject } from "../api/client";
import { focusFirstProblem } from "../ui/focus";
import { type FieldProblem, validate } from "./validate";

/** What a form needs to be checked when it is sent, and from then on whenever it changes. */
export interface Checked {
  problems: FieldProblem[];
  onRawProblem(problem: string | null): void;
  /** Whether a value can be sent; what is wrong is shown, and the first field of it has the focus. */
  passes(value: Json | undefined, form: Element | null): boolean;
  /** Looks again at what was found wrong. */
  edited(value: Json | undefined): void;
  /** Shows what was found wrong with what is put into the form. */
  shows(problems: FieldProblem[], form: Element | null): void;
  /** Forgets what was found, for another form. */
  reset(): void;
}

export function useChecked(schema: JsonObject): Checked {
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  const [rawProblem, setRawProblem] = useState<string | null>(null);
  return {
    problems,
    onRawProblem: setRawProblem,
    passes: (value, form) => {
      if (rawProblem !== null) {
        focusFirstProblem(form);
        return false;
      }
      const found = validate(schema, value);
      setProblems(found);
      if (found.length > 0) focusFirstProblem(form);
      return found.length === 0;
    },
    edited: (value) => {
      if (problems.length > 0) setProblems(validate(schema, value));
    },
    shows: (found, form) => {
      setProblems(found);
      focusFirstProblem(form);
    },
    reset: () => {
      setProblems([]);
      setRawProblem(null);
    },
  };
}
