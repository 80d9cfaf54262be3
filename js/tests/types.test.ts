// The types of results are those of the description, and of the program.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error: a script has no types
import { types } from "../scripts/types.mjs";
import { BINARY } from "./stage/refund.js";

const kept = readFileSync(join(__dirname, "../src/schema.ts"), "utf8");
const hint = "src/schema.ts is not up to date: npm run types";

test("the types are those of docs/reference/openapi.json", async () => {
  expect(await types(), hint).toBe(kept);
});

test("the types are those of the program", async () => {
  const schema = JSON.parse(execFileSync(BINARY, ["schema", "result"], { encoding: "utf8" }));
  expect(await types(schema), hint).toBe(kept);
});
