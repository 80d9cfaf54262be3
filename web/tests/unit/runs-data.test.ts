import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Problem, type Run } from "../../src/api/client";
import { again, checksOf, quoted, terminatedBy } from "../../src/rooms/runs/data/case";
import { eventsOf } from "../../src/rooms/runs/data/check";
import { inWords, pointsOf } from "../../src/rooms/runs/data/points";
import { parse } from "../../src/rooms/runs/data/read";
import { failuresAround, filter, group, readResult, tookMs } from "../../src/rooms/runs/data/result";
import { count, counted, passRate, percent, summaryOf, wilson } from "../../src/rooms/runs/data/summary";
import { linesOf } from "../../src/rooms/runs/data/transcript";
import { verdictOf, worst } from "../../src/rooms/runs/data/verdict";
import { server } from "../../src/rooms/runs/source";
import { Shelf } from "../../src/rooms/runs/summaries";
import { cases, scenario, suite } from "./results";

const run = (result?: object, more: Partial<Run> = {}): Run => ({
  id: "r",
  title: "a suite",
  status: "passed",
  started_at: "2026-01-01T10:00:00Z",
  ended_at: "2026-01-01T10:00:02Z",
  ...(result === undefined ? {} : { result: result as NonNullable<Run["result"]> }),
  ...more,
});

describe("verdicts", () => {
  it("are never taken for a pass when they are not known", () => {
    for (const word of ["excellent", "PASSED", "", undefined, null, 1, {}, "constructor"]) {
      expect(verdictOf(word)).toBe("unknown");
    }
  });

  it("of what could not be decided are not passes", () => {
    expect(verdictOf("unscored")).toBe("unjudged");
    expect(verdictOf("skipped")).toBe("unjudged");
    expect(verdictOf("errored")).toBe("error");
  });

  it("come to the worst of them", () => {
    expect(worst(["passed", "unjudged", "passed"])).toBe("unjudged");
    expect(worst(["failed", "error"])).toBe("error");
    expect(worst(["passed", "unknown"])).toBe("unknown");
    expect(worst([])).toBe("unknown");
  });
});

describe("seeds", () => {
  it("keep all their digits, and go into a command that a shell reads", () => {
    const [one] = cases(scenario("a", "passed", { seed: "10149411717537535150" }));
    expect(one && again(one)).toBe("rehearse run a.yaml --case-seed 10149411717537535150");
    expect(quoted("a b's.yaml")).toBe("'a b'\\''s.yaml'");
    const [other] = cases(scenario("a", "passed", { file: undefined }));
    expect(other && again(other)).toBeNull();
  });

  it("are only found where they are keys", () => {
    const value = { text: '{"seed": 10149411717537535150}', seed: 7, last: ',"seed":12345678901234567890}' };
    expect(parse(JSON.stringify(value))).toEqual(value);
  });
});

describe("summaries", () => {
  it("are those that the run says, or its result", () => {
    const summary = { ...count(["passed", "failed", "error"]), not_run: 1 };
    expect(summaryOf(run(suite([], { summary })))).toEqual(summary);
    expect(summaryOf(run(undefined, { summary }))).toEqual(summary);
    expect(counted(summary)).toEqual(["1 failed", "1 error", "1 not run", "1 passed"]);
  });

  it("count what nobody can say as unjudged", () => {
    expect(count(["passed", "unknown"])).toMatchObject({ total: 2, passed: 1, unjudged: 1 });
  });

  it("are nothing for a run without a result", () => {
    expect(summaryOf(run())).toBeNull();
    expect(passRate(null)).toBeNull();
  });

  it("give rates of what was started", () => {
    const summary = { ...count(["passed", "failed"]), total: 4, not_run: 2 };
    expect(passRate(summary)).toBe(0.5);
    expect(passRate(count([]))).toBeNull();
  });

  it("round to all and to none only where that is true", () => {
    expect([1, 0.999, 0.5, 0.001, 0].map(percent)).toEqual(["100 %", ">99 %", "50 %", "<1 %", "0 %"]);
  });

  it("have the interval that the command line prints", () => {
    const [low, high] = wilson(3, 3);
    expect([Math.round(low * 100), Math.round(high * 100)]).toEqual([44, 100]);
  });
});

describe("points", () => {
  const at = (id: string, minute: number, more: Partial<Run> = {}) =>
    run(undefined, { id, started_at: `2026-01-01T10:${String(minute).padStart(2, "0")}:00Z`, ...more });

  it("are in the order of time, without runs under way or without counts", () => {
    const known = new Map([
      ["a", count(["passed", "failed"])],
      ["b", count(["passed"])],
      ["c", count(["passed"])],
      ["d", null],
    ]);
    const runs = [at("d", 9), at("c", 8, { status: "running" }), at("b", 7), at("a", 6), at("e", 5)];
    const points = pointsOf(runs, (id) => known.get(id));
    expect(points.map((point) => [point.id, point.rate])).toEqual([
      ["a", 0.5],
      ["b", 1],
    ]);
    expect(inWords(points)).toContain("2 runs");
  });

  it("are said in words for none, one and many", () => {
    expect(inWords([])).toContain("No run");
    const many = Array.from({ length: 200 }, (_, index) => at(String(index), index % 60));
    const points = pointsOf(many, () => count(["passed", "passed", "error"]));
    expect(points).toHaveLength(200);
    expect(inWords(points.slice(0, 1))).toContain("67 %");
    expect(inWords(points)).toContain("from 67 % to 67 %");
  });
});

describe("counts of many runs", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("are read a few at a time, and again after a failure", async () => {
    let [atOnce, most, asked] = [0, 0, 0];
    const shelf = new Shelf(async (id) => {
      asked += 1;
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise((resolve) => setTimeout(resolve, 1));
      atOnce -= 1;
      if (id === "7" && asked < 30) throw new Error("away");
      if (id === "8") throw new Problem(404, "not_found", "gone");
      return run(suite([scenario("a", "passed")]), { id });
    });
    let told = 0;
    shelf.subscribe(() => {
      told += 1;
    });
    const ids = Array.from({ length: 20 }, (_, index) => String(index));
    shelf.want(ids);
    await vi.advanceTimersByTimeAsync(500);
    expect(shelf.current().size).toBe(19);
    asked = 30;
    shelf.want(ids);
    await vi.advanceTimersByTimeAsync(500);
    expect(shelf.current().size).toBe(20);
    expect(asked).toBe(31);
    expect(shelf.current().get("8")).toBeNull();
    expect(most).toBeLessThanOrEqual(3);
    expect(told).toBeLessThan(10);
  });
});

describe("results", () => {
  it("of scenarios and of EvalSets are read alike", () => {
    const metrics = {
      tool_trajectory: { status: "passed", score: 1, evidence: [{ text: "equal", events: [3] }] },
    };
    const result = readResult(run(suite([scenario("golden", "failed", { metrics })], { eval_set: "set" })));
    expect(result?.eval_set).toBe("set");
    const one = result?.cases[0];
    expect(one).toMatchObject({ n: 1, verdict: "failed", duration_ms: 3 });
    const checks = one ? checksOf(one) : [];
    expect(checks).toMatchObject([{ name: "tool_trajectory", message: "equal", score: 1 }]);
    expect([...eventsOf(checks)]).toEqual([3]);
  });

  it("say what ended a case", () => {
    const ended = (more: object) => cases(scenario("a", "terminated", more)).map(terminatedBy);
    expect(ended({ termination_reason: "max_turns" })).toEqual(["max turns"]);
    expect(ended({ termination_reason: "max_duration", termination_detail: "the limit" })).toEqual([
      "the limit",
    ]);
    expect(ended({})).toEqual([null]);
  });

  it("group repeats with their share, what needs a look first", () => {
    const repeats = [0, 1, 2].map((repeat) => scenario("a", repeat === 1 ? "failed" : "passed", { repeat }));
    const [one, other] = group(cases(...repeats, scenario("b", "passed", { duration_ms: 7 })));
    expect(one).toMatchObject({ name: "a", passed: 2, verdict: "failed", meanMs: 3 });
    expect(one?.cases.map((each) => each.repeat)).toEqual([1, 0, 2]);
    expect(other?.meanMs).toBe(7);
  });

  it("are filtered by verdict and by all words", () => {
    const some = cases(scenario("Late parcel", "failed", { tags: ["tools"] }), scenario("Hello", "passed"));
    expect(filter(some, "", "TOOLS parcel")).toHaveLength(1);
    expect(filter(some, "passed", "parcel")).toHaveLength(0);
    expect(filter(some, "", "a.yaml")).toHaveLength(2);
  });

  it("of a form of tomorrow are none", () => {
    expect(readResult(run(suite([], { version: 3 })))).toBeNull();
    expect(readResult(run({ older: true }))).toBeNull();
    expect(readResult(run())).toBeNull();
  });

  it("take as long as the run says, or as its clock says", () => {
    expect(tookMs(run(undefined, { duration_ms: 5 }))).toBe(5);
    expect(tookMs(run(undefined, { ended_at: null }))).toBeNull();
    expect(tookMs(run())).toBe(2000);
  });
});

describe("whole numbers of any size", () => {
  const id = "1234567890123456789";

  it("are read as they are by a run, its list and its transcript", async () => {
    vi.stubGlobal("fetch", async () => new Response(`{"events":[],"last_seq":0,"result":{"n":${id}}}`));
    const { signal } = new AbortController();
    expect((await server.run("r", signal)).result).toEqual(parse(`{"n":${id}}`));
    vi.unstubAllGlobals();
    const call = { seq: 1, author: "a", body: { type: "tool_call", tool: "f", args: parse(`{"id":${id}}`) } };
    const result = { seq: 2, body: { type: "tool_result", tool: "f", outcome: { output: parse(id) } } };
    expect(linesOf([call, result] as never).map((line) => line.text)).toEqual([
      `calls f {"id":${id}}`,
      `gives ${id}`,
    ]);
  });
});

describe("transcripts", () => {
  it("have a line for what people read, and none for the rest", () => {
    const event = (seq: number, body: object) =>
      ({ seq, session: "s", at: "", author: "agent", body }) as never;
    const lines = linesOf([
      event(1, { type: "session_started" }),
      event(2, { type: "user_message", content: { parts: [{ text: "<b>hi</b>" }] } }),
      event(3, { type: "model_response", content: { parts: [{ function_call: { name: "f" } }] } }),
      event(4, { type: "tool_call", tool: "f", args: { a: 1 } }),
      event(5, { type: "tool_result", tool: "f", outcome: { error: { type: "E", message: "no" } } }),
      event(6, { type: "tool_result", tool: "f", outcome: { output: null } }),
      event(7, { type: "a kind of tomorrow" }),
      { seq: 8 } as never,
    ]);
    expect(lines.map((line) => [line.seq, line.text])).toEqual([
      [2, "<b>hi</b>"],
      [4, 'calls f {"a":1}'],
      [5, "fails: E: no"],
      [6, "gives null"],
    ]);
  });
});

describe("failures", () => {
  const some = cases(
    ...["passed", "failed", "passed", "error", "unjudged"].map((status, index) =>
      scenario(`c${index}`, status),
    ),
  );

  it("are what a list begins with", () => {
    expect(group(some).map(({ name }) => name)).toEqual(["c3", "c1", "c4", "c0", "c2"]);
  });

  it("lead to each other from wherever one looks", () => {
    expect(failuresAround(some, 1)).toEqual({ at: null, count: 3, before: null, after: 2 });
    expect(failuresAround(some, 4)).toEqual({ at: 2, count: 3, before: 2, after: 5 });
    expect(failuresAround(some, 5)).toEqual({ at: 3, count: 3, before: 4, after: null });
    expect(failuresAround([], 1)).toEqual({ at: null, count: 0, before: null, after: null });
  });
});
