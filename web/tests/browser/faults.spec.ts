import { alone, expect, test } from "./fixtures";
import {
  call,
  decide,
  entry,
  execute,
  field,
  fill,
  names,
  pick,
  respond,
  sessionId,
  start,
  timeline,
} from "./session";

test("reload in the middle of a form keeps what was typed", async ({ page }) => {
  await start(page, "calculator", "What is 5 + 3?");
  const form = await pick(page, "add");
  await fill(form, { a: "5" });
  await page.reload();
  await expect(field(form, "a")).toHaveValue("5");
  await field(form, "b").fill("3");
  await execute(page);
  await expect(entry(page, "Tool output add")).toContainText("8");

  // Text that is not JSON yet is kept too; it is not sent before it is JSON.
  const next = await pick(page, "multiply");
  await next.getByRole("button", { name: "Raw JSON" }).click();
  const raw = next.getByLabel("Arguments of multiply, as JSON");
  await raw.fill('{"a": 8, "b');
  await page.reload();
  await expect(raw).toHaveValue('{"a": 8, "b');
  await execute(page);
  await expect(raw).toBeFocused();
  await raw.fill('{"a": 8, "b": 2}');
  await execute(page);
  await expect(entry(page, "Tool output multiply")).toContainText("16");
});

const solo = alone(true);

solo(
  "a server that is killed and comes back: the loss is shown, heals by itself, and the form is still there",
  async ({ page, stage }) => {
    await start(page, "calculator", "What is 5 + 3?");
    const form = await pick(page, "add");
    await fill(form, { a: "5" });
    await stage.killServer();
    await expect(page.getByText("Connection lost.")).toBeVisible();
    await field(form, "b").fill("3");
    await stage.serve();
    await expect(page.getByText("Connection lost.")).toBeHidden();
    await expect(field(form, "a")).toHaveValue("5");
    await expect(field(form, "b")).toHaveValue("3");
    await execute(page);
    await expect(entry(page, "Tool output add")).toContainText("8");
    await respond(page, "8");
    await expect
      .poll(() => names(page))
      .toEqual(["User", "Tool call add", "Tool output add", "Final response calculator"]);
  },
);

solo(
  "an answer that is sent while the server is away arrives once, when it is back",
  async ({ page, stage }) => {
    await start(page, "calculator", "What is 5 + 3?");
    await fill(await pick(page, "add"), { a: "5", b: "3" });
    await stage.killServer();
    await execute(page);
    await expect(
      decide(page).getByText("The server is away. This is sent as soon as it is back, once."),
    ).toBeVisible();
    await stage.serve();
    await expect(entry(page, "Tool output add")).toContainText("8");
    await respond(page, "8");
    const events = await stage.events(sessionId(page));
    expect(events.filter((event) => event.body.type === "tool_call")).toHaveLength(1);
    expect(events.filter((event) => event.body.type === "model_response")).toHaveLength(2);
  },
);

test("a tool that never returns shows a stopwatch and can be cancelled; the session goes on", async ({
  page,
  stage,
}) => {
  await start(page, "trouble", "Wait for it");
  await pick(page, "wait_forever");
  await execute(page);
  const running = page.getByRole("status", { name: "Running tools" });
  await expect(running).toContainText("wait_forever is running");
  const watch = running.getByRole("timer");
  const seconds = async () => Number.parseFloat((await watch.textContent()) ?? "");
  const before = await seconds();
  await expect.poll(seconds).toBeGreaterThan(before + 0.5);
  // Whoever comes later sees how long it has run, not how long they have looked.
  await page.reload();
  await expect.poll(seconds).toBeGreaterThan(before + 0.5);

  await running.getByRole("button", { name: "Cancel" }).click();
  await expect(entry(page, "Tool error wait_forever")).toContainText("Cancelled");
  await expect(running.getByRole("timer")).toHaveCount(0);
  await call(page, "add", { a: "1", b: "2" });
  await respond(page, "It never came");
  const result = (await stage.events(sessionId(page))).find((event) => event.body.type === "tool_result");
  expect(result?.body).toMatchObject({ outcome: { error: { type: "Cancelled" } } });
});

test("a tool that holds its thread up is cancelled at once, and what it gives late is told apart", async ({
  page,
}) => {
  await start(page, "trouble", "Sleep a little");
  await fill(await pick(page, "sleep"), { seconds: "8" });
  await execute(page);
  const running = page.getByRole("status", { name: "Running tools" });
  await running.getByRole("button", { name: "Cancel" }).click();
  await expect(entry(page, "Tool error sleep")).toContainText("Cancelled");
  await expect(entry(page, /^Late result/)).toBeVisible();
  await expect(entry(page, "Tool output sleep")).toHaveCount(0);
  await respond(page, "Enough");
});

test("two people answer the same cue: one is taken, the other is told, and nothing breaks", async ({
  page,
  newcomer,
  stage,
}) => {
  await start(page, "calculator", "What is 5 + 3?");
  const other = await newcomer();
  await other.goto(page.url());
  await fill(await pick(other, "add"), { a: "1", b: "1" });
  await fill(await pick(page, "add"), { a: "5", b: "3" });

  // The other one's page hears nothing for a while, as on a slow line: its answer goes to a cue that is taken.
  const cues = /\/v1\/(cues\?session|changes|sessions\/)/;
  await other.route(cues, (route) => route.abort());
  await execute(page);
  await expect(entry(page, "Tool output add")).toContainText("8");
  await execute(other);
  await expect(decide(other).getByRole("alert")).toContainText(/answered/i);
  await other.unroute(cues);
  await expect(entry(other, "Tool output add")).toContainText("8");
  await expect(
    decide(other).getByText("Somebody else decided this first; the timeline shows what."),
  ).toBeVisible();
  await expect(decide(other).getByText("You are the model.")).toBeVisible();
  const events = await stage.events(sessionId(page));
  expect(events.filter((event) => event.body.type === "tool_call")).toHaveLength(1);

  // The second one goes on, and now the first one is told.
  await respond(other, "8");
  await expect(entry(page, "Final response calculator")).toContainText("8");
});

for (const tool of ["page_source", "page_text"]) {
  test(`HTML, script and pictures in what ${tool} gives are only text`, async ({ page }) => {
    await start(
      page,
      "trouble",
      "<img src=x onerror='window.owned = true'> ![p](https://evil.example/q.png)",
    );
    await pick(page, tool);
    await execute(page);
    const output = entry(page, `Tool output ${tool}`);
    await expect(output).toBeVisible();
    await expect(output).toContainText(tool === "page_source" ? "<script>" : "A heading");
    await decide(page).getByRole("button", { name: "What the model sees" }).click();
    const sees = page.getByRole("dialog", { name: "What the model sees" });
    await expect(sees).toContainText("evil.example");
    await page.keyboard.press("Escape");
    await respond(page, "<b>bold</b> <script>window.owned = true</script> ![p](https://evil.example/r.png)");
    await expect(entry(page, "Final response trouble")).toBeVisible();
    await expect(timeline(page).locator("script, img, iframe, style, svg[onload], b")).toHaveCount(0);
    await expect(timeline(page).locator("a[href^='javascript:']")).toHaveCount(0);
    expect(await page.evaluate(() => "owned" in window)).toBe(false);
    await expect(page).toHaveTitle(/Rehearsal/);
  });
}
