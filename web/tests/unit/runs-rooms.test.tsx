import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";
import * as texts from "../../src/json/show";
import { count } from "../../src/rooms/runs/data/summary";
import { RunList } from "../../src/rooms/runs/list/RunList";
import { EventLinks } from "../../src/rooms/runs/parts/EventLinks";
import { Value } from "../../src/rooms/runs/parts/Value";
import { embedded, readReport } from "../../src/rooms/runs/report/embedded";
import { ledgerOf } from "../../src/rooms/runs/report/ledger";
import { ReportApp } from "../../src/rooms/runs/report/ReportApp";
import { RunRoom } from "../../src/rooms/runs/run/RunRoom";
import { Source, server } from "../../src/rooms/runs/source";
import { evaluation, scenario, step, suite } from "./results";

let root: Root;
let place: HTMLElement;

beforeAll(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
});
beforeEach(() => {
  place = document.createElement("div");
  document.body.append(place);
  root = createRoot(place);
  // Nothing is as high as a row here, and rows without a height would all be in view.
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(58);
});
afterEach(async () => {
  await act(async () => root.unmount());
  place.remove();
  location.hash = "";
  vi.restoreAllMocks();
});

/** Turns for those who wait for the next one: each comes after what was waiting before it. */
async function settled() {
  for (let turn = 0; turn < 5; turn += 1) await act(() => new Promise((resolve) => setTimeout(resolve)));
}

async function show(node: ReactNode) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  await act(async () => root.render(<QueryClientProvider client={client}>{node}</QueryClientProvider>));
  await settled();
}

const hrefs = () => [...place.querySelectorAll("a")].map((link) => link.getAttribute("href"));

const result = suite([
  scenario("Hello", "failed", {
    seed: "10149411717537535150",
    sessions: ["judged", "agent's"],
    steps: [
      step({
        status: "failed",
        evaluations: [
          evaluation("1: x", "failed", { message: "no", evidence: [{ text: "no", events: [2] }] }),
        ],
      }),
    ],
  }),
  scenario("Other", "excellent"),
]);
const data = {
  run: {
    id: "r",
    title: "suite",
    status: "failed",
    started_at: "2026-01-01T10:00:00Z",
    ended_at: null,
    result,
  },
  sessions: [
    { session: { id: "judged", part: "judge", last_seq: 1 }, events: [] },
    {
      session: { id: "agent's", part: "main", last_seq: 2, description: "Hello" },
      events: [
        { seq: 1, at: "2026-01-01T10:00:00Z", author: "x", body: { type: "session_started" } },
        {
          seq: 2,
          at: "2026-01-01T10:00:00Z",
          author: "user",
          body: { type: "user_message", content: { parts: [{ text: "<img src=x>" }] } },
        },
      ],
    },
  ],
};
const report = readReport(JSON.stringify(data));
if (!report) throw new Error("the report is not read");

describe("links to events", () => {
  it("go to the session's room on a server", async () => {
    await show(
      <Source value={server}>
        <EventLinks session="s1" events={[8, 12]} />
      </Source>,
    );
    expect(hrefs()).toEqual(["/sessions/s1#e8", "/sessions/s1#e12"]);
  });

  it("are only words where no session was kept", async () => {
    await show(<EventLinks session={null} events={[8]} />);
    expect(place.textContent).toContain("event 8");
    expect(hrefs()).toEqual([]);
  });
});

describe("a report", () => {
  it("is nothing without a run", () => {
    for (const json of ["", "null", "[]", "{}", '{"run":{}}', "{"]) expect(readReport(json)).toBeNull();
    expect(readReport('{"run":{"id":"r"}}')?.sessions).toEqual([]);
  });

  it("shows its run, and links evidence to the agent's session inside the file", async () => {
    await show(<ReportApp report={report} />);
    expect(place.querySelector("h1")?.textContent).toBe("suite");
    expect(hrefs()).toContain("#/runs/r/cases/1");
    location.hash = "/runs/r/cases/1";
    await settled();
    await settled();
    expect(place.textContent).toContain("--case-seed 10149411717537535150");
    expect(hrefs()).toContain("#/sessions/agent's?e=2");
    location.hash = "/sessions/agent's?e=2";
    await settled();
    expect(place.querySelector("#e2")?.className).toContain("sought");
    expect(place.querySelector("img")).toBeNull();
  });

  it("has a table of cases by variants, where a matrix made them", async () => {
    const table = {
      variants: [
        { name: "tone=short", values: { tone: "short" }, all: { runs: 3, passed: 2 } },
        { name: "tone=warm", values: { tone: "warm" }, all: { runs: 0, passed: 0 } },
      ],
      rows: [
        { name: "Shop [a]", cells: [{ runs: 2, passed: 2 }, null] },
        { name: "Shop [b]", cells: [{ runs: 1, passed: 0 }, null] },
      ],
    };
    const run = { ...report.run, result: { ...result, table } };
    await show(<ReportApp report={{ ...report, run }} />);
    const lines = [...place.querySelectorAll('section[aria-labelledby="variants"] tbody tr')];
    expect(lines.map((line) => line.textContent)).toEqual(["All2/3 67 %–", "Shop [a]2/2–", "Shop [b]0/1–"]);
  });

  it("takes a verdict that it does not know for no pass", async () => {
    location.hash = "/runs/r/cases/2";
    await show(<ReportApp report={report} />);
    expect(place.querySelector(".badge")?.textContent).toBe("unknown");
    expect(place.textContent).toContain("not taken for a pass");
  });
});

describe("the ledger of a session in a report", () => {
  const big = "1234567890123456789";
  const events = [
    `{"seq":1,"session":"s","at":"2026-01-01T10:00:00Z","author":"a","body":{"type":"note","name":"n","data":{"id":${big}}}}`,
    '{"seq":2,"session":"s","at":"2026-01-01T10:00:01Z","author":"a","body":{"type":"note","name":"n","data":"</script>\\nä\u2028"}}',
  ];
  const reportWith = (lines: string[]) => {
    const found = readReport(
      `{"run":{"id":"r","title":"suite"},"sessions":[{"session":{"id":"s","part":"main","last_seq":2},"events":[${lines}]}]}`,
    );
    if (!found) throw new Error("the report is not read");
    return found;
  };
  const openSession = async (lines: string[]) => {
    location.hash = "/sessions/s";
    await show(<ReportApp report={reportWith(lines)} />);
  };
  const button = () =>
    [...place.querySelectorAll("button")].find((one) => one.textContent === "Save the ledger");

  it("is one event in a line, as the report has it", () => {
    const [told] = reportWith(events).sessions;
    expect(ledgerOf(told?.events ?? [])).toBe(`${events.join("\n")}\n`);
    expect(ledgerOf([])).toBe("");
  });

  it("is given as a file, and nothing of it is kept", async () => {
    const made: Blob[] = [];
    const letGo: string[] = [];
    const clicked: [string, string][] = [];
    vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
      made.push(blob as Blob);
      return "blob:null/1";
    });
    vi.spyOn(URL, "revokeObjectURL").mockImplementation((url) => void letGo.push(url));
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
      clicked.push([this.href, this.download]);
    });
    await openSession(events);
    expect(made).toEqual([]);
    vi.useFakeTimers();
    await act(async () => button()?.click());
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    expect(clicked).toEqual([["blob:null/1", "s.jsonl"]]);
    expect(await made[0]?.text()).toBe(`${events.join("\n")}\n`);
    expect(letGo).toEqual(["blob:null/1"]);
    expect(document.querySelector("a[download]")).toBeNull();
    expect(place.textContent).not.toContain("cut");
    vi.restoreAllMocks();
  });

  it("says when values in it were cut, and is not offered where nothing was kept", async () => {
    await openSession([(events[0] ?? "").replace('"seq"', '"truncated":true,"seq"')]);
    expect(place.textContent).toContain("cut");
    await openSession([]);
    expect(button()).toBeUndefined();
  });

  it("has numbers that are shown with all their digits", async () => {
    await openSession(events);
    location.hash = "/sessions/s?view=all";
    await settled();
    expect(place.querySelector("#e1 .entry-line")?.textContent).toContain(`"id":${big}`);
    await act(async () => place.querySelector<HTMLElement>("#e1 .entry-fold")?.click());
    expect(place.querySelector("#e1 .entry-body")?.textContent).toContain(big);
  });
});

describe("a session in a report", () => {
  const line = (seq: number, body: string, more = "") =>
    `{"seq":${seq},"session":"s","at":"2026-01-01T10:00:00Z","author":"a"${more},"body":${body}}`;
  const events = [
    line(1, '{"type":"session_started","agent":"a"}'),
    line(2, '{"type":"user_message","content":{"parts":[{"text":"Hello"}]}}'),
    line(3, '{"type":"tool_call","call":"c","tool":"look_up","args":{"title":"Dune"}}', ',"turn":"t"'),
    line(
      4,
      '{"type":"tool_result","call":"c","tool":"look_up","outcome":{"output":{"shelf":"B4"}}}',
      ',"truncated":true',
    ),
  ];
  const open = async (hash: string) => {
    const found = readReport(
      `{"run":{"id":"r","title":"t"},"sessions":[{"session":{"id":"s","part":"main","last_seq":4},"events":[${events}]}]}`,
    );
    if (!found) throw new Error("the report is not read");
    location.hash = hash;
    await show(<ReportApp report={found} />);
  };

  it("has the cards of the page, and asks nothing of a server", async () => {
    await open("/sessions/s");
    const cards = [...place.querySelectorAll("article")].map((card) => card.getAttribute("aria-label"));
    expect(cards).toEqual(["User", "Tool call look_up", "Tool output look_up"]);
    expect(place.textContent).toContain("B4");
    expect(place.textContent).not.toContain("What the model saw");
    expect(place.textContent).not.toContain("Show it whole");
  });

  it("shows an event that is no part of the conversation when an address names it", async () => {
    await open("/sessions/s?e=1");
    expect(place.querySelectorAll("article")).toHaveLength(4);
    expect(place.querySelector("#e1")?.className).toContain("sought");
  });

  it("stays open when the number of an event is followed", async () => {
    await open("/sessions/s");
    await act(async () => place.querySelector<HTMLElement>("#e3 a[href='#e3']")?.click());
    await settled();
    expect(location.hash).toContain("/sessions/s?");
    expect(place.querySelector("#e3")?.className).toContain("sought");
  });
});

describe("the list of runs", () => {
  const run = (id: string, more = {}) => ({
    id,
    title: "the suite",
    status: "passed",
    started_at: "2026-01-01T10:00:00Z",
    ended_at: "2026-01-01T10:00:09Z",
    duration_ms: 257,
    summary: count(["passed"]),
    ...more,
  });
  const runs = [run("1", { name: "nightly", branch: "main", commit: "0123456789ab" }), run("2"), run("3")];
  const asked: string[] = [];
  const source = {
    ...server,
    runs: async (_: string | null, sought: string) => {
      asked.push(sought);
      return { runs: sought === "" ? runs : [], next_page_token: null };
    },
  };
  const open = async (path: string) => {
    const { hook, searchHook } = memoryLocation({ path });
    await show(
      <Source value={source}>
        <Router hook={hook} searchHook={searchHook}>
          <RunList />
        </Router>
      </Source>,
    );
  };
  const boxes = () => [...place.querySelectorAll<HTMLInputElement>("tbody input[type=checkbox]")];

  it("says what each is called and how long it took, as its room says it", async () => {
    await open("/runs");
    const [first, second] = [...place.querySelectorAll("tbody tr")].map((row) => row.textContent);
    expect(first).toContain("nightly");
    expect(first).toContain("the suite · main 01234567");
    expect(first).toContain("257 ms");
    expect(second).toContain("the suite");
  });

  it("does not take a third run in place of the first", async () => {
    await open("/runs?a=1&b=2");
    expect(boxes().map((box) => [box.checked, box.disabled])).toEqual([
      [true, false],
      [true, false],
      [false, true],
    ]);
    expect(place.textContent).toContain("Take one away to choose another");
  });

  it("asks the server for what is sought, and says when nothing is like that", async () => {
    await open("/runs?q=refunds");
    expect(asked.at(-1)).toBe("refunds");
    expect(place.textContent).toContain("No run is like that.");
    expect(place.textContent).not.toContain("No run has been kept yet");
  });
});

describe("a value", () => {
  it("is written once, however often it is drawn", async () => {
    const written = vi.spyOn(texts, "pretty");
    const value = Array.from({ length: 100 }, (_, index) => ({ index }));
    for (let times = 0; times < 3; times += 1) await show(<Value value={value} label="it" />);
    expect(written).toHaveBeenCalledTimes(1);
    expect(place.querySelector("summary")?.textContent).toContain('[{"index":0}');
    expect(place.querySelector("pre")?.textContent).toBe(JSON.stringify(value, null, 2));
    vi.restoreAllMocks();
  });
});

describe("a large run", () => {
  it("has a bounded number of rows", async () => {
    const many = Array.from({ length: 5000 }, (_, index) => scenario(`case ${index}`, "passed"));
    const repeats = Array.from({ length: 5000 }, (_, repeat) => scenario("again", "passed", { repeat }));
    const large = { ...report, run: { ...report.run, result: suite([...repeats, ...many]) } };
    const { hook, searchHook } = memoryLocation({ path: "/runs/r" });
    await show(
      <Source value={embedded(large)}>
        <Router hook={hook} searchHook={searchHook}>
          <RunRoom id="r" />
        </Router>
      </Source>,
    );
    expect(place.textContent).toContain(`${(5001).toLocaleString()} cases`);
    expect(place.querySelectorAll("*").length).toBeLessThan(2000);
  });
});
