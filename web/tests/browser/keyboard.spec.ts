import { rm } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { decide, entry, field, fill, golden, pick, sessionId, start } from "./session";

/** Goes on with Tab, as a person does, until what is wanted has the focus. */
async function tabTo(page: Page, role: string, name: RegExp, back = false): Promise<void> {
  const passed: string[] = [];
  for (let step = 0; step < 80; step += 1) {
    const focused = page.locator(":focus");
    if (await focused.count()) {
      const [said] = (await focused.ariaSnapshot({ timeout: 5_000 })).split("\n");
      passed.push(said ?? "");
      const found = /^- (\w+)(?: "((?:[^"\\]|\\.)*)")?/.exec(said ?? "");
      if (found?.[1] === role && name.test(found[2] ?? "")) return;
    }
    await page.keyboard.press(back ? "Shift+Tab" : "Tab");
  }
  throw new Error(`Tab did not come to ${role} ${name}; it came by\n${passed.join("\n")}`);
}

test("a whole session by keyboard alone: agent, query, tool, fields, final response, export", async ({
  page,
  stage,
}) => {
  await rm(stage.path("calculator.evalset.json"), { force: true });
  const press = (key: string) => page.keyboard.press(key);
  const type = (text: string) => page.keyboard.type(text);

  // Tab has nowhere to go before the page is there.
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  // The first stop of Tab leads past the navigation.
  await press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  await press("Enter");

  await tabTo(page, "link", /^New session/, true);
  await press("Enter");
  await expect(page.getByRole("heading", { name: "New session" })).toBeVisible();
  await tabTo(page, "radio", /^calculator/);
  await press("Space");
  await expect(page).toHaveURL(/agent=calculator/);
  await press("ArrowDown");
  await expect(page).toHaveURL(/agent=clerk/);
  await press("ArrowUp");
  await expect(page).toHaveURL(/agent=calculator/);
  await tabTo(page, "textbox", /^User query/);
  await type("What is 20 + 22?");
  await tabTo(page, "button", /^Start session/);
  await press("Enter");

  await expect(page.getByText("You are the model.")).toBeVisible();
  await tabTo(page, "radio", /^add$/);
  await press("Space");
  await tabTo(page, "textbox", /^a\b/i);
  await type("20");
  await tabTo(page, "textbox", /^b\b/i);
  await type("22");
  // Enter in a field sends the form, as everywhere.
  await press("Enter");
  await expect(entry(page, "Tool output add")).toContainText("42");

  // The focus is at what comes next, not at the top of the page.
  await expect(page.locator(".decide-asks")).toBeFocused();
  await tabTo(page, "button", /^Give the final response/);
  await press("Space");
  // Choosing it leads to what is to be written.
  await expect(page.getByLabel("Final response", { exact: true })).toBeFocused();
  await type("The answer is 42");
  await tabTo(page, "button", /^Send final response/);
  await press("Enter");
  await expect(golden(page)).toBeVisible();

  await tabTo(page, "button", /^Export$/);
  await press("Enter");
  await expect(golden(page)).toContainText("Exported as");
  await expect(page.getByRole("button", { name: "Export once more" })).toBeFocused();
  const set = await stage.readJson<{ eval_cases: unknown[] }>("calculator.evalset.json");
  expect(set.eval_cases).toHaveLength(1);
});

test("Enter sends from a line, goes on from a tool's name, and is a new line only in several", async ({
  page,
  stage,
}) => {
  const press = (key: string) => page.keyboard.press(key);
  await start(page, "librarian", "As XML");
  const calls = async () =>
    (await stage.events(sessionId(page))).filter((event) => event.body.type === "tool_call");
  const convert = decide(page).getByRole("radio", { name: "convert" });
  await convert.focus();
  await press("Enter");
  const form = decide(page).getByRole("group", { name: "Arguments of convert", exact: true });
  await expect(field(form, "text")).toBeFocused();
  // Once more, with the form filled in: still nothing runs.
  await form.getByRole("combobox", { name: /^format/ }).selectOption("xml");
  await field(form, "text").fill("one");
  await convert.focus();
  await press("Enter");
  await expect(field(form, "text")).toBeFocused();
  expect(await calls()).toHaveLength(0);

  await press("End");
  await press("Shift+Enter");
  await page.keyboard.type("two");
  await press("Enter");
  await page.keyboard.type("three");
  await expect(field(form, "text")).toHaveValue("one\ntwo\nthree");
  await press("Control+Enter");
  await expect(entry(page, "Tool output convert")).toBeVisible();
  expect((await calls())[0]?.body.args).toEqual({ text: "one\ntwo\nthree", format: "xml" });

  // From a line, and from a list to choose from.
  await fill(await pick(page, "search"), { query: "herons" });
  await field(decide(page), "query").press("Enter");
  await expect(entry(page, "Tool output search")).toHaveCount(1);
  const again = await pick(page, "search");
  await fill(again, { query: "storks" });
  await again.getByRole("combobox", { name: /^format/ }).focus();
  await press("Control+Enter");
  await expect(entry(page, "Tool output search")).toHaveCount(2);
  expect(await calls()).toHaveLength(3);
});

test("an answer that is refused has the focus, and can be sent again", async ({ page }) => {
  await start(page, "librarian", "Refuse it");
  await fill(await pick(page, "search"), { query: "herons" });
  await page.route("**/v1/cues/*/answer", (route) =>
    route.fulfill({
      status: 422,
      contentType: "application/json",
      body: JSON.stringify({ error: { code: "invalid", message: "the answer does not fit" } }),
    }),
  );
  await field(decide(page), "query").press("Enter");
  await expect(decide(page).getByRole("alert")).toBeVisible();
  await expect(page.locator(":focus").getByRole("alert")).toBeVisible();
  await page.unroute("**/v1/cues/*/answer");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Control+Enter");
  await expect(entry(page, "Tool output search")).toBeVisible();
});

test("removing calls that are ready leaves the focus among them", async ({ page }) => {
  await start(page, "calculator", "Two sums");
  for (const a of ["1", "2"]) {
    await fill(await pick(page, "add"), { a, b: "0" });
    await decide(page).getByRole("button", { name: "Add another call" }).click();
  }
  const remove = decide(page).getByRole("button", { name: "Remove" });
  // A browser that is busy, or that nobody looks at, draws when it comes to it; the next key does not wait for that.
  await page.evaluate(() => {
    window.requestAnimationFrame = () => 0;
  });
  await remove.last().focus();
  await page.keyboard.press("Enter");
  await expect(remove).toHaveCount(1);
  await expect(remove).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(decide(page).getByRole("radio").first()).toBeFocused();
});

test("dialogs take the focus and give it back", async ({ page }) => {
  await page.getByRole("link", { name: "New session" }).click();
  await page.getByRole("radio", { name: /^calculator/ }).check();
  await page.getByLabel("User query").fill("1 + 1");
  await page.getByLabel("User query").press("Control+Enter");
  const opener = page.getByRole("button", { name: "What the model sees" });
  await opener.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "What the model sees" });
  await expect(dialog.locator(":focus")).toHaveCount(1);
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(opener).toBeFocused();
});
