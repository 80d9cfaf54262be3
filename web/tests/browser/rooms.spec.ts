import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import type { Page } from "@playwright/test";
import { alone, expect, test } from "./fixtures";
import { call, choose, decide, entry, golden, pick, respond, sessionId, start } from "./session";
import type { Stage } from "./stage";
import { twoRuns } from "./suite";

/** The boxes of some elements that lie over each other. */
const overlaps = (page: Page, selector: string) =>
  page.locator(selector).evaluateAll((all) =>
    all.flatMap((parent) => {
      const boxes = [...parent.children].map((child) => child.getBoundingClientRect());
      return boxes.flatMap((a, i) =>
        boxes
          .slice(i + 1)
          .filter((b) => a.right > b.left && b.right > a.left && a.bottom > b.top && b.bottom > a.top)
          .map(() => parent.textContent),
      );
    }),
  );

/** A session whose agent runs in a program of its own, which has asked its model once. */
async function asksElsewhere(stage: Stage, contents: object[] = []): Promise<string> {
  const { id } = await stage.call<{ id: string }>("POST", "/v1/sessions", { agent: "archivist" });
  const request = { contents, tools: [], system_instruction: "You know all numbers." };
  await stage.call("PUT", `/v1/sessions/${id}/turns/${crypto.randomUUID()}`, { agent: "archivist", request });
  return id;
}

test("home on a phone: what is known of a session stands under its name, and each stands once", async ({
  page,
  stage,
}) => {
  await start(page, "poet", "A rhyme on a very long word that needs the whole line, and then another one");
  await respond(page, "Time");
  await start(page, "calculator", "A question that is long enough to need more than the line of a phone");
  const waiting = sessionId(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(stage.url);
  await expect(
    page.getByRole("region", { name: "Past sessions" }).getByRole("listitem").first(),
  ).toBeVisible();
  expect(await overlaps(page, ".list .entry, .list .entry > .row")).toEqual([]);
  await expect(page.locator(`a[href='/sessions/${waiting}']`)).toHaveCount(1);
  await expect(page.getByRole("region", { name: "Waiting for you" })).toContainText(/waiting for \d+ s/);
  await page.getByLabel("Status").selectOption("any");
  await expect(page).toHaveURL(/status=any/);
  await expect(page.locator(`a[href='/sessions/${waiting}']`)).toHaveCount(2);
});

for (const [width, height] of [
  [1280, 900],
  [1366, 768],
  [1600, 1000],
] as const) {
  test(`deciding at ${width}x${height}: the button that sends is in view`, async ({ page }) => {
    await page.setViewportSize({ width, height });
    await start(page, "clerk", "Record everything");
    await pick(page, "record");
    await page.evaluate(() => window.scrollTo(0, 0));
    await expect(decide(page).getByRole("button", { name: "Execute" })).toBeInViewport({ ratio: 1 });
    await expect(page.getByText("Fill in everything.")).toBeInViewport();
  });
}

test("the style of a room is stronger than that of its parts", async ({ page, stage }) => {
  await start(page, "calculator", "What is 5 + 3?");
  const style = (selector: string, name: string) =>
    page
      .locator(selector)
      .evaluate((element, name) => getComputedStyle(element).getPropertyValue(name), name);
  expect(await style(".instructions", "border-left-width")).toBe("4px");
  expect(await style(".decide", "border-top-color")).toBe(await style(".instructions", "border-left-color"));
  // The room of runs has been on this page too, and its styles are not for these.
  await page.goto(`${stage.url}/runs`);
  await page.goBack();
  await call(page, "add", { a: "5", b: "3" });
  expect(await style(".entry-card.output", "display")).toBe("block");
});

test("on a phone a button leads to the decision while it is out of sight", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await start(page, "calculator", "What is 5 + 3?");
  await page.evaluate(() => window.scrollTo(0, 0));
  const leads = page.getByRole("button", { name: "Your turn: decide" });
  await leads.click();
  await expect(page.getByRole("heading", { name: "Decide" })).toBeInViewport();
  await expect(page.getByRole("heading", { name: "Decide" })).toBeFocused();
  await expect(leads).toBeHidden();
});

test("what is found in a large output is in view, however far inside it is", async ({ page }) => {
  await start(page, "trouble", "Give me a lot");
  await call(page, "big", { megabytes: "3" });
  const output = entry(page, "Tool output big");
  await expect(output).toContainText(/rows: *\[ \d+ of 3000 items \]/);
  const search = output.getByLabel("Search in the output of big");
  await search.fill("row 177 ");
  await expect(output.locator("mark")).toHaveText("row 177");
  await expect(output.locator("mark")).toBeInViewport();
  await search.fill("row 2");
  await expect(output.getByRole("status")).toHaveText(/^1 of \d+ found in the part that is here$/);
  await search.press("Enter");
  await search.press("Enter");
  await expect(output.locator(".json-current mark")).toBeInViewport();

  await output.getByRole("button", { name: "Show it whole" }).click();
  const whole = page.getByRole("dialog", { name: /^Event \d+, whole$/ });
  await expect(whole).toContainText("the very end");
  await whole.getByLabel(/^Search in/).fill("row 2718 ");
  await expect(whole.locator("mark")).toHaveText("row 2718");
  await expect(whole.locator("mark")).toBeInViewport();
});

test("texts are copied as they are, and what is cut is copied whole", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const query = "Calculate 5*5*5+10 using __init__.py";
  await start(page, "trouble", query);
  await expect(entry(page, "User").locator(".prose-text")).toHaveText(query);
  await entry(page, "User").getByRole("button", { name: /^Copy/ }).click();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await expect.poll(copied).toBe(query);
  await call(page, "big", { megabytes: "3" });
  await entry(page, "Tool output big").getByRole("button", { name: /^Copy/ }).click();
  await expect(entry(page, "Tool output big")).toContainText("Copied");
  const { rows } = JSON.parse(await copied()) as { rows: unknown[] };
  expect(rows).toHaveLength(3000);
});

test("the ledger is downloaded as the server has it", async ({ page, stage }) => {
  await start(page, "poet", "Rhyme");
  await respond(page, "Time");
  const begun = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download ledger" }).click();
  const download = await begun;
  const id = sessionId(page);
  expect(download.suggestedFilename()).toBe(`${id}.jsonl`);
  const text = await readFile(await download.path(), "utf8");
  expect(text).toBe(await stage.text(`/v1/sessions/${id}/ledger`));
  expect(text.trim().split("\n")).toHaveLength((await stage.events(id)).length);
});

test("after the final response the focus is on what comes next", async ({ page }) => {
  await start(page, "poet", "Rhyme");
  await respond(page, "Time");
  await expect(golden(page).getByRole("heading")).toBeFocused();
});

alone(true)("an agent that is stopped: nobody else decided, the run failed", async ({ page, stage }) => {
  await start(page, "calculator", "What is 5 + 3?");
  await stage.endHost();
  await expect(page.getByRole("region", { name: "The run failed" })).toBeVisible();
  await expect(decide(page)).toContainText("The run ended before this was decided");
  await expect(decide(page)).not.toContainText("Somebody else");
  await expect(page.getByText("failed, waits for a message")).toBeVisible();
});

alone(true)("a run that failed is told on Home, first and with its error", async ({ page, stage }) => {
  await start(page, "calculator", "What is 5 + 3?");
  await stage.endHost();
  await expect(page.getByRole("region", { name: "The run failed" })).toBeVisible();
  const id = sessionId(page);
  // A session that is newer, and goes on.
  await stage.call("POST", "/v1/sessions", { agent: "writer", description: "later" });
  await page.getByRole("link", { name: "Rehearsal", exact: true }).click();
  const lines = page.getByRole("region", { name: "Live sessions" }).getByRole("listitem");
  await expect(lines).toHaveCount(2);
  await expect(lines.first()).toContainText("failed, waits for a message");
  const { last_error } = await stage.get<{ last_error: { type: string; message: string } }>(
    `/v1/sessions/${id}`,
  );
  await expect(lines.first()).toContainText(`${last_error.type}: ${last_error.message}`);
  await expect(lines.last()).toContainText("later");
  await expect(lines.last()).not.toContainText("failed");
  await page.getByLabel("Status").selectOption("active");
  const listed = page.getByRole("region", { name: "Active sessions" }).getByRole("listitem");
  await expect(listed.filter({ hasText: "calculator" })).toContainText("failed, waits for a message");
});

test("a failed run of a program of its own says so, and what can be done", async ({ page, stage }) => {
  const { id } = await stage.call<{ id: string }>("POST", "/v1/sessions", { agent: "archivist" });
  const told = (fields: object) => ({ event_id: crypto.randomUUID(), agent: "archivist", ...fields });
  await stage.call("POST", `/v1/sessions/${id}/events`, {
    events: [
      told({ type: "user_message", content: { parts: [{ text: "go" }] } }),
      told({ type: "run_failed", error: { type: "OSError", message: "the disk is full" } }),
    ],
  });
  await page.goto(`${stage.url}/sessions/${id}`);
  const failed = page.getByRole("region", { name: "The run failed" });
  await expect(failed).toContainText("OSError: the disk is full");
  await expect(failed).toContainText("The agent runs in its own program");
});

test("a cue that somebody dismisses is told apart from one that somebody answers", async ({
  page,
  stage,
}) => {
  const id = await asksElsewhere(stage);
  await page.goto(`${stage.url}/sessions/${id}`);
  await expect(decide(page).getByText("You are the model.")).toBeVisible();
  const { cues } = await stage.get<{ cues: { id: string }[] }>(`/v1/cues?session=${id}`);
  await stage.call("POST", `/v1/cues/${cues[0]?.id}/dismiss`);
  await expect(decide(page)).toContainText("This was put away: nobody waits for it any more.");
  await expect(decide(page)).not.toContainText("Somebody else");
});

alone(false)("a cue whose asker is gone can be dismissed on the page", async ({ page, stage }) => {
  await stage.killServer();
  await stage.serve(["--grace", "1"]);
  const id = await asksElsewhere(stage);
  await page.goto(`${stage.url}/sessions/${id}`);
  await expect(decide(page)).toContainText("The program that asks this is gone");
  await decide(page).getByRole("button", { name: "Dismiss this cue" }).click();
  await expect(entry(page, /^Cue dismissed/)).toBeVisible();
  await expect(decide(page)).toContainText("Nothing waits for you.");
  await expect(decide(page)).not.toContainText("Somebody else");
});

test("what was set for a new session survives a reload, and is gone once it has begun", async ({ page }) => {
  const ask = await choose(page, "poet");
  await ask.getByLabel("User query").fill("Rhyme");
  await ask.getByText("More settings").click();
  await ask.getByLabel("Description").fill("A test of memory");
  await ask.getByLabel("State it begins with, as JSON").fill('{"user:name": "Ada"');
  await ask.getByLabel("Go on after the final response, for more messages").check();
  await page.reload();
  await expect(ask.getByLabel("Description")).toHaveValue("A test of memory");
  await expect(ask.getByLabel("State it begins with, as JSON")).toHaveValue('{"user:name": "Ada"');
  await expect(ask.getByLabel("Go on after the final response, for more messages")).toBeChecked();
  await ask.getByLabel("State it begins with, as JSON").fill('{"user:name": "Ada"}');
  await ask.getByRole("button", { name: "Start session" }).click();
  await expect(page.getByText("A test of memory")).toBeVisible();
  await choose(page, "poet");
  await ask.getByText("More settings").click();
  await expect(ask.getByLabel("Description")).toHaveValue("");
});

test("every room has a title of its own", async ({ page, stage }) => {
  const titles: string[] = [];
  const look = async (address: string, title: string | RegExp) => {
    await page.goto(stage.url + address);
    await expect(page).toHaveTitle(title);
    titles.push(await page.title());
  };
  await start(page, "poet", "Rhyme");
  const session = sessionId(page);
  const { before, after } = await twoRuns(stage);
  await look("/", "(1) Sessions · Rehearsal");
  await look("/start", "(1) New session · Rehearsal");
  await look(`/sessions/${session}`, "(1) ● poet · Rehearsal");
  await look("/runs", "(1) Runs · Rehearsal");
  await look(`/runs/${after}`, /^\(1\) (?!Runs? ·).+ · Rehearsal$/);
  await look(`/runs/${after}/cases/1`, /^\(1\) Says .+ · Rehearsal$/);
  await look(`/runs/compare?a=${before}&b=${after}`, "(1) Two runs · Rehearsal");
  await look("/nowhere", "(1) Nothing here · Rehearsal");
  expect(new Set(titles).size).toBe(titles.length);
});

test("without its cookie the page says how to get in, and comes back to the same room", async ({
  page,
  context,
  stage,
}) => {
  await start(page, "poet", "Rhyme");
  await decide(page).getByLabel("Final response", { exact: true }).fill("half a rhyme");
  await context.clearCookies();
  // Not by a link: whatever the page asks for next finds the cookie gone, and the links with it.
  await page.evaluate(() => window.history.pushState(null, "", "/runs"));
  await expect(page.getByRole("heading", { name: "Rehearsal is locked" })).toBeVisible();
  await expect(page.getByText("Connection lost.")).toBeHidden();
  await page.goBack();
  await page.getByLabel("Token").fill(stage.token);
  await page.getByRole("button", { name: "Unlock" }).click();
  await expect(decide(page).getByLabel("Final response", { exact: true })).toHaveValue("half a rhyme");
  expect(page.url()).not.toContain(stage.token);
});

test("the runs are there though the plot cannot be loaded, and the plot when it can", async ({
  page,
  stage,
}) => {
  await twoRuns(stage);
  let broken = true;
  await page.route("**/assets/PassRate-*.js*", (route) => (broken ? route.abort() : route.fallback()));
  await page.goto(`${stage.url}/runs`);
  await expect(page.getByText("The plot could not be loaded.")).toBeVisible();
  await expect(page.getByRole("table", { name: "Runs, newest first" })).toBeVisible();
  await page.getByRole("button", { name: "Try again" }).click();
  const reload = page.getByRole("button", { name: "Reload the page" });
  await expect(reload).toBeVisible();
  broken = false;
  await reload.click();
  await expect(page.locator(".plot-card canvas")).toBeVisible();
});

test("a link to an event brings it to the middle, and what happens then is followed again", async ({
  page,
  stage,
}) => {
  await start(page, "calculator", "What is 5 + 3?");
  for (let n = 0; n < 6; n += 1) await call(page, "add", { a: String(n), b: "1" });
  const calls = (await stage.events(sessionId(page))).filter((event) => event.body.type === "tool_call");
  const seq = calls[3]?.seq ?? 0;
  await page.goto(`${page.url()}#e${seq}`);
  await page.reload();
  const card = page.locator(`#e${seq}`);
  await expect(card).toHaveClass(/sought/);
  const offCentre = () =>
    card.evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return Math.abs((top + bottom) / 2 - window.innerHeight / 2);
    });
  await expect.poll(offCentre).toBeLessThan(60);
  await page.mouse.move(300, 600);
  await page.mouse.wheel(0, 100_000);
  await call(page, "add", { a: "7", b: "1" });
  await expect(entry(page, "Tool output add").last()).toBeInViewport();
});

test("all that the page loads is less than 300 kB, compressed", async ({ page, stage }) => {
  await start(page, "clerk", "Record everything");
  await pick(page, "record");
  await twoRuns(stage);
  const loaded = new Map<string, number>();
  page.on("response", async (response) => {
    const { pathname } = new URL(response.url());
    if (!pathname.startsWith("/v1/"))
      loaded.set(pathname, gzipSync(await response.body().catch(() => Buffer.alloc(0))).length);
  });
  await page.reload();
  await expect(decide(page).getByText("You are the model.")).toBeVisible();
  await page.goto(`${stage.url}/runs`);
  await expect(page.locator(".plot-card canvas")).toBeVisible();
  const all = [...loaded.values()].reduce((sum, size) => sum + size, 0);
  expect([...loaded.keys()].filter((path) => path.endsWith(".js")).length).toBeGreaterThan(1);
  expect(all).toBeGreaterThan(50_000);
  expect(all).toBeLessThan(300_000);
});

test("a network that is off is told, wherever somebody is, and heals by itself", async ({
  page,
  context,
}) => {
  const lost = page.getByText("Connection lost. Trying again; what you typed is kept.");
  await expect(page.getByRole("heading", { name: "Sessions", exact: true })).toBeVisible();
  await context.setOffline(true);
  await expect(lost).toBeVisible();
  await page.getByRole("link", { name: "Runs" }).click();
  await expect(page.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
  await expect(lost).toBeVisible();
  await context.setOffline(false);
  await expect(lost).toHaveCount(0);
  await expect(page.getByText("Reading the runs")).toHaveCount(0);
});

test("an address that leads to no session says so, without a word on what ids look like", async ({
  page,
  stage,
}) => {
  for (const id of ["00000000-0000-0000-0000-000000000000", crypto.randomUUID(), "nonsense"]) {
    await page.goto(`${stage.url}/sessions/${id}`);
    await expect(page.getByRole("alert")).toContainText(`There is no session ${id} here.`);
    await expect(page.getByRole("main")).not.toContainText("UUID");
    await expect(page.getByRole("link", { name: "All sessions" })).toBeVisible();
  }
});
