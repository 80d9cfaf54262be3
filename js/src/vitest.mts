// Registers `toPass` with Vitest.

import { describe, expect, test } from "vitest";
import type { Paths } from "./cases.js";
import { type DescribeOptions, describeWith } from "./describing.js";
import { toPass } from "./matcher.js";

expect.extend({ toPass });

// Vitest's own interface for this has other type parameters from version to version; this one it has always had, and
// all assertions have what is in it.
declare global {
  namespace Chai {
    interface Assertion {
      /** Whether the case of a `Result` passed; the failure shows its report. */
      toPass(): void;
    }
  }
}

/** Makes a test for each case of the scenario files, in a group for each file. */
export function describeScenarios(paths: Paths = ".", options: DescribeOptions = {}): void {
  describeWith({ describe, test }, paths, options);
}
