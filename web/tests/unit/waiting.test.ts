import { describe, expect, it } from "vitest";
import type { Cue } from "../../src/api/client";
import { MOST_CUES } from "../../src/api/queries";
import { byWait, waitingCount } from "../../src/api/waiting";

const cue = (id: string, minute: number, more: Partial<Cue> = {}): Cue => ({
  id,
  session: id,
  kind: "model",
  agent: "a",
  status: "open",
  position: 1,
  head: true,
  opened_at: `2026-01-01T10:${String(minute).padStart(2, "0")}:00Z`,
  seen_at: "2026-01-01T10:59:00Z",
  ...more,
});

describe("what waits", () => {
  it("has the longest wait first, and what cannot be answered yet last", () => {
    const cues = [
      cue("late", 15),
      cue("given up", 1, { status: "abandoned" }),
      cue("in line", 2, { head: false }),
      cue("early", 4),
    ];
    expect(byWait(cues).map(({ id }) => id)).toEqual(["early", "late", "in line", "given up"]);
  });

  it("is counted without what was given up", () => {
    expect(waitingCount([])).toBe("");
    expect(waitingCount([cue("x", 1, { status: "abandoned" })])).toBe("");
    expect(waitingCount([cue("x", 1), cue("y", 2)])).toBe("2");
    expect(waitingCount(Array.from({ length: MOST_CUES }, (_, n) => cue(String(n), 1)))).toBe(
      `${MOST_CUES}+`,
    );
  });
});
