import { Result } from "./outcome.js";

/** What Vitest and Jest want of a matcher. */
export function toPass(received: unknown): { pass: boolean; message: () => string } {
  if (!Result.isResult(received)) {
    const hint = isPromise(received) ? "\n\nhint: `await` it: expect(await runScenario(…)).toPass()" : "";
    throw new TypeError(
      `toPass() is for the result of \`runScenario\`, and was given ${name(received)}${hint}`,
    );
  }
  const { passed } = received;
  const head = passed
    ? "the case passed, and was expected not to"
    : `the case did not pass: ${received.headline}`;
  return { pass: passed, message: () => `${head}\n\n${received.report()}` };
}

function isPromise(given: unknown): boolean {
  return typeof given === "object" && given !== null && "then" in given;
}

function name(given: unknown): string {
  if (typeof given !== "object" || given === null) return String(given);
  return isPromise(given) ? "a promise" : `an object of class ${given.constructor?.name ?? "nobody"}`;
}
