// Registers `toPass` with Vitest.

import { describe, expect, test } from "vitest";
import type { Paths } from "./cases.js";
import { type DescribeOptions, describeWith } from "./describing.js";
import { toPass } from "./matcher.js";

expect.extend({ toPass });

declare module "vitest" {
  // biome-ignore lint/suspicious/noExplicitAny: it has to be written as Vitest writes it
  interface Matchers<T = any> {
    /** Whether the case of a `Result` passed; the failure shows its report. */
    toPass(): T;
  }
}

/** Makes a test for each case of the scenario files, in a group for each file. */
export function describeScenarios(paths: Paths = ".", options: DescribeOptions = {}): void {
  describeWith({ describe, test }, paths, options);
}
