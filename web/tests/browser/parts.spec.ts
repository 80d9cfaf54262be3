import { expect, test } from "./fixtures";
import { decide, entry, field } from "./session";

const MODEL = `
name: The model
description: A person plays the model
environment: {type: local}
agent: {name: greeter, instructions: Greet.}
models: {agent: person}
run:
  - input: hi
    evaluations: [{type: string_contains, value: hello}]
judgment: {strategy: all_pass}
`;

const TOOL = `
name: A tool
description: A person plays a tool
environment: {type: local}
agent:
  name: finder
  instructions: Find.
  tools:
    - name: find
      description: Finds where something is
      output:
        type: object
        properties: {where: {type: string}, sure: {type: boolean}}
        required: [where]
models: {agent: {script: [{call: find, args: {id: 1}}, It is here]}}
setup: {mocks: [{method: find, person: true}]}
run:
  - input: Where is it?
    evaluations: [{type: tool_called, tool: find}, {type: string_contains, value: here}]
judgment: {strategy: all_pass}
`;

const USER = `
name: The user
description: A person plays the user
environment: {type: local}
agent: {name: talker, instructions: Talk.}
models: {agent: {script: [hello, fine]}}
run:
  - name: talk
    conversation:
      max_turns: 4
      user: person
      final_evaluations: [{type: conversation_length, min_turns: 1, max_turns: 3}]
judgment: {strategy: all_pass}
`;

test("a person plays the model of a run, and the run passes", async ({ page, stage }) => {
  await stage.write("model.scenario.yaml", MODEL);
  const run = stage.run(["run", "model.scenario.yaml"]);
  const waiting = page.getByRole("region", { name: "Waiting for you" });
  await waiting.getByRole("link", { name: /greeter.*needs the model's next step/ }).click();
  await decide(page).getByLabel("Final response", { exact: true }).fill("hello there");
  await decide(page).getByRole("button", { name: "Send final response" }).click();
  expect(await run.ended, run.said).toBe(0);
  await expect(entry(page, "Model replied greeter")).toContainText("hello there");
});

test("a person gives what a tool gives, with the form of its output", async ({ page, stage }) => {
  await stage.write("tool.scenario.yaml", TOOL);
  const run = stage.run(["run", "tool.scenario.yaml"]);
  const waiting = page.getByRole("region", { name: "Waiting for you" });
  await waiting.getByRole("link", { name: /needs a tool's result/ }).click();
  await expect(decide(page).getByText("You are the tool. What does it give?")).toBeVisible();
  await expect(decide(page).getByText("Finds where something is")).toBeVisible();
  await expect(page.getByRole("status", { name: "Running tools" })).toContainText("find waits for you");
  const form = decide(page).getByRole("group", { name: "Output", exact: true });
  await decide(page).getByRole("button", { name: "Send output" }).click();
  await expect(field(form, "where")).toHaveAttribute("aria-invalid", "true");
  await expect(field(form, "where")).toBeFocused();
  await field(form, "where").fill("under the bed");
  await decide(page).getByRole("button", { name: "Send output" }).click();
  expect(await run.ended, run.said).toBe(0);
  await expect(entry(page, "Tool output find")).toContainText("under the bed");
});

test("a person lets a tool fail", async ({ page, stage }) => {
  await stage.write("fails.scenario.yaml", TOOL.replace("name: A tool", "name: A tool that fails"));
  const run = stage.run(["run", "fails.scenario.yaml"]);
  const waiting = page.getByRole("region", { name: "Waiting for you" });
  await waiting.getByRole("link", { name: /needs a tool's result/ }).click();
  await decide(page).getByRole("button", { name: "Fail with an error" }).click();
  await decide(page).getByLabel("Type of the error").fill("NotThere");
  await decide(page).getByLabel("Message").fill("nobody knows");
  await decide(page).getByRole("button", { name: "Send error" }).click();
  await run.ended;
  const error = entry(page, "Tool error find");
  await expect(error).toContainText("NotThere");
  await expect(error).toContainText("nobody knows");
});

test("a person says what the user says, and ends the conversation", async ({ page, stage }) => {
  await stage.write("user.scenario.yaml", USER);
  const run = stage.run(["run", "user.scenario.yaml"]);
  const waiting = page.getByRole("region", { name: "Waiting for you" });
  await waiting.getByRole("link", { name: /needs what the user says/ }).click();
  const says = decide(page).getByLabel("The user says");
  await says.fill("good morning");
  await decide(page).getByRole("button", { name: "Say it" }).click();
  await expect(entry(page, "User")).toContainText("good morning");
  await expect(timelineText(page)).toContainText("hello");
  await decide(page).getByText("The conversation so far").click();
  await decide(page).getByRole("button", { name: "End the conversation" }).click();
  expect(await run.ended, run.said).toBe(0);
});

const timelineText = (page: Parameters<typeof entry>[0]) => page.getByRole("list", { name: "Events" });
