// A scenario that most tests use, and agents for it.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Session } from "../../src/index.js";

export const REFUND = `\
name: Refunds an order
description: A customer asks for their money back
tags: [billing]
environment: {type: local}
agent:
  instructions: You help the customers of a shop.
  tools:
    - name: refund
      parameters: {type: object, properties: {order: {type: integer}}, required: [order]}
    - {name: cancel}
setup:
  mocks:
    - {method: refund, when: {input: {order: 7}}, response: {refunded: true}}
    - {method: refund, error: {code: NOT_FOUND, message: no such order}}
run:
  - input: I want my money back for order 7
    evaluations:
      - {type: tool_called, tool: refund, args: {order: 7}}
      - {type: string_contains, value: money}
judgment: {strategy: all_pass}
`;

// A test may say that temporary files go elsewhere; its own files do not.
const TEMPORARY = tmpdir();

/** A folder for one test. */
export function folder(): string {
  const made = mkdtempSync(join(TEMPORARY, "js-test-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

/** The file of a scenario, in a folder of its own. */
export function file(text = REFUND): string {
  const path = join(folder(), "refund.scenario.yaml");
  writeFileSync(path, text);
  return path;
}

export async function good(_message: string, session: Session): Promise<string> {
  const { refunded } = await session.call("refund", { order: 7 });
  return `Your money is back: ${refunded}`;
}

/** The program to test. */
export const BINARY = process.env.REHEARSAL_BIN ?? "";
