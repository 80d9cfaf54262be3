import { defineConfig } from "@playwright/test";

/**
 * Tests in a browser, against the real server with real agents behind it. They need
 * `REHEARSAL_BIN` (the `rehearse` binary, which has the page inside), `REHEARSAL_PYTHON` (a Python that has google-adk and
 * finds the `rehearsal` package) and Chromium (`CHROMIUM`, else /usr/bin/chromium).
 */
export default defineConfig({
  testDir: "tests/browser",
  outputDir: "test-results",
  fullyParallel: false,
  forbidOnly: true,
  workers: 2,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: [["list"]],
  use: {
    headless: true,
    viewport: { width: 1280, height: 900 },
    locale: "en-GB",
    timezoneId: "UTC",
    screenshot: "only-on-failure",
    // Recording takes a good part of the time; TRACE=1 records what fails.
    trace: process.env.TRACE ? "retain-on-failure" : "off",
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
