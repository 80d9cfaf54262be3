// Before everything else: a room's style sheet changes what these say, and the last one wins.
import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/shell.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { live } from "./api/live";
import { followChanges, queries } from "./api/queries";
import { forgetOldDrafts } from "./ui/draft";

live.start();
followChanges();
forgetOldDrafts(Date.now());

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
