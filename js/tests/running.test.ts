import { AsyncLocalStorage } from "node:async_hooks";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import {
  type Agent,
  NotUsable,
  RehearsalError,
  runScenario,
  runScenarios,
  SessionOver,
  SetupError,
  scenarioCases,
  scenarioCasesSync,
  ToolFailed,
} from "../src/index.js";
import { file, folder, good, REFUND } from "./stage/refund.js";

const says =
  (given: unknown): Agent =>
  () =>
    given;

test("a function is the agent", async () => {
  const result = await runScenario(file(), { agent: good });
  expect(result.passed, result.report()).toBe(true);
  expect(result.reply).toBe("Your money is back: true");
  expect(result.calls).toMatchObject([{ tool: "refund", args: { order: 7 }, output: { refunded: true } }]);
  expect(result.evaluations.map((one) => one.type)).toEqual(["tool_called", "string_contains"]);
  expect(result.transcript).toContain("user: I want my money back for order 7\nagent calls refund");
  expect(result).toMatchObject({ verdict: "passed", case: "Refunds an order", error: undefined });
  expect(result.report()).toContain("passed   Refunds an order");
});

test("what fails says what was asked and found", async () => {
  const result = await runScenario(file(), { agent: says("No.") });
  expect(result.verdict).toBe("failed");
  expect(result.evaluations.filter((one) => !one.passed).map((one) => one.line)).toEqual([18, 19]);
  expect(result.report()).toContain('the reply does not contain "money": "No."');
  expect(result.report()).toContain("agent: No.");
  expect(result.headline).toContain("failed: tool_called refund");
});

test("what the agent throws is in the report, with its stack and its cause", async () => {
  function breaks(): string {
    throw new RangeError("order", { cause: new Error("no paper") });
  }
  for (const agent of [breaks, async () => breaks()]) {
    const result = await runScenario(file(), { agent });
    expect(result.verdict).toBe("error");
    expect(result.error).toContain("RangeError: order");
    expect(result.report()).toMatch(/the agent threw:\nRangeError: order\n +at breaks .*running\.test\.ts/);
    expect(result.report()).not.toContain("serving.ts");
    expect(result.report()).toContain("caused by: Error: no paper");
    expect(result.exceptions).toEqual([new RangeError("order")]);
  }
  const thrown = await runScenario(file(), { agent: () => Promise.reject("paper") });
  expect(thrown.report()).toContain("the agent threw what is no Error: paper");
});

test.each([
  [undefined, "the agent gave undefined; it has to return what it says"],
  [null, "the agent gave null; it has to return what it says"],
  [() => "x", "JSON has no function"],
  [{ a: { b: Number.NaN } }, "JSON has no NaN, which stands at `b`"],
  [new Map(), "JSON has no Map"],
  [[undefined], "JSON has no undefined"],
])("an agent that gives %s is an error", async (given, message) => {
  const result = await runScenario(file(), { agent: says(given) });
  expect(result.verdict).toBe("error");
  expect(result.error).toContain(message);
});

test("a reply may have an output and what it took", async () => {
  const replies = {
    "Your money": { text: "Your money", output: { sum: 7 }, usage: { input: 10, output: 2 } },
    '{"text":"money","mood":"good"}': { text: "money", mood: "good" },
    '["money"]': ["money"],
  };
  for (const [said, reply] of Object.entries(replies)) {
    const agent: Agent = async (message, session) => {
      await good(message, session);
      return reply;
    };
    const result = await runScenario(file(), { agent });
    expect(result.reply).toBe(said);
    expect(result.verdict, result.report()).toBe("passed");
  }
  const counted = await runScenario(file(), { agent: says(replies["Your money"]) });
  expect(counted.raw.token_usage.agent).toEqual({ input: 10, output: 2 });
});

test("tools can fail", async () => {
  const found: ToolFailed[] = [];
  const agent: Agent = async (message, session) => {
    for (const [tool, args] of [["refund", { order: 8 }], ["refund", { order: "x" }], ["unknown"]] as const) {
      const failed = await session.call(tool, args).catch((error) => error);
      expect(failed).toBeInstanceOf(ToolFailed);
      found.push(failed);
    }
    return good(message, session);
  };
  const result = await runScenario(file(), { agent });
  expect(result.passed, result.report()).toBe(true);
  expect(found.map((each) => each.type)).toEqual(["NOT_FOUND", "InvalidArguments", "UnknownTool"]);
  expect(found[0]).toMatchObject({
    reason: "no such order",
    message: "refund failed (NOT_FOUND): no such order",
  });
  expect(found[1]?.violations[0]?.path).toBe("$.order");
  expect(result.calls[0]?.error).toMatchObject({ type: "NOT_FOUND" });
});

test("a tool without a mock ends the case", async () => {
  const ended: unknown[] = [];
  const agent: Agent = async (_message, session) => {
    await session.call("cancel").catch((error) => ended.push(error));
    return "done";
  };
  const result = await runScenario(file(), { agent });
  expect(result.verdict).toBe("error");
  expect(result.error).toContain("cancel");
  expect(ended).toEqual([expect.any(SessionOver)]);
  expect(result.exceptions).toEqual([]);
});

test("an agent that does not wait for a tool disturbs nobody", async () => {
  const agent: Agent = (_message, session) => {
    void session.call("cancel");
    return new Promise(() => {});
  };
  expect((await runScenario(file(), { agent })).error).toContain("cancel");
  const wrong: Agent = (_message, session) => session.call("refund", [7] as never);
  expect((await runScenario(file(), { agent: wrong })).error).toContain(
    "the arguments of a tool are an object",
  );
});

test("a session remembers", async () => {
  const talk = file(`\
name: Talks
description: Three turns
environment: {type: local}
agent: {tools: [{name: look}]}
run:
  - input: one
    conversation:
      max_turns: 3
      user: {script: [two, three]}
      final_evaluations: [{type: string_contains, value: 'three: 2 before, 3'}]
judgment: {strategy: all_pass}
`);
  const agent: Agent = async (message, session) => {
    session.data.turns = (session.data.turns ?? 0) + 1;
    session.countTokens(10, 2);
    expect(session.turn).toBe(session.data.turns);
    expect(session.tools.map((tool) => tool.name)).toEqual(["look"]);
    expect(session.scenario).toBe("Talks");
    session.log("thinking");
    session.say("One moment.");
    const said = session.history.filter((each) => each.role === "user");
    return `${message}: ${said.length} before, ${session.data.turns}`;
  };
  const result = await runScenario(talk, { agent });
  expect(result.passed, result.report()).toBe(true);
  expect(result.raw.token_usage.agent).toEqual({ input: 30, output: 6 });
  expect(result.transcript).toContain("One moment.");
});

test("sessions are side by side", async () => {
  const ids = new Set<string>();
  let meet = () => {};
  const met = new Promise<void>((resolve) => {
    meet = resolve;
  });
  const agent: Agent = async (message, session) => {
    ids.add(session.id);
    if (ids.size === 4) meet();
    await met;
    if (session.id === [...ids][2]) throw new Error("the third");
    return good(message, session);
  };
  const result = await runScenario(file(), { agent, repeat: 4 });
  expect(result.verdict).toBe("error");
  expect(result.repeats.map((each) => each.verdict).sort()).toEqual(["error", "passed", "passed", "passed"]);
  // What was thrown stands with the session in which it was.
  expect(result.repeats.map((each) => each.exceptions.length).sort()).toEqual([0, 0, 0, 1]);
  expect(result.exceptions).toEqual([new Error("the third")]);
});

test("whole numbers of any size stay what they are", async () => {
  const large = file(
    REFUND.replaceAll("order: 7", "order: 123456789012345678901").replace(
      "refunded: true",
      "refunded: 9007199254740993",
    ),
  );
  const agent: Agent = async (_message, session) => {
    const { refunded } = await session.call("refund", { order: 123456789012345678901n });
    return { text: `money ${refunded}`, output: refunded };
  };
  const result = await runScenario(large, { agent });
  expect(result.passed, result.report()).toBe(true);
  expect(result.reply).toBe("money 9007199254740993");
  expect(result.calls).toMatchObject([
    { args: { order: 123456789012345678901n }, output: { refunded: 9007199254740993n } },
  ]);
});

test("the agent is in the caller's context", async () => {
  const storage = new AsyncLocalStorage<string>();
  const result = await storage.run("mine", () =>
    runScenario(file(), { agent: () => `money of ${storage.getStore()}` }),
  );
  expect(result.reply).toBe("money of mine");
});

test("cases are listed and chosen", async () => {
  const path = file();
  const [case_, ...others] = await scenarioCases(path);
  expect(others).toEqual([]);
  expect(case_).toMatchObject({ name: "Refunds an order", file: path, line: 1, tags: ["billing"] });
  expect(scenarioCasesSync(pathToFileURL(path))).toEqual([case_]);
  expect((await runScenario(path, { agent: good, case: "Refunds an order" })).passed).toBe(true);
  await expect(runScenario(path, { agent: good, case: "Refund" })).rejects.toThrow(
    "no scenario is called `Refund`",
  );
  // Without somebody who plays the agent, the file has to say who does.
  await expect(scenarioCases(path, { agent: null })).rejects.toThrow("the agent needs a model");
});

test("several cases are several results", async () => {
  const path = file();
  const other = join(dirname(path), "other.scenario.yaml");
  writeFileSync(other, REFUND.replace("Refunds an order", "Another"));
  const results = await runScenarios([path, other], { agent: good });
  expect(results.map((each) => [each.case, each.verdict])).toEqual([
    ["Refunds an order", "passed"],
    ["Another", "passed"],
  ]);
  const folder = dirname(path);
  expect(await runScenarios(".", { agent: good, cwd: folder, cases: ["Another"] })).toHaveLength(1);
  expect(await runScenarios("oth*.yaml", { agent: good, cwd: pathToFileURL(`${folder}/`) })).toHaveLength(1);
  await expect(runScenario(folder, { agent: good })).rejects.toThrow(
    /gave 2 cases.*hint: name a case.*Another/s,
  );
});

test("a file's own agent can play", async () => {
  const path = file(REFUND.replace("setup:", "models: {agent: {script: [Your money]}}\nsetup:"));
  const result = await runScenario(path);
  expect(result.reply).toBe("Your money");
});

test("a seed is the same chance", async () => {
  const path = file();
  const [one, two] = await Promise.all([7, 7n].map((seed) => runScenario(path, { agent: good, seed })));
  expect(one?.seed).toBe(two?.seed);
});

test("what takes too long is stopped", async () => {
  const result = await runScenario(file(), { agent: () => new Promise(() => {}), timeoutMs: 200 });
  expect(result.verdict).toBe("terminated");
  expect(result.headline).toContain("terminated: `--timeout` of 200ms was reached");
});

test("what cannot be used says why", async () => {
  const nowhere = join(folder(), "nowhere.scenario.yaml");
  await expect(runScenario(nowhere, { agent: good })).rejects.toThrow(/nowhere/);
  await expect(runScenario(nowhere, { agent: good })).rejects.toBeInstanceOf(NotUsable);
  const given = { run: () => "x" } as unknown as Agent;
  await expect(runScenario(file(), { agent: given })).rejects.toThrow("not an object with run");
  const wrong = file(REFUND.replace("judgment", "judgement"));
  await expect(runScenario(wrong, { agent: good })).rejects.toThrow("did you mean `judgment`");
  await expect(scenarioCases(wrong)).rejects.toThrow("did you mean `judgment`");
  await expect(runScenario(wrong, { args: ["--nonsense"] })).rejects.toThrow("--nonsense");
  expect(new NotUsable("x")).toBeInstanceOf(SetupError);
  expect(new SetupError("x")).toBeInstanceOf(RehearsalError);
});
