/** A report: one run in one file, which opens without a server and asks nothing of anybody. */

// Before everything else: a room's style sheet changes what these say, and the last one wins.
import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/shell.css";
import "./style/session.css";
import "./style/runs.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { nameOf } from "./rooms/runs/data/result";
import { readReport } from "./rooms/runs/report/embedded";
import { ReportApp } from "./rooms/runs/report/ReportApp";

const report = readReport(document.getElementById("rehearsal-report")?.textContent ?? "");
const queries = new QueryClient({ defaultOptions: { queries: { networkMode: "always", retry: false } } });

const root = document.getElementById("root");
if (root) {
  if (report) document.title = `${nameOf(report.run)} · Rehearsal report`;
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        {report ? (
          <ReportApp report={report} />
        ) : (
          <main>
            <h1>This report is empty</h1>
            <p>It holds no run. `rehearse report RUN -o report.html` writes one.</p>
          </main>
        )}
      </QueryClientProvider>
    </StrictMode>,
  );
}
