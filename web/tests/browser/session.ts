/** What a person does in a session, and what they look at. */

import { expect, type Locator, type Page } from "@playwright/test";

export const decide = (page: Page): Locator => page.getByRole("region", { name: "Decide" });
export const timeline = (page: Page): Locator => page.getByRole("list", { name: "Events" });
export const entries = (page: Page): Locator => timeline(page).getByRole("article");
export const entry = (page: Page, name: string | RegExp): Locator =>
  timeline(page).getByRole("article", { name });
export const golden = (page: Page): Locator => page.getByRole("region", { name: "Golden trace" });

/** The session that is on the page. */
export const sessionId = (page: Page): string => new URL(page.url()).pathname.split("/")[2] ?? "";

/** From the list of agents to the form that asks it something. */
export async function choose(page: Page, agent: string): Promise<Locator> {
  await page.getByRole("link", { name: "Rehearsal", exact: true }).click();
  const agents = page.getByRole("region", { name: "Agents you can start" });
  await agents.getByRole("link", { name: new RegExp(`^${agent}`) }).click();
  const ask = page.getByRole("region", { name: `Ask ${agent}` });
  await expect(ask).toBeVisible();
  return ask;
}

/** Starts a session, and waits until the agent asks its model. */
export async function start(page: Page, agent: string, query: string): Promise<string> {
  const ask = await choose(page, agent);
  await ask.getByLabel("User query").fill(query);
  await ask.getByRole("button", { name: "Start session" }).click();
  await yourTurn(page);
  return sessionId(page);
}

/** Waits until something is to be decided. */
export async function yourTurn(page: Page): Promise<void> {
  await expect(page).toHaveURL(/\/sessions\/[^/]+$/);
  await expect(decide(page).getByText("You are the model.")).toBeVisible();
}

/** Opens the form of a tool. */
export async function pick(page: Page, tool: string): Promise<Locator> {
  await decide(page).getByRole("button", { name: "Call a tool" }).click();
  await decide(page).getByRole("radio", { name: tool, exact: true }).check();
  const form = decide(page).getByRole("group", { name: `Arguments of ${tool}`, exact: true });
  await expect(form).toBeVisible();
  return form;
}

/** Fills in fields by their labels. */
export async function fill(form: Locator, fields: { [label: string]: string }): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await field(form, label).fill(value);
}

/** A field by the name it has in the schema; its label may be a title that was made from it. */
export const field = (form: Locator, name: string): Locator =>
  form.getByRole("textbox", { name: new RegExp(`^${name.replaceAll("_", "[_ ]")}( \\(required\\))?$`, "i") });

export async function execute(page: Page): Promise<void> {
  await decide(page)
    .getByRole("button", { name: /^Execute/ })
    .click();
}

/** Calls a tool, and waits for what it gives. */
export async function call(page: Page, tool: string, fields: { [label: string]: string }): Promise<void> {
  const done = entry(page, new RegExp(`^Tool (output|error) ${tool}$`));
  const before = await done.count();
  await fill(await pick(page, tool), fields);
  await execute(page);
  await expect(done).toHaveCount(before + 1);
}

/** Sends a final response, and waits for the end of the session. */
export async function respond(page: Page, text: string): Promise<void> {
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
  await decide(page).getByLabel("Final response", { exact: true }).fill(text);
  await decide(page).getByRole("button", { name: "Send final response" }).click();
  await expect(golden(page)).toBeVisible();
}

/** What the timeline shows, top to bottom: "Tool call add", "Tool output add". */
export const names = (page: Page): Promise<(string | null)[]> =>
  entries(page).evaluateAll((all) => all.map((each) => each.getAttribute("aria-label")));
