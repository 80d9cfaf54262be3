import { mkdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { alone, expect, type Newcomer } from "./fixtures";
import { call, choose, decide, entry, execute, fill, golden, pick, respond, start } from "./session";
import { twoRuns } from "./suite";

/** Pictures for the guides, made when somebody wants them anew; otherwise only to be looked at. */
const HERE = dirname(fileURLToPath(import.meta.url));
const LOOKED_AT = resolve(HERE, "../../test-results/screenshots");
const GUIDES = process.env.UPDATE_SCREENSHOTS ? resolve(HERE, "../../../docs/guides/images") : LOOKED_AT;

const test = alone(true);

interface Look {
  /** Ends the names of the pictures. */
  end: string;
  open(page: Page, newcomer: Newcomer): Promise<Page>;
}

const LOOKS: Look[] = [
  { end: "", open: async (page) => page },
  {
    end: "-dark",
    open: async (page) => {
      await page.emulateMedia({ colorScheme: "dark" });
      return page;
    },
  },
  {
    end: "-phone",
    open: (_, newcomer) => newcomer({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 }),
  },
];

for (const { end, open } of LOOKS) {
  test(`pictures${end}`, async ({ page: first, newcomer, stage }) => {
    test.slow();
    await mkdir(LOOKED_AT, { recursive: true });
    await mkdir(GUIDES, { recursive: true });
    const page = await open(first, newcomer);
    const take = (folder: string, name: string) =>
      page.screenshot({ path: join(folder, `${name}${end}.png`), animations: "disabled" });
    const shot = async (name: string) => {
      // A guide speaks of nobody's folders.
      await page.evaluate(
        (folder) => {
          const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          for (let text = texts.nextNode(); text; text = texts.nextNode()) {
            if (text.nodeValue) text.nodeValue = text.nodeValue.replaceAll(folder, "/home/ada/shop");
          }
        },
        stage.path("").replace(/\/$/, ""),
      );
      await take(end === "" ? GUIDES : LOOKED_AT, name);
    };
    const look = (name: string) => take(LOOKED_AT, name);

    await start(page, "poet", "A rhyme on heron, please");
    await respond(page, "Who stands on one leg by the barren\n\ngrey water? Nobody but the *heron*.");
    await start(page, "librarian", "Something about the sea");
    await page.goto(stage.url);
    await expect(page.getByRole("region", { name: "Waiting for you" })).toBeVisible();
    await expect(page.getByRole("region", { name: "Past sessions" }).getByRole("listitem")).toHaveCount(1);
    await shot("home");

    const ask = await choose(page, "calculator");
    await ask.getByLabel("User query").fill("Calculate 5 * 5 + 10");
    await shot("start");
    await ask.getByRole("button", { name: "Start session" }).click();
    await call(page, "multiply", { a: "5", b: "5" });
    await fill(await pick(page, "add"), { a: "25", b: "10" });
    // What a picture of deciding must show.
    if (end !== "-phone") {
      const button = decide(page).getByRole("button", { name: "Execute", exact: true });
      await expect(button).toBeInViewport({ ratio: 1 });
    }
    await shot("decide");
    await execute(page);
    await expect(entry(page, "Tool output add")).toBeVisible();
    await rm(stage.path("calculator.evalset.json"), { force: true });
    await respond(page, "The answer is 35");
    await golden(page).getByRole("button", { name: "Export", exact: true }).click();
    await expect(golden(page)).toContainText("Exported as");
    await golden(page).scrollIntoViewIfNeeded();
    await shot("completed");

    await start(page, "trouble", "Fetch the page, then wait for it");
    await call(page, "fetch_data", { url: "http://nowhere.example" });
    await entry(page, "Tool error fetch_data").getByText("Traceback", { exact: true }).click();
    await look("error");
    await pick(page, "wait_forever");
    await execute(page);
    await expect(page.getByRole("timer")).toHaveText(/^[1-9]/);
    await page.getByRole("timer").scrollIntoViewIfNeeded();
    await look("running");
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await expect(entry(page, "Tool error wait_forever")).toBeVisible();

    await start(page, "clerk", "Record everything");
    await fill(await pick(page, "record"), { text: "A long form", whole: "seven" });
    await execute(page);
    await expect(decide(page).locator("[aria-invalid='true']").first()).toBeFocused();
    await look("form");
    await decide(page).getByRole("button", { name: "What the model sees" }).click();
    await expect(page.getByRole("dialog")).toBeVisible();
    await look("model-sees");

    const { before, after } = await twoRuns(stage);
    await page.goto(`${stage.url}/runs`);
    await expect(page.getByRole("table", { name: "Runs, newest first" }).getByRole("row")).toHaveCount(3);
    await expect(page.locator(".plot-card canvas")).toBeVisible();
    await shot("runs");
    await page.goto(`${stage.url}/runs/${after}`);
    await page.getByRole("link", { name: "Says how many" }).click();
    await expect(page.getByText("We have none.").first()).toBeVisible();
    await look("case");
    await page.goto(`${stage.url}/runs/compare?a=${before}&b=${after}`);
    await expect(page.getByRole("region", { name: "Newly not passing" })).toBeVisible();
    await look("compare");
  });
}

alone(false)("pictures of an empty page", async ({ page }) => {
  await mkdir(LOOKED_AT, { recursive: true });
  await expect(page.getByRole("heading", { name: "Connect an agent" })).toBeVisible();
  await page.screenshot({ path: join(LOOKED_AT, "empty.png") });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.screenshot({ path: join(LOOKED_AT, "empty-phone.png") });
});
