import { expect, test } from "./fixtures";
import { call, choose, decide, entry, execute, field, fill, names, pick, sessionId, start } from "./session";

test("add of 5 and 3 shows 8 in the timeline, and the real tool gave it", async ({ page, stage }) => {
  await start(page, "calculator", "What is 5 + 3?");
  const form = await pick(page, "add");
  await expect(decide(page).getByText("Adds two whole numbers.")).toBeVisible();
  await fill(form, { a: "5", b: "3" });
  await execute(page);

  const output = entry(page, "Tool output add");
  await expect(output).toContainText("8");
  await expect(output.getByTitle("How long it took")).toBeVisible();
  await expect.poll(() => names(page)).toEqual(["User", "Tool call add", "Tool output add"]);

  // The ledger has the call as a person decided it, and the result as ADK recorded it.
  const events = await stage.events(sessionId(page));
  const called = events.find((event) => event.body.type === "tool_call");
  expect(called?.body).toMatchObject({ tool: "add", args: { a: 5, b: 3 } });
  const result = events.find((event) => event.body.type === "tool_result");
  expect(result?.body).toMatchObject({ tool: "add", outcome: { output: { result: 8 } } });
});

test("search asks for a required query, and shows the limit's default without sending it", async ({
  page,
  stage,
}) => {
  await start(page, "librarian", "Find me a book about rust");
  const form = await pick(page, "search");
  const query = field(form, "query");
  await expect(query).toHaveAttribute("aria-required", "true");
  const limit = field(form, "limit");
  await expect(limit).not.toHaveAttribute("aria-required", "true");
  await expect(limit).toHaveAttribute("inputmode", "numeric");
  await expect(limit).toHaveAttribute("placeholder", "10");
  await expect(limit).toHaveValue("");

  // Without the query nothing runs, and the message stands at its field.
  await execute(page);
  await expect(query).toHaveAttribute("aria-invalid", "true");
  await expect(query).toBeFocused();
  await expect(query).toHaveAccessibleDescription(/required|missing|needed/i);
  expect((await stage.events(sessionId(page))).some((event) => event.body.type === "tool_call")).toBe(false);

  await query.fill("rust");
  await execute(page);
  const output = entry(page, "Tool output search");
  await expect(output).toContainText("Rust, volume 10");
  const called = (await stage.events(sessionId(page))).find((event) => event.body.type === "tool_call");
  expect(called?.body.args).toEqual({ query: "rust" });
});

test("a limit that somebody types is sent as a number", async ({ page, stage }) => {
  await start(page, "librarian", "Two books, please");
  await call(page, "search", { query: "sql", limit: "2" });
  const called = (await stage.events(sessionId(page))).find((event) => event.body.type === "tool_call");
  expect(called?.body.args).toEqual({ query: "sql", limit: 2 });
});

test("a choice between json and xml is a dropdown with the two", async ({ page, stage }) => {
  await start(page, "librarian", "As XML");
  const form = await pick(page, "convert");
  const format = form.getByRole("combobox", { name: /^format/i });
  await expect(format.getByRole("option")).toHaveText(["Choose…", "json", "xml"]);
  await field(form, "text").fill("hello");
  await format.selectOption("xml");
  await execute(page);
  await expect(entry(page, "Tool output convert")).toContainText("<text>hello</text>");
  const called = (await stage.events(sessionId(page))).find((event) => event.body.type === "tool_call");
  expect(called?.body.args).toEqual({ text: "hello", format: "xml" });
});

test("the instructions are in sight and can be folded away", async ({ page }) => {
  await start(page, "calculator", "What is 1 + 1?");
  const words = page.getByText("Never count in your head.");
  await expect(words).toBeVisible();
  await page.getByRole("heading", { name: "Instructions" }).click();
  await expect(words).toBeHidden();
});

test("what is sent can be seen and changed as JSON, and both views say the same", async ({ page, stage }) => {
  await start(page, "calculator", "What is 20 + 22?");
  const form = await pick(page, "add");
  await fill(form, { a: "20" });
  await form.getByRole("button", { name: "Raw JSON" }).click();
  const raw = form.getByLabel("Arguments of add, as JSON");
  await expect(raw).toHaveValue(JSON.stringify({ a: 20 }, null, 2));
  await raw.fill('{"a": 20, "b": 2');
  await expect(form.getByRole("button", { name: "Form", exact: true })).toBeDisabled();
  await raw.fill('{"a": 20, "b": 22}');
  await form.getByRole("button", { name: "Form", exact: true }).click();
  await expect(field(form, "b")).toHaveValue("22");
  await execute(page);
  await expect(entry(page, "Tool output add")).toContainText("42");
  const called = (await stage.events(sessionId(page))).find((event) => event.body.type === "tool_call");
  expect(called?.body.args).toEqual({ a: 20, b: 22 });
});

test("an agent is chosen once, among those that are there", async ({ page }) => {
  await choose(page, "calculator");
  const chosen = page.getByRole("group", { name: "Which agent do you play?" });
  await expect(chosen.getByRole("radio", { name: /^calculator/ })).toBeChecked();
  await chosen.getByRole("radio", { name: /^poet/ }).check();
  await expect(page).toHaveURL(/agent=poet/);
  await page.reload();
  await expect(chosen.getByRole("radio", { name: /^poet/ })).toBeChecked();
  await page.getByLabel("User query").fill("Rhyme");
  await page.getByRole("button", { name: "Start session" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "poet" })).toBeVisible();
  await expect(decide(page).getByText("You are the model.")).toBeVisible();
  await expect(page.getByRole("group", { name: "Which agent do you play?" })).toHaveCount(0);
});
