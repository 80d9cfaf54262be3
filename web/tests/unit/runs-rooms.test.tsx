import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";
import { EventLinks } from "../../src/rooms/runs/parts/EventLinks";
import { embedded, readReport } from "../../src/rooms/runs/report/embedded";
import { ReportApp } from "../../src/rooms/runs/report/ReportApp";
import { RunRoom } from "../../src/rooms/runs/run/RunRoom";
import { Source, server } from "../../src/rooms/runs/source";

let root: Root;
let place: HTMLElement;

beforeAll(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
});
beforeEach(() => {
  place = document.createElement("div");
  document.body.append(place);
  root = createRoot(place);
});
afterEach(async () => {
  await act(async () => root.unmount());
  place.remove();
  location.hash = "";
});

const settled = () => act(() => new Promise((resolve) => setTimeout(resolve, 20)));

async function show(node: ReactNode) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  await act(async () => root.render(<QueryClientProvider client={client}>{node}</QueryClientProvider>));
  await settled();
}

const hrefs = () => [...place.querySelectorAll("a")].map((link) => link.getAttribute("href"));

const result = {
  scenarios: [
    {
      name: "Hello",
      verdict: "failed",
      file: "a.yaml",
      seed: "10149411717537535150",
      sessions: ["judged", "agent's"],
      steps: [
        {
          step: 1,
          kind: "input",
          status: "failed",
          evaluations: [
            { name: "1: x", status: "failed", message: "no", evidence: [{ text: "no", events: [2] }] },
          ],
        },
      ],
    },
    {},
  ],
};
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
    expect(place.querySelector("#e2")?.className).toContain("marked");
    expect(place.querySelector("img")).toBeNull();
  });

  it("shows a case of which nothing is known", async () => {
    location.hash = "/runs/r/cases/2";
    await show(<ReportApp report={report} />);
    expect(place.querySelector(".badge")?.textContent).toBe("unknown");
    expect(place.textContent).toContain("not taken for a pass");
  });
});

describe("a large run", () => {
  it("has a bounded number of rows", async () => {
    const scenarios = Array.from({ length: 5000 }, (_, index) => ({
      name: `case ${index}`,
      verdict: "passed",
    }));
    const repeats = Array.from({ length: 5000 }, (_, repeat) => ({
      name: "again",
      verdict: "passed",
      repeat,
    }));
    const large = { ...report, run: { ...report.run, result: { scenarios: [...repeats, ...scenarios] } } };
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
