// Registers `toPass` with Jest.

import { describe, expect, test } from "@jest/globals";
import type { Paths } from "./cases.js";
import { type DescribeOptions, describeWith } from "./describing.js";
import { toPass } from "./matcher.js";

expect.extend({ toPass });

// For those who import `expect` from @jest/globals.
declare module "expect" {
  interface Matchers<R> {
    /** Whether the case of a `Result` passed; the failure shows its report. */
    toPass(): R;
  }
}

// For those who have the globals of @types/jest.
declare global {
  namespace jest {
    // biome-ignore lint/complexity/noBannedTypes: it has to be written as @types/jest writes it
    interface Matchers<R, T = {}> {
      /** Whether the case of a `Result` passed; the failure shows its report. */
      toPass(): R;
    }
  }
}

/** Makes a test for each case of the scenario files, in a group for each file. */
export function describeScenarios(paths: Paths = ".", options: DescribeOptions = {}): void {
  describeWith({ describe, test }, paths, options);
}
