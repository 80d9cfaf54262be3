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
  // A box has no third state to be missing in: a required one is no until somebody says yes.
  await expect(form.getByRole("checkbox", { name: /^yes/i })).not.toBeChecked();
  await expect(decide(page).getByText("You are the model.")).toBeVisible();
  expect((await stage.events(sessionId(page))).some((event) => event.body.type === "tool_call")).toBe(false);

  // By the button it is said which fields they are, each of which can be gone to.
  const attention = form.getByRole("alert");
  await expect(attention).toContainText(
    "8 fields need attention: text, real, colour, words, numbers and 3 more",
  );
  await attention.getByRole("button", { name: "real" }).click();
  await expect(field(form, "real")).toBeFocused();

  // A message goes as soon as its field is right.
  await field(form, "whole").fill("2");
  await expect(field(form, "whole")).not.toHaveAttribute("aria-invalid", "true");
});

test("a list that must be there is asked for, with the focus where it can be given", async ({ page }) => {
  await start(page, "clerk", "Sort them");
  const form = await pick(page, "sort");
  await execute(page);
  await expect(form.getByRole("alert")).toHaveText("1 field needs attention: words");
  await expect(form.getByRole("button", { name: "Add an item to words" })).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.type("heron");
  await page.keyboard.press("Enter");
  await expect(entry(page, "Tool output sort")).toContainText("heron");
});
