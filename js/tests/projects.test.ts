// Projects as people have them, with the real Vitest and the real Jest, and this package as npm installs it.

import { expect, test } from "vitest";
import { node } from "./stage/node.js";
import { project, tool } from "./stage/project.js";

const VITEST = [tool("vitest/vitest.mjs"), "run", "--no-color"];
const JEST = [tool("jest/bin/jest.js"), "--no-color", "--no-cache"];
// What Jest says of it is in its guide for ES modules.
const MODULES = "--experimental-vm-modules";

const PROJECTS: [name: string, command: string[]][] = [
  ["vitest", VITEST],
  ["jest-cjs", JEST],
  ["jest-esm", [MODULES, ...JEST]],
  ["jest-ts", JEST],
];

test.each(PROJECTS)("%s: what passes", (name, command) => {
  const { code, stdout, stderr } = node([...command, "passes"], project(name));
  const said = stdout + stderr;
  expect(said).toMatch(/Tests:? +4 passed/);
  expect(code, said).toBe(0);
});

test.each(PROJECTS)("%s: what fails shows the transcript and the evaluation", (name, command) => {
  const { code, stdout, stderr } = node([...command, "fails"], project(name));
  const said = stdout + stderr;
  expect(said).toMatch(/Tests:? +4 failed/);
  expect(code, said).toBe(1);
  for (const expected of [
    "the case did not pass: failed: tool_called refund",
    'failed string_contains "money", line 16',
    'the reply does not contain "money": "No."',
    "user: I want my money back for order 7",
    "agent: No.",
    "the case passed, and was expected not to",
    "the agent threw:",
    "RangeError: out of paper",
    "at breaks (",
    'the reply does not contain "money": "Never."',
  ]) {
    expect(said).toContain(expected);
  }
});

test("the matcher has a type", () => {
  const here = project("vitest");
  const done = node([tool("typescript/bin/tsc"), "--noEmit"], here);
  expect(done.stdout).toBe("");
  expect(done.code).toBe(0);
});
