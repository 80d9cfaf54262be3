import AxeBuilder from "@axe-core/playwright";
import { expect, test } from "./fixtures";
import { call, entry, respond, start, timeline } from "./session";

test("what a tool changes of the state is shown at its result, and the state as it is beside it", async ({
  page,
}) => {
  await start(page, "painter", "Paint something");
  await call(page, "paint", { colour: "red" });
  const output = entry(page, "Tool output paint");
  await expect(output).toContainText('session.colour: "red"');
  const state = page.getByRole("region", { name: "State of session" });
  await expect(state).toContainText('"red"');
  await expect(page.getByRole("region", { name: "State of user" })).toContainText("pictures");
  await call(page, "paint", { colour: "blue" });
  await expect(output.last()).toContainText('was "red" → "blue"');
  await expect(state).toContainText('"blue"');
  await expect(state).not.toContainText('"red"');
});

test("pictures, sounds and links of a result are shown as such, and nothing is fetched", async ({
  page,
  watch,
}) => {
  await start(page, "painter", "Paint something");
  await call(page, "paint", { colour: "red" });
  const output = entry(page, "Tool output paint");
  const picture = output.getByRole("img", { name: /^Picture 1/ });
  await expect(picture).toBeVisible();
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
  await expect(output.locator("audio")).toHaveCount(1);
  // What can run, and what is elsewhere, stays text.
  await expect(output.getByRole("img")).toHaveCount(1);
  const link = output.getByRole("link", { name: "https://example.com/pictures/1" });
  await expect(link).toHaveAttribute("rel", /noopener/);
  await expect(output.locator("a[href^='javascript']")).toHaveCount(0);
  watch.check();
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);
});

test("a long session opens at its newest, with a way to the top, and all of it is searched", async ({
  page,
  stage,
}) => {
  const id = crypto.randomUUID();
  const lines = Array.from({ length: 600 }, (_, index) => {
    const seq = index + 1;
    const body =
      seq === 1
        ? { type: "session_started", version: 1, part: "main", agent: "clerk" }
        : { type: "user_message", content: { role: "user", parts: [{ text: `Message ${seq} of many` }] } };
    const at = new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();
    return JSON.stringify({ seq, session: id, at, author: "user", body });
  });
  await stage.call("POST", "/v1/ledgers", `${lines.join("\n")}\n`);
  await page.goto(`${stage.url}/sessions/${id}`);
  await expect(page.locator("#e600")).toBeInViewport();
  await page.getByRole("button", { name: "To the top", exact: true }).click();
  await expect(page.locator("#e2")).toBeInViewport();
  await page.getByRole("searchbox", { name: "Search all events" }).fill("message 300 of");
  await expect(page.getByText("1 of 1 found")).toBeVisible();
  await expect(page.locator("#e300")).toBeInViewport();
  await page.getByRole("searchbox", { name: "Search all events" }).fill("no such thing");
  await expect(page.getByText("nothing found", { exact: true })).toBeVisible();
  expect(await timeline(page).locator(":scope > li").count()).toBeLessThan(100);
});

test("durations are bars on the session's time", async ({ page }) => {
  await start(page, "calculator", "What is 1 + 2?");
  await call(page, "add", { a: "1", b: "2" });
  await respond(page, "3");
  await page.getByRole("button", { name: "Durations" }).click();
  const bars = page.getByRole("list", { name: "Durations" }).getByRole("listitem");
  await expect(bars).toHaveCount(3);
  await expect(bars.nth(1)).toContainText(/add.*ms/);
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);
  await bars.nth(1).getByRole("button", { name: "add" }).click();
  await expect(page.locator(".entry-card.sought")).toHaveAccessibleName("Tool call add");
});
