// The guide and the README, typed to the letter.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { node } from "./stage/node.js";
import { project, tool } from "./stage/project.js";

const ROOT = join(__dirname, "../..");
const GUIDE = readFileSync(join(ROOT, "docs/guides/vitest-and-jest.md"), "utf8");
const VITEST = [tool("vitest/vitest.mjs"), "run", "--no-color"];
const JEST = [tool("jest/bin/jest.js"), "--no-color"];

/** The files of the guide, by the names under which it has them saved. */
const FILES = new Map(
  [...GUIDE.matchAll(/`([\w.]+\.(?:mjs|cjs|yaml))`[^\n]*:\n\n```\w+\n(.*?)```/gs)].map(([, name, text]) => [
    String(name),
    String(text),
  ]),
);

function text(name: string): string {
  const found = FILES.get(name);
  if (found === undefined) throw new Error(`the guide has no ${name}`);
  return found;
}

function written(...names: string[]): string {
  const here = project();
  for (const name of names) writeFileSync(join(here, name), text(name));
  return here;
}

test("the guide has these files, and each block of code is one of them", () => {
  expect([...FILES.keys()]).toEqual([
    "refund.scenario.yaml",
    "agent.mjs",
    "refund.test.mjs",
    "refund.test.cjs",
  ]);
  const blocks = [...GUIDE.matchAll(/^```(\w+)$/gm)].map(([, language]) => language);
  expect(blocks).toEqual(["sh", "yaml", "js", "js", "text", "js"]);
  expect(GUIDE.split("\n").length).toBeLessThanOrEqual(111);
  expect(text("refund.scenario.yaml")).toBe(
    readFileSync(join(ROOT, "docs/guides/pytest.md"), "utf8").match(/```yaml\n(.*?)```/s)?.[1],
  );
});

test("the guide's tests pass with Vitest", () => {
  const { code, stdout, stderr } = node(
    VITEST,
    written("refund.scenario.yaml", "agent.mjs", "refund.test.mjs"),
  );
  expect(stdout, stderr).toMatch(/Tests +2 passed \(2\)/);
  expect(code).toBe(0);
});

test("and show what the guide shows where the agent says no", () => {
  const here = written("refund.scenario.yaml", "refund.test.mjs");
  writeFileSync(join(here, "agent.mjs"), 'export const agent = () => "No.";\n');
  const { code, stdout, stderr } = node(VITEST, here);
  const shown = GUIDE.match(/```text\n(.*?)\n```/s)?.[1];
  expect(stdout + stderr).toContain(shown);
  expect(stdout + stderr).toContain("agent: No.");
  expect(code).toBe(1);
});

test("the guide's tests pass with Jest", () => {
  const { code, stderr } = node(JEST, written("refund.scenario.yaml", "refund.test.cjs"));
  expect(stderr).toMatch(/Tests: +2 passed, 2 total/);
  expect(code).toBe(0);
});

test("the README's test passes", () => {
  const readme = readFileSync(join(__dirname, "../README.md"), "utf8");
  const here = written("refund.scenario.yaml");
  writeFileSync(join(here, "refund.test.mjs"), readme.match(/```js\n(.*?)```/s)?.[1] ?? "");
  const { code, stdout, stderr } = node(VITEST, here);
  expect(stdout, stderr).toMatch(/Tests +1 passed \(1\)/);
  expect(code).toBe(0);
});

test("every option and every part of a result that the guide names is there", () => {
  const declared = [
    "running",
    "command",
    "outcome",
    "session",
    "cases",
    "describing",
    "vitest",
    "schema",
  ].map((name) =>
    readFileSync(join(__dirname, "../src", name === "vitest" ? "vitest.mts" : `${name}.ts`), "utf8"),
  );
  const rows = GUIDE.split("\n").filter((line) => line.startsWith("| `"));
  const names = rows.flatMap((row) =>
    [...row.matchAll(/`(?:await |result\.)?(\w+)(?:\(.*?\))?`/g)].map(([, name]) => name),
  );
  expect(names.length).toBeGreaterThan(40);
  const known = declared.join("\n");
  const missing = names.filter((name) => !new RegExp(`\\b${name}\\b`).test(known));
  expect(missing).toEqual([]);
});
