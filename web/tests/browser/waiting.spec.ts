import { alone, expect } from "./fixtures";
import { decide, respond, sessionId, start } from "./session";

const test = alone(true);

test("what has waited longest is first, is counted in the title, and is where a decision leads", async ({
  page,
}) => {
  const first = await start(page, "poet", "Rhyme with time");
  const second = await start(page, "poet", "Rhyme with place");
  const third = await start(page, "poet", "Rhyme with hour");
  await page.getByRole("link", { name: "Rehearsal", exact: true }).click();
  await expect(page).toHaveTitle("(3) Sessions · Rehearsal");
  const waiting = page.getByRole("region", { name: "Waiting for you" }).getByRole("link");
  const places = () =>
    waiting.evaluateAll((all) => all.map((each) => each.getAttribute("href")?.split("/")[2]));
  await expect.poll(places).toEqual([first, second, third]);

  await waiting.nth(1).click();
  await expect(decide(page)).toBeVisible();
  await respond(page, "Grace");
  await expect(page).toHaveTitle(/^\(2\) poet · /);
  await page.getByRole("link", { name: /^Next waiting: poet/ }).click();
  await expect.poll(() => sessionId(page)).toBe(first);
  await respond(page, "Rhyme");
  await page.getByRole("link", { name: /^Next waiting: poet/ }).click();
  await expect.poll(() => sessionId(page)).toBe(third);
  await respond(page, "Flower");
  await expect(page.getByRole("link", { name: /^Next waiting/ })).toHaveCount(0);
  await expect(page).toHaveTitle("poet · Rehearsal");
});

test("a notification and a sound are asked for, and kept", async ({ page, context, stage }) => {
  await context.grantPermissions(["notifications"], { origin: stage.url });
  await page.evaluate(() => {
    const told: string[] = [];
    Object.assign(window, {
      told,
      Notification: class {
        static permission = "granted";
        constructor(title: string) {
          told.push(title);
        }
        close() {}
      },
    });
    document.hasFocus = () => false;
  });
  await page.locator(".bell summary").click();
  await page.getByLabel("show a notification").check();
  await page.getByLabel("play a sound").check();
  await stage.call("POST", "/v1/sessions", { agent: "poet", query: { text: "Rhyme" } });
  await expect
    .poll(() => page.evaluate(() => (window as unknown as { told: string[] }).told))
    .toEqual(["poet waits for you"]);
  await page.reload();
  await page.locator(".bell summary").click();
  await expect(page.getByLabel("show a notification")).toBeChecked();
  await expect(page.getByLabel("play a sound")).toBeChecked();
});
