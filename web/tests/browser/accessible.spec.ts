import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { alone, expect, test } from "./fixtures";
import {
  call,
  choose,
  decide,
  entry,
  execute,
  fill,
  pick,
  respond,
  sessionId,
  start,
  yourTurn,
} from "./session";
import { twoRuns } from "./suite";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

test.slow();

/** What axe finds in light and in dark; and on a phone nothing is wider than the screen. */
async function check(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const { violations } = await new AxeBuilder({ page }).withTags(TAGS).analyze();
    const found = violations.map(({ id, nodes }) => [
      id,
      ...nodes.map((node) => `${node.html} ${node.failureSummary}`),
    ]);
    expect(found, colorScheme).toEqual([]);
  }
  const { width, height } = page.viewportSize() ?? { width: 1280, height: 900 };
  await page.setViewportSize({ width: 360, height: 740 });
  const wide = () =>
    page.evaluate(() => {
      const limit = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth <= limit) return [];
      const beyond = [...document.querySelectorAll("body *")].filter(
        (element) => element.getBoundingClientRect().right > limit + 1,
      );
      return beyond.slice(0, 5).map((element) => element.outerHTML.slice(0, 200));
    });
  await expect.poll(wide).toEqual([]);
  const overlapping = () =>
    page
      .locator(".entry-fold")
      .evaluateAll((all) =>
        all.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent),
      );
  await expect.poll(overlapping).toEqual([]);
  const { violations } = await new AxeBuilder({ page }).withTags(TAGS).analyze();
  expect(
    violations.map(({ id, nodes }) => [id, ...nodes.map((node) => node.html)]),
    "phone",
  ).toEqual([]);
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: "light" });
}

alone(false)("home, empty", async ({ page }) => {
  await expect(page.getByRole("heading", { name: "Connect an agent" })).toBeVisible();
  await check(page);
});

test("home with sessions that wait, live and past; and starting one", async ({ page, stage }) => {
  await start(page, "poet", "Rhyme");
  await respond(page, "Time");
  await start(page, "calculator", "What is 1 + 1?");
  await page.goto(stage.url);
  await expect(page.getByRole("region", { name: "Waiting for you" })).toBeVisible();
  await expect(
    page.getByRole("region", { name: "All sessions" }).getByRole("listitem").first(),
  ).toBeVisible();
  await check(page);
  await choose(page, "calculator");
  await check(page);
  await choose(page, "researcher");
  await page.getByRole("button", { name: "Start session" }).click();
  await check(page);
});

test("deciding: a text agent, its tools' forms, problems in them, what the model sees", async ({ page }) => {
  await start(page, "clerk", "Record everything");
  await check(page);
  const form = await pick(page, "record");
  await form
    .getByRole("group", { name: /^words/i })
    .getByRole("button", { name: /^Add/ })
    .click();
  await execute(page);
  await expect(form.locator("[aria-invalid='true']").first()).toBeFocused();
  await check(page);
  await pick(page, "ship");
  await check(page);
  await decide(page).getByRole("button", { name: "Send final response" }).first().click();
  await check(page);
  await decide(page).getByRole("button", { name: "What the model sees" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  await check(page);
});

test("deciding: an agent with schemas", async ({ page }) => {
  const ask = await choose(page, "researcher");
  const form = ask.getByRole("group", { name: "User query", exact: true });
  await fill(form, { query: "herons", max_results: "3" });
  await ask.getByRole("button", { name: "Start session" }).click();
  await yourTurn(page);
  await decide(page).getByRole("button", { name: "Send final response" }).first().click();
  await check(page);
});

test("a running tool, a tool error, a completed session, all events, an export", async ({ page }) => {
  await start(page, "trouble", "Go wrong");
  await pick(page, "wait_forever");
  await execute(page);
  await expect(page.getByRole("timer")).toBeVisible();
  await check(page);
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await expect(entry(page, "Tool error wait_forever")).toBeVisible();
  await call(page, "fetch_data", { url: "x" });
  await entry(page, "Tool error fetch_data").getByText("Traceback", { exact: true }).click();
  await check(page);
  await respond(page, "It **failed**, see [here](https://example.org):\n\n| a | b |\n|---|---|\n| 1 | 2 |");
  await check(page);
  await page.getByRole("button", { name: "Export", exact: true }).click();
  await expect(page.getByText("Exported as")).toBeVisible();
  await page.getByRole("button", { name: /^All events/ }).click();
  await check(page);
  expect(sessionId(page)).not.toBe("");
});

alone(false)("runs, a run, a case, two runs side by side", async ({ page, stage }) => {
  await page.goto(`${stage.url}/runs`);
  await check(page);
  const { before, after } = await twoRuns(stage);
  await expect(page.getByRole("table", { name: "Runs, newest first" })).toBeVisible();
  await check(page);
  await page.goto(`${stage.url}/runs/${after}`);
  await expect(page.getByRole("link", { name: "Says how many" })).toBeVisible();
  await check(page);
  await page.getByRole("link", { name: "Says how many" }).click();
  await expect(page.getByText("We have none.").first()).toBeVisible();
  await check(page);
  await page.goto(`${stage.url}/runs/compare?a=${before}&b=${after}`);
  await expect(page.getByRole("region", { name: "Newly not passing" })).toBeVisible();
  await check(page);
});
