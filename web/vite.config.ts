import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = process.env["REHEARSAL_SERVER"] ?? "http://127.0.0.1:4200";

export default defineConfig({
  plugins: [react()],
  // `npm run dev` serves the page and hands API calls to a running `rehearse serve`.
  server: { proxy: { "/v1": server, "/openapi.json": server } },
  build: {
    target: "es2022",
    // The page's Content-Security-Policy has no `data:` for scripts, and small files are cheap on loopback.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
});
