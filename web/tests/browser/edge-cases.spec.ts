import { readFile, rm } from "node:fs/promises";
import { expect, test } from "./fixtures";
import {
  call,
  decide,
  entries,
  entry,
  execute,
  field,
  fill,
  golden,
  names,
  pick,
  respond,
  sessionId,
  start,
} from "./session";

test("an agent without tools can only respond", async ({ page }) => {
  await start(page, "poet", "Rhyme on heron");
  await expect(decide(page).getByText("This agent has no tools; it can only respond.")).toBeVisible();
  await expect(decide(page).getByRole("button", { name: "Call a tool" })).toBeDisabled();
  await respond(page, "Baron");
  await expect.poll(() => names(page)).toEqual(["User", "Final response poet"]);
});

test("objects inside objects inside lists are forms inside forms", async ({ page, stage }) => {
  await start(page, "clerk", "Ship it");
  const form = await pick(page, "ship");
  const parcel = form.getByRole("group", { name: /^parcel\b/ });
  const sender = parcel.getByRole("group", { name: /^sender\b/ });
  await fill(sender, { name: "Ada", age: "36" });
  const place = sender.getByRole("group", { name: /^place/i });
  await expect(place.getByText("Street and number")).toBeVisible();
  await fill(place, { street: "Long Road 1", city: "Ely" });

  const receivers = parcel.getByRole("group", { name: /^receivers/i });
  await receivers.getByRole("button", { name: /^Add an item/ }).click();
  const first = receivers.getByRole("listitem").first();
  await fill(first, { name: "Bob", age: "40", street: "Short Road 2", city: "York" });
  await receivers.getByRole("button", { name: /^Add another/ }).click();
  await receivers.getByRole("button", { name: "Remove item 2" }).click();
  await execute(page);
  await expect(entry(page, "Tool output ship")).toBeVisible();
  const called = (await stage.events(sessionId(page))).find((event) => event.body.type === "tool_call");
  expect(called?.body.args).toEqual({
    parcel: {
      sender: { name: "Ada", age: 36, place: { street: "Long Road 1", city: "Ely" } },
      receivers: [{ name: "Bob", age: 40, place: { street: "Short Road 2", city: "York" } }],
    },
  });
});

test("two objects of one class are told apart by their names", async ({ page, stage }) => {
  await start(page, "clerk", "Move it");
  const form = await pick(page, "move");
  await fill(form.getByRole("group", { name: /^start\b/ }), { street: "Long Road 1", city: "Ely" });
  await fill(form.getByRole("group", { name: /^end\b/ }), { street: "Short Road 2", city: "York" });
  await execute(page);
  await expect(entry(page, "Tool output move")).toContainText("from Ely to York");
  const called = (await stage.events(sessionId(page))).find((event) => event.body.type === "tool_call");
  expect(called?.body.args).toEqual({
    start: { street: "Long Road 1", city: "Ely" },
    end: { street: "Short Road 2", city: "York" },
  });
});

test("a result of 10 MB is shortened on the page, whole on demand, and whole in the export", async ({
  page,
  stage,
}) => {
  test.slow();
  const file = "trouble.evalset.json";
  await rm(stage.path(file), { force: true });
  await start(page, "trouble", "Give me a lot");
  await fill(await pick(page, "big"), { megabytes: "10" });
  await execute(page);
  const output = entry(page, "Tool output big");
  await expect(output.getByText("This is large, and only a part of it is here.")).toBeVisible({
    timeout: 60_000,
  });
  expect(await page.content().then((html) => html.length)).toBeLessThan(500_000);

  // The page stays usable: the next decision is there, and whole is whole.
  await output.getByRole("button", { name: "Show it whole" }).click();
  const whole = page.getByRole("dialog", { name: /^Event \d+, whole$/ });
  await expect(whole.getByText("the very end")).toBeVisible({ timeout: 30_000 });
  await whole.getByRole("button", { name: /^rows: \[ 10000 items \]/ }).click();
  await expect(whole.getByRole("button", { name: "100 more of 9980" })).toBeVisible();
  await whole.getByRole("searchbox").fill("row 9999 ");
  await expect(whole.getByText("1 found")).toBeVisible();
  expect(await page.content().then((html) => html.length)).toBeLessThan(2_000_000);
  await whole.getByRole("button", { name: "Close" }).click();

  await call(page, "add", { a: "1", b: "1" });
  await respond(page, "It was a lot");
  await golden(page).getByRole("button", { name: "Export", exact: true }).click();
  await expect(golden(page)).toContainText("Exported as", { timeout: 60_000 });
  const text = await readFile(stage.path(file), "utf8");
  const set = JSON.parse(text);
  const [big] = set.eval_cases[0].conversation[0].intermediate_data.tool_responses;
  expect(big.response.rows).toHaveLength(10_000);
  expect(big.response.rows[9999].text).toHaveLength("row 9999 ".length + 985);
  expect(big.response.last).toBe("the very end");
});

test("closing the tab loses nothing: the session waits where it was", async ({ page, context, stage }) => {
  const session = await start(page, "calculator", "Calculate 5 * 5 + 10");
  await call(page, "multiply", { a: "5", b: "5" });
  await fill(await pick(page, "add"), { a: "25" });
  await page.close();

  const again = await context.newPage();
  await again.goto(stage.url);
  const waiting = again.getByRole("region", { name: "Waiting for you" });
  await waiting.getByRole("link", { name: /calculator/ }).click();
  await expect(again).toHaveURL(new RegExp(session));
  await expect(entries(again)).toHaveCount(3);
  const form = decide(again).getByRole("group", { name: "Arguments of add", exact: true });
  await expect(field(form, "a")).toHaveValue("25");
  await field(form, "b").fill("10");
  await execute(again);
  await expect(entry(again, "Tool output add")).toContainText("35");
});

test("several calls go out as one model turn", async ({ page, stage }) => {
  await start(page, "calculator", "1 + 2 and 3 * 4");
  await fill(await pick(page, "add"), { a: "1", b: "2" });
  await decide(page).getByRole("button", { name: "Add another call" }).click();
  const ready = decide(page).getByRole("region", { name: "Calls that are ready" });
  await expect(ready.getByRole("listitem")).toHaveCount(1);
  // The same tool once more, and another one.
  await fill(await pick(page, "add"), { a: "10", b: "20" });
  await decide(page).getByRole("button", { name: "Add another call" }).click();
  await expect(ready.getByRole("listitem")).toHaveCount(2);
  await fill(await pick(page, "multiply"), { a: "3", b: "4" });
  await decide(page).getByRole("button", { name: "Execute 3 calls" }).click();
  await expect(entry(page, "Tool output add")).toHaveCount(2);
  await expect(entry(page, "Tool output multiply")).toContainText("12");
  const events = await stage.events(sessionId(page));
  const calls = events.filter((event) => event.body.type === "tool_call");
  expect(calls.map((event) => [event.body.tool, event.body.args])).toEqual([
    ["add", { a: 1, b: 2 }],
    ["add", { a: 10, b: 20 }],
    ["multiply", { a: 3, b: 4 }],
  ]);
  expect(new Set(calls.map((event) => event.turn)).size).toBe(1);
  expect(events.filter((event) => event.body.type === "model_response")).toHaveLength(1);
});

test("a call that is looked at again keeps its place", async ({ page, stage }) => {
  await start(page, "calculator", "Three sums");
  const add = decide(page).getByRole("button", { name: "Add another call" });
  for (const a of ["1", "2", "3"]) {
    await fill(await pick(page, "add"), { a, b: "0" });
    await add.click();
    // Whoever goes on by keyboard chooses the next tool.
    await expect(decide(page).getByRole("radio").first()).toBeFocused();
  }
  const ready = decide(page).getByRole("region", { name: "Calls that are ready" });
  const form = decide(page).getByRole("group", { name: "Arguments of add", exact: true });
  await ready.getByRole("button", { name: "Edit" }).first().click();
  await expect(field(form, "a")).toBeFocused();
  await expect(field(form, "a")).toHaveValue("1");
  await expect(ready.getByRole("listitem").first()).toContainText("is in the form below");
  await field(form, "a").fill("10");
  // Another one is opened in between.
  await ready.getByRole("button", { name: "Edit" }).last().click();
  await expect(field(form, "a")).toHaveValue("3");
  await expect(ready.getByRole("listitem").first()).toContainText("10");
  await field(form, "a").fill("30");
  await add.click();
  await ready.getByRole("button", { name: "Edit" }).nth(1).click();
  await page.reload();
  await expect(field(form, "a")).toHaveValue("2");
  await decide(page).getByRole("button", { name: "Execute 3 calls" }).click();
  await expect(entry(page, "Tool output add")).toHaveCount(3);
  const events = await stage.events(sessionId(page));
  const calls = events.filter((event) => event.body.type === "tool_call");
  expect(calls.map((event) => (event.body.args as { a: number }).a)).toEqual([10, 2, 30]);
});
