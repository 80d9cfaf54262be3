import { expect, test } from "./fixtures";
import { call, decide, entry, start, timeline } from "./session";

test("a second tab shows the same, and both share one stream of changes", async ({
  page,
  context,
  stage,
}) => {
  await start(page, "calculator", "What is 2 + 3?");
  const second = await context.newPage();
  const streams: string[] = [];
  context.on("request", (request) => {
    if (new URL(request.url()).pathname === "/v1/changes") streams.push(request.url());
  });
  await second.goto(page.url());
  await expect(decide(second).getByText("You are the model.")).toBeVisible();
  await call(page, "add", { a: "2", b: "3" });
  await expect(entry(second, "Tool output add")).toContainText("5");
  expect(await timeline(second).textContent()).toBe(await timeline(page).textContent());
  expect(streams).toEqual([]);

  // When the tab with the stream goes, the other one takes over and hears what happens next.
  await page.close();
  await expect.poll(() => streams.length).toBe(1);
  const [cue] = (await stage.get<{ cues: { id: string }[] }>("/v1/cues")).cues;
  await stage.call("POST", `/v1/cues/${cue?.id}/answer`, { text: "5" });
  await expect(entry(second, "Final response calculator")).toContainText("5");
  expect(streams).toHaveLength(1);
});

test("a half-typed form is the same in another tab", async ({ page, context }) => {
  await start(page, "poet", "Rhyme");
  const second = await context.newPage();
  await second.goto(page.url());
  await decide(page).getByLabel("Final response", { exact: true }).fill("half a");
  await expect(decide(second).getByLabel("Final response", { exact: true })).toHaveValue("half a");
});
