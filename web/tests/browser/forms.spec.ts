import { expect, test } from "./fixtures";
import { decide, entry, execute, field, fill, pick, sessionId, start } from "./session";

test("every type of field arrives in the tool exactly as it was entered", async ({ page, stage }) => {
  await start(page, "clerk", "Record everything");
  const form = await pick(page, "record");
  await expect(form.getByText("Street and number")).toBeVisible();
  await fill(form, { text: 'Ünïcode "quoted" 漢字 🦩', whole: "-7", real: "2.50" });
  await form.getByRole("checkbox", { name: /^yes/i }).check();
  const colour = form.getByRole("combobox", { name: /^colour/i });
  await expect(colour.getByRole("option")).toHaveText(["Choose…", "red", "green", "blue"]);
  await colour.selectOption("green");

  const words = form.getByRole("group", { name: /^words/i });
  for (const [index, word] of ["one", "", "three"].entries()) {
    await words.getByRole("button", { name: /^Add/ }).click();
    await words.getByRole("textbox").nth(index).fill(word);
  }
  await words.getByRole("button", { name: "Remove item 2" }).click();
  await words.getByRole("button", { name: "Move item 2 up" }).click();
  const numbers = form.getByRole("group", { name: /^numbers/i });
  for (const [index, number] of ["0", "10"].entries()) {
    await numbers.getByRole("button", { name: /^Add/ }).click();
    await numbers.getByRole("textbox").nth(index).fill(number);
  }
  await fill(form.getByRole("group", { name: /^place/i }), { street: "Long Road 1", city: "Ely" });
  await execute(page);

  await expect(entry(page, "Tool output record")).toBeVisible();
  const events = await stage.events(sessionId(page));
  const entered = {
    text: 'Ünïcode "quoted" 漢字 🦩',
    whole: -7,
    real: 2.5,
    yes: true,
    colour: "green",
    words: ["three", "one"],
    numbers: [0, 10],
    place: { street: "Long Road 1", city: "Ely" },
  };
  // What nobody touched is not among the arguments; the tool's own defaults hold.
  expect(events.find((event) => event.body.type === "tool_call")?.body.args).toEqual(entered);
  const result = events.find((event) => event.body.type === "tool_result")?.body as unknown as {
    outcome: { output: { arrived: object; types: object } };
  };
  expect(result.outcome.output.arrived).toEqual({ ...entered, note: null, loud: false });
  expect(result.outcome.output.types).toEqual({
    text: "str",
    whole: "int",
    real: "float",
    yes: "bool",
    colour: "str",
    words: "list",
    numbers: "list",
    place: "dict",
    note: "NoneType",
    loud: "bool",
  });
});

test("what does not fit is refused at its field, before anything runs", async ({ page, stage }) => {
  await start(page, "clerk", "Record something wrong");
  const form = await pick(page, "record");
  await field(form, "whole").fill("1.5");
  await execute(page);
  await expect(form.locator("[aria-invalid='true']").first()).toBeFocused();
  for (const name of ["text", "whole", "real"]) {
    await expect(field(form, name)).toHaveAttribute("aria-invalid", "true");
    await expect(field(form, name)).toHaveAccessibleDescription(/\w/);
  }
  await expect(form.getByRole("combobox", { name: /^colour/i })).toHaveAttribute("aria-invalid", "true");
  // Nobody has said yes or no.
  await expect(form.getByRole("checkbox", { name: /^yes/i })).toHaveAttribute("aria-invalid", "true");
  await expect(decide(page).getByText("You are the model.")).toBeVisible();
  expect((await stage.events(sessionId(page))).some((event) => event.body.type === "tool_call")).toBe(false);

  // By the button it is said which fields they are, each of which can be gone to.
  const attention = decide(page).getByRole("alert");
  await expect(attention).toBeInViewport();
  await expect(attention).toContainText("9 fields need attention: text, real, yes, colour, words and 4 more");
  await attention.getByRole("button", { name: "real" }).click();
  await expect(field(form, "real")).toBeFocused();

  // A message goes as soon as its field is right.
  await field(form, "whole").fill("2");
  await expect(field(form, "whole")).not.toHaveAttribute("aria-invalid", "true");
});

test("a map that must be there is asked for, and can be empty for whoever says so", async ({
  page,
  stage,
}) => {
  await start(page, "clerk", "Label it");
  const form = await pick(page, "label");
  await form.getByRole("combobox", { name: "Kind of code" }).selectOption({ index: 1 });
  await form.getByRole("textbox", { name: /^code/ }).fill("7");
  await execute(page);
  await expect(decide(page).getByRole("alert")).toHaveText("1 field needs attention: counts");
  const counts = form.getByRole("group", { name: /^counts\b/ });
  await expect(counts.getByLabel("New field")).toBeFocused();
  await counts.getByRole("button", { name: "Use an empty object: counts" }).click();
  await execute(page);
  await expect(entry(page, "Tool output label")).toBeVisible();
  const called = (await stage.events(sessionId(page))).find((event) => event.body.type === "tool_call");
  expect(called?.body.args).toMatchObject({ counts: {} });
});

test("a list that must be there is asked for, with the focus where it can be given", async ({ page }) => {
  await start(page, "clerk", "Sort them");
  const form = await pick(page, "sort");
  await execute(page);
  await expect(decide(page).getByRole("alert")).toHaveText("1 field needs attention: words");
  await expect(form.getByRole("button", { name: "Add an item to words" })).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.type("heron");
  await page.keyboard.press("Enter");
  await expect(entry(page, "Tool output sort")).toContainText("heron");
});

test("one of several kinds, fields with names of one's own, and null", async ({ page, stage }) => {
  await start(page, "clerk", "Label it");
  const form = await pick(page, "label");
  const code = form.getByRole("group", { name: /^code\b/ });
  await code.getByRole("combobox", { name: "Kind of code" }).selectOption("Text");
  await code.getByRole("textbox").fill("A-7");

  const counts = form.getByRole("group", { name: /^counts\b/ });
  for (const [name, count] of [
    ["pears", "3"],
    ["plums", "4"],
  ] as const) {
    await counts.getByLabel("New field").fill(name);
    await counts.getByRole("button", { name: "Add field" }).click();
    await counts.getByRole("textbox", { name: new RegExp(`^${name}`) }).fill(count);
  }
  await counts.getByRole("textbox", { name: "Name", exact: true }).first().fill("apples");
  await form.getByRole("button", { name: "Set to null: note" }).click();

  const target = form.getByRole("group", { name: /^target\b/ });
  const kind = target.getByRole("combobox", { name: "Kind of target" });
  await expect(kind.getByRole("option")).toHaveText(["Not set", "Person", "Place"]);
  await kind.selectOption("Place");
  await fill(target, { street: "Long Road 1", city: "Ely" });
  await execute(page);

  await expect(entry(page, "Tool output label")).toBeVisible();
  const events = await stage.events(sessionId(page));
  const entered = {
    code: "A-7",
    counts: { apples: 3, plums: 4 },
    note: null,
    target: { street: "Long Road 1", city: "Ely" },
  };
  expect(events.find((event) => event.body.type === "tool_call")?.body.args).toEqual(entered);
  const result = events.find((event) => event.body.type === "tool_result")?.body;
  expect(result).toMatchObject({ outcome: { output: entered } });
});

test("a tool that takes nothing says so, and runs", async ({ page, stage }) => {
  await start(page, "trouble", "Take nothing");
  const form = await pick(page, "page_text");
  await expect(form.getByText("There is nothing to fill in.")).toBeVisible();
  await expect(form.getByRole("textbox")).toHaveCount(0);
  await execute(page);
  await expect(entry(page, "Tool output page_text")).toBeVisible();
  const called = (await stage.events(sessionId(page))).find((event) => event.body.type === "tool_call");
  expect(called?.body.args).toEqual({});
});

test("JSON that is half typed into a field is there after a look at another tool, and after a reload", async ({
  page,
}) => {
  await start(page, "clerk", "Keep it");
  const half = '{"a": [1, 2';
  const form = await pick(page, "keep");
  await field(form, "anything").fill(half);
  await field(form, "name").fill("x");
  await pick(page, "move");
  await expect(field(await pick(page, "keep"), "anything")).toHaveValue(half);
  await page.reload();
  await expect(field(form, "anything")).toHaveValue(half);
  await expect(field(form, "name")).toHaveValue("x");
  await execute(page);
  await expect(field(form, "anything")).toBeFocused();
  await field(form, "anything").fill('{"a": [1, 2]}');
  await execute(page);
  await expect(entry(page, "Tool output keep")).toBeVisible();
});

test("an empty list and an empty text can be given at once", async ({ page, stage }) => {
  await start(page, "clerk", "Nothing");
  const form = await pick(page, "sort");
  await form.getByRole("button", { name: "Use an empty list: words" }).click();
  await execute(page);
  await expect(entry(page, "Tool output sort")).toBeVisible();
  const called = (await stage.events(sessionId(page))).find((event) => event.body.type === "tool_call");
  expect(called?.body.args).toEqual({ words: [] });

  const other = await pick(page, "keep");
  await field(other, "anything").fill("7");
  await other.getByRole("button", { name: "Use empty text: name" }).click();
  await execute(page);
  await expect(entry(page, "Tool output keep")).toBeVisible();
  const calls = (await stage.events(sessionId(page))).filter((event) => event.body.type === "tool_call");
  expect(calls.at(-1)?.body.args).toEqual({ anything: 7, name: "" });
});
