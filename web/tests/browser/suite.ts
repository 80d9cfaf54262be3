/** Two runs of the same scenarios, with one thing changed between them. */

import type { Stage } from "./stage";

const scenario = (name: string, said: string, expected: string) => `
name: ${name}
description: The desk of a library answers
tags: [desk]
environment: {type: local}
agent:
  name: desk
  instructions: You answer at the desk of a library.
  tools:
    - name: look_up
      description: Looks a book up
      parameters: {type: object, properties: {title: {type: string}}, required: [title]}
models:
  agent:
    script:
      - {call: look_up, args: {title: Dune}, usage: {input: 40, output: 8}}
      - {say: "${said}", usage: {input: 60, output: 12}}
setup:
  mocks:
    - method: look_up
      response: {title: Dune, shelf: B4, copies: 2}
run:
  - input: Where is Dune?
    evaluations:
      - {type: tool_called, tool: look_up, args: {title: Dune}}
      - {type: string_contains, value: ${expected}}
judgment: {strategy: all_pass}
`;

export interface TwoRuns {
  before: string;
  after: string;
}

export async function twoRuns(stage: Stage): Promise<TwoRuns> {
  await stage.write("shelf.scenario.yaml", scenario("Says the shelf", "It is on shelf B4.", "B4"));
  await stage.write("copies.scenario.yaml", scenario("Says how many", "We have two.", "two"));
  const run = async () => {
    await stage.command(["run", "shelf.scenario.yaml", "copies.scenario.yaml"]);
    const { runs } = await stage.get<{ runs: { id: string }[] }>("/v1/runs");
    return runs[0]?.id ?? "";
  };
  const before = await run();
  await stage.write("copies.scenario.yaml", scenario("Says how many", "We have none.", "two"));
  return { before, after: await run() };
}
