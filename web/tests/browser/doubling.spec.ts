import { expect, test } from "./fixtures";
import { decide, execute, pick } from "./session";

type Schema = Record<string, unknown>;

/** A definition for each of thirty levels, each naming the one below it twice. */
function doubling(make: (below: Schema) => Schema): Schema {
  const $defs: Schema = { L0: { type: "string" } };
  for (let level = 1; level <= 30; level += 1) $defs[`L${level}`] = make({ $ref: `#/$defs/L${level - 1}` });
  return { type: "object", properties: { arg: { $ref: "#/$defs/L30" } }, required: ["arg"], $defs };
}

const both = (below: Schema): Schema => ({ type: "object", properties: { a: below, b: below } });

const TOOLS = [
  { name: "optional", parameters: doubling(both) },
  { name: "required", parameters: doubling((below) => ({ ...both(below), required: ["a", "b"] })) },
  { name: "all_of", parameters: doubling((below) => ({ allOf: [below, below] })) },
];

test("schemas that double at each level leave the page usable", async ({ page, stage }) => {
  const { id } = await stage.call<{ id: string }>("POST", "/v1/sessions", { agent: "digger" });
  await stage.call("PUT", `/v1/sessions/${id}/turns/${crypto.randomUUID()}`, {
    agent: "digger",
    request: { contents: [{ role: "user", parts: [{ text: "dig" }] }], tools: TOOLS },
  });
  await page.goto(`${stage.url}/sessions/${id}`);

  // As many fields as fit on a page, and one more level where it is asked for.
  const deep = await pick(page, "required");
  const add = deep.getByRole("button", { name: "Add a", exact: true });
  const before = await add.count();
  expect(before).toBeGreaterThan(0);
  await add.first().click();
  await expect.poll(() => add.count()).toBeGreaterThan(before);

  // What cannot be drawn is written, and says so.
  const heavy = await pick(page, "all_of");
  await expect(heavy).toContainText("The form of this schema cannot be drawn. Write the value as JSON.");
  await heavy.getByRole("textbox").fill('{"arg": "x"}');

  const wide = await pick(page, "optional");
  await wide.getByRole("button", { name: "Add a", exact: true }).click();
  await wide.getByRole("button", { name: "Add b", exact: true }).first().click();
  await execute(page);
  await expect.poll(() => stage.text(`/v1/sessions/${id}/ledger`)).toContain('"args":{"arg":{"a":{"b":{}}}}');
  await expect(decide(page)).toContainText("Nothing waits for you.");
});
