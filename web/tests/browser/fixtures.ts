/** A stage for each worker, and pages that are watched while a test uses them. */

import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  test as base,
  expect,
  type Page,
} from "@playwright/test";
import { Stage } from "./stage";

declare global {
  interface Window {
    tellViolation?(violation: string): void;
  }
}

/** What must not happen on any page, in any test. */
class Watch {
  private readonly wrong: string[] = [];
  readonly requests: string[] = [];

  constructor(private readonly stage: Stage) {}

  async over(context: BrowserContext): Promise<void> {
    await slowDown(context);
    await context.exposeBinding("tellViolation", (_, violation: string) => {
      this.wrong.push(`policy violated: ${violation}`);
    });
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) =>
        window.tellViolation?.(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`),
      );
    });
    context.on("console", (message) => {
      if (/content security policy/i.test(message.text())) this.wrong.push(message.text());
    });
    context.on("weberror", (error) => {
      this.wrong.push(`uncaught: ${error.error().stack ?? error.error().message}`);
    });
    context.on("request", (request) => {
      const url = new URL(request.url());
      this.requests.push(request.url());
      if (/^(https?|wss?):$/.test(url.protocol) && url.origin !== this.stage.url)
        this.wrong.push(`a request left: ${request.url()}`);
    });
  }

  check(): void {
    expect(this.wrong).toEqual([]);
  }
}

/**
 * With `DELAY_MS` every request to the API takes up to so much longer. It finds tests that look before the page
 * has heard: they pass on a quick machine and fail on a slow one.
 */
async function slowDown(context: BrowserContext): Promise<void> {
  const most = Number(process.env.DELAY_MS ?? 0);
  if (most === 0) return;
  await context.route("**/v1/**", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * most));
    // A page that has gone in the meantime asks for nothing any more.
    await route.fallback().catch(() => undefined);
  });
}

/** Another person, with a browser of their own. */
export type Newcomer = (options?: BrowserContextOptions) => Promise<Page>;

interface Fixtures {
  watch: Watch;
  /** Opens the page for somebody else. */
  newcomer: Newcomer;
}

interface Options {
  /** Whether the page is opened as a person opens it: by the address with the token. */
  opens: boolean;
}

interface Shared {
  /** The worker's server and agents. */
  shared: Stage;
}

export const test = base.extend<Fixtures & Options & { stage: Stage }, Shared>({
  shared: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads what a fixture needs from this pattern
    async ({}, use) => {
      const stage = await Stage.open({ agents: true });
      await use(stage);
      await stage.close();
    },
    { scope: "worker", timeout: 120_000 },
  ],
  opens: [true, { option: true }],
  stage: async ({ shared }, use) => {
    await use(shared);
    await shared.tidy();
  },
  watch: async ({ stage }, use) => {
    const watch = new Watch(stage);
    await use(watch);
    watch.check();
  },
  context: async ({ context, watch }, use) => {
    await watch.over(context);
    await use(context);
  },
  page: async ({ page, stage, opens }, use) => {
    if (opens) await page.goto(stage.entry);
    await use(page);
  },
  newcomer: async ({ browser, stage, watch }, use) => {
    const opened: BrowserContext[] = [];
    await use(async (options) => {
      const context = await newContext(browser, options);
      opened.push(context);
      await watch.over(context);
      const page = await context.newPage();
      await page.goto(stage.entry);
      return page;
    });
    for (const context of opened) await context.close();
  },
});

function newContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: "en-GB",
    timezoneId: "UTC",
    ...options,
  });
}

/** The same with a server of its own: for tests that end it, or that need to find it empty. */
export const alone = (agents: boolean) =>
  test.extend({
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads what a fixture needs from this pattern
    stage: async ({}, use) => {
      const stage = await Stage.open({ agents });
      await use(stage);
      await stage.close();
    },
  });

export { expect };
