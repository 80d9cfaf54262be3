import { rm } from "node:fs/promises";
import { expect, test } from "./fixtures";
import { call, decide, entries, entry, names, respond, sessionId, start } from "./session";

test("the query is the first entry of the timeline", async ({ page }) => {
  await start(page, "calculator", "Calculate 5 * 5 + 10");
  await expect(entries(page).first()).toHaveAccessibleName("User");
  await expect(entries(page).first()).toContainText("Calculate 5 * 5 + 10");
});

test("tools one after the other stand in their order, and the final response ends the session", async ({
  page,
  stage,
}) => {
  await start(page, "calculator", "Calculate 5 * 5 + 10");
  await call(page, "multiply", { a: "5", b: "5" });
  await call(page, "add", { a: "25", b: "10" });
  await expect
    .poll(() => names(page))
    .toEqual(["User", "Tool call multiply", "Tool output multiply", "Tool call add", "Tool output add"]);
  await expect(entry(page, "Tool output multiply")).toContainText("25");
  await expect(entry(page, "Tool output add")).toContainText("35");

  await respond(page, "The answer is 35");
  await expect(entry(page, "Final response calculator")).toContainText("The answer is 35");
  await expect(page.getByText("completed", { exact: true })).toBeVisible();
  await expect(decide(page)).toHaveCount(0);
  await expect.poll(() => names(page).then((all) => all.at(-1))).toBe("Final response calculator");
  await expect(entry(page, "Final response calculator")).toHaveCount(1);
  const session = await stage.get<{ status: string }>(`/v1/sessions/${sessionId(page)}`);
  expect(session.status).toBe("completed");
});

test("a whole session with three calls takes few clicks and keys, and no click only to write", async ({
  page,
  stage,
}) => {
  await rm(stage.path("calculator.evalset.json"), { force: true });
  const begun = Date.now();
  const counted = { clicks: 0, keys: 0 };
  const click = async (role: "button" | "link" | "radio", name: string | RegExp) => {
    counted.clicks += 1;
    await page.getByRole(role, { name }).click();
  };
  // Whoever writes has the focus where they write.
  const write = async (label: string | RegExp, text: string) => {
    await expect(page.getByRole("textbox", { name: label })).toBeFocused();
    counted.keys += text.length;
    await page.keyboard.type(text);
  };
  const press = async (key: string) => {
    counted.keys += 1;
    await page.keyboard.press(key);
  };
  await click("link", /^calculator/);
  await write("User query", "5 * 5 + 10 + 7");
  await press("Control+Enter");
  const calls = [
    ["multiply", "5", "5", "25"],
    ["add", "25", "10", "35"],
    ["add", "35", "7", "42"],
  ] as const;
  for (const [index, [tool, a, b, result]] of calls.entries()) {
    await expect(decide(page).getByText("You are the model.")).toBeVisible();
    await click("radio", tool);
    await write(/^a\b/i, a);
    await press("Tab");
    await write(/^b\b/i, b);
    await press("Enter");
    await expect(entry(page, /^Tool output/)).toHaveCount(index + 1);
    await expect(entry(page, /^Tool output/).last()).toContainText(result);
    await expect(page.locator(".decide-asks")).toBeFocused();
  }
  await click("button", "Give the final response");
  await write("Final response", "It is 42");
  await press("Control+Enter");
  await click("button", "Export");
  const golden = page.getByRole("region", { name: "Golden trace" });
  await expect(golden).toContainText("Exported as");
  await expect(golden.getByRole("button", { name: "Export once more" })).toBeFocused();
  await expect(golden).toContainText(`adk eval calculator ${stage.path("calculator.evalset.json")}`);
  const seconds = (Date.now() - begun) / 1000;
  console.log(`a whole session: ${counted.clicks} clicks, ${counted.keys} keys, ${seconds.toFixed(1)} s`);
  expect(counted.clicks).toBeLessThanOrEqual(6);
  await golden.getByRole("link", { name: "New session" }).click();
  await expect(page).toHaveURL(/\/start\?agent=calculator/);
  await expect(page.getByLabel("User query")).toBeFocused();
});

test("an empty final response is refused where it is written", async ({ page }) => {
  await start(page, "calculator", "Say something");
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
  await decide(page).getByRole("button", { name: "Send final response" }).click();
  const text = decide(page).getByLabel("Final response", { exact: true });
  await expect(text).toBeFocused();
  await expect(text).toHaveAccessibleDescription("Write what the agent responds.");
});

test("what the model sees is shown whole, before and after: instructions, conversation, tools", async ({
  page,
}) => {
  await start(page, "calculator", "What is 2 + 2?");
  await decide(page).getByRole("button", { name: "What the model sees" }).click();
  const now = page.getByRole("dialog", { name: "What the model sees" });
  await expect(now).toContainText("You are a careful calculator.");
  await expect(now.getByRole("heading", { name: "Contents (1)" })).toBeVisible();
  await now.getByRole("button", { name: "Close" }).click();
  await expect(now).toHaveCount(0);
  await call(page, "add", { a: "2", b: "2" });
  await respond(page, "4");
  await entry(page, "Final response calculator").getByRole("button", { name: "What the model saw" }).click();
  const dialog = page.getByRole("dialog", { name: "What the model saw" });
  await expect(dialog).toContainText("You are a careful calculator.");
  await expect(dialog.getByRole("heading", { name: "Contents (3)" })).toBeVisible();
  await expect(dialog).toContainText("What is 2 + 2?");
  await expect(dialog.getByRole("heading", { name: "Tools (2)" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
});

test("entries fold and unfold, one by one and all together, and each has a link", async ({ page }) => {
  await start(page, "calculator", "What is 2 + 2?");
  await call(page, "add", { a: "2", b: "2" });
  const output = entry(page, "Tool output add");
  const fold = output.getByRole("button", { expanded: true });
  await page.getByRole("button", { name: "Collapse all" }).click();
  await expect(timelineBodies(page)).toHaveCount(0);
  await page.getByRole("button", { name: "Expand all" }).click();
  await expect(fold).toHaveCount(1);
  await fold.click();
  await expect(output.locator(".entry-body")).toHaveCount(0);

  const link = output.getByRole("link", { name: /^Event #\d+$/ });
  const hash = await link.getAttribute("href");
  await link.click();
  await expect(page).toHaveURL(new RegExp(`${hash}$`));
  await expect(output).toHaveClass(/sought/);
  await page.reload();
  await expect(output).toHaveClass(/sought/);
  await expect(output).toBeInViewport();
});

const timelineBodies = (page: Parameters<typeof entries>[0]) => entries(page).locator(".entry-body");

test("a session that is kept open takes another message and is completed by hand", async ({
  page,
  stage,
}) => {
  await page
    .getByRole("region", { name: "Agents you can start" })
    .getByRole("link", { name: /^poet/ })
    .click();
  await page.getByLabel("User query").fill("First");
  await page.getByText("More settings").click();
  await page.getByLabel("Go on after the final response, for more messages").check();
  await page.getByRole("button", { name: "Start session" }).click();
  const text = decide(page).getByLabel("Final response", { exact: true });
  await text.fill("One");
  await decide(page).getByRole("button", { name: "Send final response" }).click();
  const more = page.getByRole("region", { name: "The agent has answered" });
  await more.getByLabel("User query").fill("Second");
  await more.getByRole("button", { name: "Say something more" }).click();
  await text.fill("Two");
  await decide(page).getByRole("button", { name: "Send final response" }).click();
  // What was said is not there to be said again.
  await expect(more.getByLabel("User query")).toHaveValue("");
  await more.getByRole("button", { name: "Complete the session" }).click();
  await expect(page.getByRole("region", { name: "Golden trace" })).toBeVisible();
  // The ledger has one final response: the last. What came before it are replies.
  await expect.poll(() => names(page)).toEqual(["User", "Model replied poet", "User", "Final response poet"]);
  const session = await stage.get<{ status: string }>(`/v1/sessions/${sessionId(page)}`);
  expect(session.status).toBe("completed");
});

test("past sessions are found by what they were about, and by how they ended", async ({ page }) => {
  await page
    .getByRole("region", { name: "Agents you can start" })
    .getByRole("link", { name: /^poet/ })
    .click();
  await page.getByLabel("User query").fill("A rhyme");
  await page.getByText("More settings").click();
  await page.getByLabel("Description").fill("a bittern at dawn");
  await page.getByRole("button", { name: "Start session" }).click();
  await respond(page, "Grey, on one leg");
  await page.getByRole("link", { name: "Rehearsal", exact: true }).click();
  await expect(page.getByRole("region", { name: "Past sessions" })).toContainText("a bittern at dawn");
  const all = page.locator("section", { has: page.getByLabel("Search sessions") });
  await all.getByLabel("Search sessions").fill("bittern");
  await expect(page).toHaveURL(/q=bittern/);
  await expect(all.getByRole("listitem")).toHaveCount(1);
  await expect(all.getByRole("listitem")).toContainText("a bittern at dawn");
  await all.getByLabel("Status").selectOption("active");
  await expect(page.getByRole("region", { name: "Active sessions" })).toBeVisible();
  await expect(all.getByText("No session is like that.")).toBeVisible();
  await page.reload();
  await expect(all.getByText("No session is like that.")).toBeVisible();
  await all.getByLabel("Status").selectOption("completed");
  await all.getByRole("link", { name: /a bittern at dawn/ }).click();
  await expect(entry(page, "Final response poet")).toContainText("Grey, on one leg");
});
