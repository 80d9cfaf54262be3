import { describe, expect, it } from "vitest";
import { compare } from "../../src/rooms/runs/data/compare";
import * as results from "./results";

const cases = (...all: Told[]) =>
  results.cases(...all.map((one) => results.scenario(one.name, one.status, one)));
type Told = { name: string; status: string; [more: string]: unknown };

const names = (found: { after?: { name: string }; name?: string }[]) =>
  found.map((one) => one.after?.name ?? one.name);

describe("two runs", () => {
  it("show what broke and what was fixed apart from the rest", () => {
    const before = cases(
      { name: "breaks", status: "passed" },
      { name: "heals", status: "error" },
      { name: "shifts", status: "failed" },
      { name: "stays", status: "failed" },
      { name: "goes", status: "passed" },
    );
    const after = cases(
      { name: "comes", status: "passed" },
      { name: "stays", status: "failed" },
      { name: "shifts", status: "error" },
      { name: "heals", status: "passed" },
      { name: "breaks", status: "unjudged" },
    );
    const changed = compare(before, after);
    expect(names(changed.broken)).toEqual(["breaks"]);
    expect(names(changed.fixed)).toEqual(["heals"]);
    expect(names(changed.shifted)).toEqual(["shifts"]);
    expect(names(changed.same)).toEqual(["stays"]);
    expect(names(changed.onlyBefore)).toEqual(["goes"]);
    expect(names(changed.onlyAfter)).toEqual(["comes"]);
  });

  it("match by file, name and repeat, and twins by their order", () => {
    const one = { name: "a", status: "passed" };
    const before = cases(one, { ...one, repeat: 1 }, { ...one, file: "b.yaml" }, one);
    const after = cases(one, { ...one, repeat: 1, status: "failed" }, one, { ...one, file: "b.yaml" });
    const changed = compare(before, after);
    expect(changed.broken.map((pair) => pair.after.repeat)).toEqual([1]);
    expect(changed.same).toHaveLength(3);
    expect(changed.onlyBefore.length + changed.onlyAfter.length).toBe(0);
  });

  it("say which score, evaluation or duration changed", () => {
    const judged = (score: number | undefined, status: string, duration_ms: number) => ({
      name: "a",
      status: "passed",
      duration_ms,
      steps: [results.step({ evaluations: [results.evaluation("1: judge", status, { score })] })],
    });
    const changesOf = (before: Told, after: Told) => compare(cases(before), cases(after)).moved[0]?.changes;
    expect(changesOf(judged(0.9, "passed", 5), judged(0.75, "passed", 9))).toEqual([
      "1: judge: score 0.9 → 0.75",
    ]);
    expect(changesOf(judged(1, "passed", 5), judged(undefined, "unscored", 5))).toEqual([
      "1: judge: passed → unscored",
    ]);
    expect(changesOf(judged(1, "passed", 500), judged(1, "passed", 1500))).toEqual([
      "slower: 500 ms → 1.5 s",
    ]);
    expect(
      changesOf(judged(1, "passed", 5), { name: "a", status: "passed", duration_ms: 5 } as Told),
    ).toEqual(["1: judge: no longer asked"]);
    expect(changesOf(judged(1, "passed", 1000), judged(1, "passed", 1100))).toBeUndefined();
  });

  it("compare what is asked in each turn with the same turn", () => {
    const talk = (...statuses: string[]) => ({
      name: "a",
      status: "passed",
      steps: [
        results.step({
          conversation: {
            turns: statuses.map((status) => ({
              turn_evaluations: [results.evaluation("1: polite", status)],
            })),
            final_evaluations: [],
          },
        }),
      ],
    });
    const same = compare(cases(talk("passed", "passed")), cases(talk("passed", "passed")));
    expect(same.same).toHaveLength(1);
    const changesOf = (before: Told, after: Told) => compare(cases(before), cases(after)).moved[0]?.changes;
    expect(changesOf(talk("passed", "failed"), talk("passed", "unscored"))).toEqual([
      "1: polite (2): failed → unscored",
    ]);
    expect(changesOf(talk("passed"), talk("passed", "failed"))).toEqual(["1: polite (2): new, failed"]);
    expect(changesOf(talk("passed", "passed"), talk("passed"))).toEqual(["1: polite (2): no longer asked"]);
  });

  it("are compared when they are empty or large", () => {
    expect(compare([], []).same).toEqual([]);
    const many = cases(
      ...Array.from({ length: 20_000 }, (_, index) => ({ name: `case ${index}`, status: "passed" })),
    );
    expect(compare(many, many).same).toHaveLength(20_000);
    const alike = cases(...Array.from({ length: 20_000 }, () => ({ name: "same", status: "passed" })));
    const began = performance.now();
    expect(compare(alike, alike).same).toHaveLength(20_000);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
