import { pathToFileURL } from "node:url";
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
    page.getByRole("region", { name: "Past sessions" }).getByRole("listitem").first(),
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
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
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
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
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

test("raw JSON, an event whole, a search in it", async ({ page }) => {
  await start(page, "trouble", "Give me a lot, *please*");
  const form = await pick(page, "big");
  await form.getByRole("button", { name: "Raw JSON" }).click();
  await form.getByLabel("Arguments of big, as JSON").fill('{"megabytes": ');
  await execute(page);
  await check(page);
  await form.getByLabel("Arguments of big, as JSON").fill('{"megabytes": 1}');
  await execute(page);
  const output = entry(page, "Tool output big");
  await output.getByLabel(/^Search in/).fill("row 7");
  await expect(output.getByRole("button", { name: "Next" })).toBeVisible();
  // A button that is half under the head of the timeline is small by where the page was scrolled to, not by itself.
  await output.getByLabel(/^Search in/).evaluate((field) => field.scrollIntoView({ block: "center" }));
  await check(page);
  await output.getByRole("button", { name: "Show it whole" }).click();
  await expect(page.getByRole("dialog")).toContainText("the very end");
  await check(page);
});

test("artifacts, and a session that cannot be run again", async ({ page }) => {
  await start(page, "painter", "An exhibition");
  await call(page, "exhibit", { title: "Spring" });
  await expect(page.getByRole("list", { name: "Artifacts" }).getByRole("img")).toBeVisible();
  await page.getByText("The text of long.csv, version 0").click();
  await check(page);
  await start(page, "trouble", "Fetch");
  await call(page, "fetch_data", { url: "http://x.test" });
  await respond(page, "It cannot be reached");
  await expect(page.getByRole("list", { name: "Why adk eval cannot run it" })).toBeVisible();
  await check(page);
});

test("a confirmation", async ({ page }) => {
  const ask = await choose(page, "payer");
  await ask.getByLabel("User query").fill("Pay 3");
  await ask.getByText("More settings").click();
  await ask.getByLabel("Go on after the final response, for more messages").check();
  await ask.getByRole("button", { name: "Start session" }).click();
  await fill(await pick(page, "pay"), { amount: "3" });
  await execute(page);
  await expect(page.getByRole("region", { name: "The agent asks for your confirmation" })).toBeVisible();
  await check(page);
});

const PART = (name: string, rest: string) => `
name: ${name}
description: A person plays a part
environment: {type: local}
${rest}
judgment: {strategy: all_pass}
`;
const TOOL = PART(
  "The tool",
  `agent: {name: finder, instructions: Find., tools: [{name: find, description: Finds}]}
models: {agent: {script: [{call: find, args: {id: 1}}, here]}}
setup: {mocks: [{method: find, person: true}]}
run: [{input: Where is it?, evaluations: [{type: tool_called, tool: find}]}]`,
);
const USER = PART(
  "The user",
  `agent: {name: talker, instructions: Talk.}
models: {agent: {script: [hello, fine]}}
run: [{name: talk, conversation: {max_turns: 4, user: person, final_evaluations: [{type: conversation_length, min_turns: 1, max_turns: 3}]}}]`,
);

alone(false)("playing a tool and the user, and a connection that is lost", async ({ page, stage }) => {
  await stage.write("tool.scenario.yaml", TOOL);
  await stage.write("user.scenario.yaml", USER);
  const waiting = page.getByRole("region", { name: "Waiting for you" });
  const tool = stage.run(["run", "tool.scenario.yaml"]);
  await waiting.getByRole("link", { name: /needs a tool's result/ }).click();
  await expect(decide(page).getByText("You are the tool.")).toBeVisible();
  await check(page);
  await decide(page).getByRole("button", { name: "Fail with an error" }).click();
  await check(page);
  await decide(page).getByLabel("Type of the error").fill("NotThere");
  await decide(page).getByLabel("Message").fill("nobody knows");
  await decide(page).getByRole("button", { name: "Send error" }).click();
  await tool.ended;
  await page.goto(stage.url);
  stage.run(["run", "user.scenario.yaml"]);
  await waiting.getByRole("link", { name: /needs what the user says/ }).click();
  await expect(decide(page).getByLabel("The user says")).toBeVisible();
  await check(page);
  await stage.killServer();
  await expect(page.getByText("Connection lost.")).toBeVisible();
  await check(page);
});

test("the page without its cookie", async ({ page, context }) => {
  await expect(page.getByRole("region", { name: "Agents you can start" })).toBeVisible();
  await context.clearCookies();
  await expect(page.getByRole("heading", { name: "Rehearsal is locked" })).toBeVisible();
  await check(page);
});

alone(false)("a report", async ({ page, stage }) => {
  const { after } = await twoRuns(stage);
  const wrote = await stage.command(["report", after, "-o", "report.html"]);
  expect(wrote.code, wrote.said).toBe(0);
  await page.goto(pathToFileURL(stage.path("report.html")).href);
  await expect(page.getByRole("heading", { name: "Cases" })).toBeVisible();
  await check(page);
  await page.getByRole("link", { name: "Says how many" }).click();
  await expect(page.getByText("We have none.").first()).toBeVisible();
  await check(page);
  await page
    .getByRole("link", { name: /^event \d+$/ })
    .first()
    .click();
  await expect(page.getByText("look_up").first()).toBeVisible();
  await check(page);
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
