import { expect, test } from "./fixtures";
import { call, decide, entry, sessionId, start, timeline } from "./session";

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
  await expect
    .poll(async () => (await timeline(second).textContent()) === (await timeline(page).textContent()))
    .toBe(true);
  expect(streams).toEqual([]);

  // When the tab with the stream goes, the other one takes over. What happens before its own stream is open is not
  // told to it; it looks for itself.
  const cues = () =>
    stage
      .get<{ cues: { id: string }[] }>(`/v1/cues?session=${sessionId(second)}`)
      .then(({ cues }) => cues.map((cue) => cue.id));
  await expect.poll(cues).toHaveLength(1);
  const [cue] = await cues();
  let open = () => {};
  const held = new Promise<void>((resolve) => {
    open = resolve;
  });
  await second.route("**/v1/changes", async (route) => {
    await held;
    await route.fallback();
  });
  await page.close();
  await expect.poll(() => streams.length).toBe(1);
  await stage.call("POST", `/v1/cues/${cue}/answer`, { text: "5" });
  await expect
    .poll(() => stage.get<{ status: string }>(`/v1/sessions/${sessionId(second)}`).then((it) => it.status))
    .toBe("completed");
  open();
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

test("what was typed in one tab survives an answer from another", async ({ page, context }) => {
  await start(page, "calculator", "What is 2 + 3?");
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
  await decide(page).getByLabel("Final response", { exact: true }).fill("A long essay on five");
  const second = await context.newPage();
  await second.goto(page.url());
  await call(second, "add", { a: "2", b: "3" });
  const kept = page.getByRole("region", { name: "Typed and not sent" });
  await expect(kept).toContainText("A long essay on five");
  await expect(entry(page, "Tool output add")).toContainText("5");
  await expect(decide(page).getByText("You are the model.")).toBeVisible();
  await kept.getByRole("button", { name: "Put it into this decision" }).click();
  await expect(kept).toHaveCount(0);
  await expect(decide(page).getByLabel("Final response", { exact: true })).toHaveValue(
    "A long essay on five",
  );
});

test("what was typed survives an answer by somebody else, and the end of the session", async ({
  page,
  stage,
}) => {
  const id = await start(page, "poet", "Rhyme");
  await decide(page).getByLabel("Final response", { exact: true }).fill("Half a rhyme");
  const { cues } = await stage.get<{ cues: { id: string }[] }>(`/v1/cues?session=${id}`);
  await stage.call("POST", `/v1/cues/${cues[0]?.id}/answer`, { text: "Another rhyme" });
  const kept = page.getByRole("region", { name: "Typed and not sent" });
  await expect(kept).toContainText("Half a rhyme");
  await page.reload();
  await expect(kept).toContainText("Half a rhyme");
  await kept.getByRole("button", { name: "Throw it away" }).click();
  await expect(kept).toHaveCount(0);
  await expect(page.locator("body")).not.toBeFocused();
});
