import { pathToFileURL } from "node:url";
import { alone, expect } from "./fixtures";
import { entry } from "./session";
import { twoRuns } from "./suite";

const test = alone(false);

test("runs appear with their verdicts, and a case's evidence leads to the event", async ({ page, stage }) => {
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await expect(page.getByRole("heading", { name: "No run has been kept yet" })).toBeVisible();
  const { after } = await twoRuns(stage);
  const rows = page.getByRole("table", { name: "Runs, newest first" }).getByRole("row");
  // One row more: the head.
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(1)).toContainText("failed");
  await expect(rows.nth(2)).toContainText("passed");
  await rows.nth(1).getByRole("link").click();
  await expect(page).toHaveURL(new RegExp(`/runs/${after}$`));
  // What failed comes first.
  const cases = page.getByRole("table", { name: "Cases with their verdicts" }).getByRole("row");
  await expect(cases.nth(1)).toContainText("Says how many");
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download report" }).click();
  expect((await download).suggestedFilename()).toBe(`run-${after.slice(0, 8)}.html`);

  await page.getByRole("link", { name: "Says the shelf" }).click();
  const metrics = page.getByRole("listitem").filter({ hasText: "tool_called" });
  const evidence = metrics.getByRole("link", { name: /^event \d+$/ }).first();
  const seq = /\d+/.exec((await evidence.textContent()) ?? "")?.[0];
  await evidence.click();
  await expect(page).toHaveURL(new RegExp(`/sessions/[^/]+(\\?.*)?#e${seq}$`));
  const event = page.locator(`#e${seq}`);
  await expect(event).toBeInViewport();
  await expect(event).toHaveClass(/sought/);
  await expect(entry(page, "Tool call look_up")).toContainText("Dune");
});

test("two runs side by side say what changed", async ({ page, stage }) => {
  const { before, after } = await twoRuns(stage);
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  const boxes = page.getByRole("checkbox", { name: /^Compare/ });
  await expect(boxes).toHaveCount(2);
  for (const box of await boxes.all()) await box.check();
  await page.getByRole("link", { name: "Compare the two" }).click();
  await expect(page).toHaveURL(new RegExp(`a=${before}&b=${after}`));
  await expect(page.getByText("1 newly not passing")).toBeVisible();
  const broken = page.getByRole("region", { name: "Newly not passing" });
  await expect(broken).toContainText("Says how many");
  await expect(broken).not.toContainText("Says the shelf");
});

test("a report opens from its file, with everything in it and without a request", async ({
  page,
  context,
  stage,
}) => {
  const { after } = await twoRuns(stage);
  const wrote = await stage.command(["report", after, "-o", "report.html"]);
  expect(wrote.code, wrote.said).toBe(0);
  await page.close();
  const requests: string[] = [];
  const report = await context.newPage();
  report.on("request", (request) => requests.push(request.url()));
  const file = pathToFileURL(stage.path("report.html")).href;
  await report.goto(file);
  await expect(report.getByRole("heading", { name: "Cases" })).toBeVisible();
  await report.getByRole("link", { name: "Says how many" }).click();
  await expect(report.getByRole("heading", { level: 1, name: "Says how many" })).toBeVisible();
  await expect(report.getByText("We have none.").first()).toBeVisible();
  await report
    .getByRole("link", { name: /^event \d+$/ })
    .first()
    .click();
  await expect(report.getByText("look_up").first()).toBeVisible();
  expect(requests.map((url) => url.split("#")[0])).toEqual([file]);
});
