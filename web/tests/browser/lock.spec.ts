import AxeBuilder from "@axe-core/playwright";
import { alone, expect } from "./fixtures";

const test = alone(false);

test("a first visit is asked for the token, and told when it is another one", async ({ browser, stage }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const clean = async () => {
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  };
  await page.goto(`${stage.url}/runs?q=nightly`);
  await expect(page).toHaveTitle("Locked · Rehearsal");
  await expect(page.getByRole("main").getByRole("heading", { level: 1 })).toHaveText("Rehearsal is locked");
  await expect(page.getByLabel("Token")).toBeFocused();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await clean();

  await page.getByLabel("Token").fill("not-this-one");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toContainText("This is not the token of this server.");
  await expect(page).toHaveTitle("Wrong token · Rehearsal");
  await expect(page.getByLabel("Token")).toHaveValue("");
  await clean();

  await page.getByLabel("Token").fill(stage.token);
  await page.getByRole("button", { name: "Unlock" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Runs" })).toBeVisible();
  expect(page.url()).toBe(`${stage.url}/runs?q=nightly`);
  await context.close();
});
