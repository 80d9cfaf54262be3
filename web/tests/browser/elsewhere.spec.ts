import { alone, expect, test } from "./fixtures";
import { call, decide, entry, execute, field, pick, respond, sessionId, start } from "./session";
import type { Stage } from "./stage";

const TOOLS = Array.from({ length: 12 }, (_, index) => ({
  name: `look_up_${index + 1}`,
  description: "Looks something up",
  parameters: {
    type: "object",
    properties: { id: { type: "integer", description: "A number of 64 bits" } },
    required: ["id"],
  },
}));

/** A session whose agent runs in a program of its own, which has asked its model once. */
async function asks(stage: Stage, query: string): Promise<string> {
  const { id } = await stage.call<{ id: string }>("POST", "/v1/sessions", { agent: "archivist" });
  const contents = [{ role: "user", parts: [{ text: query }] }];
  const request = { contents, tools: TOOLS, system_instruction: "You know all numbers." };
  await stage.call("PUT", `/v1/sessions/${id}/turns/${crypto.randomUUID()}`, { agent: "archivist", request });
  return id;
}

interface Called {
  content: { parts: { function_call?: { name: string; args: object } }[] };
}

/** What its model was made to call. */
const calls = async (stage: Stage, id: string) =>
  (await stage.events(id))
    .filter((event) => event.body.type === "model_response")
    .flatMap((event) => (event.body as unknown as Called).content.parts)
    .map((part) => [part.function_call?.name, part.function_call?.args]);

test("looking for a tool among many sends nothing; Enter chooses the only one that fits", async ({
  page,
  stage,
}) => {
  const id = await asks(stage, "Look it up");
  await page.goto(`${stage.url}/sessions/${id}`);
  const search = decide(page).getByRole("searchbox", { name: "Search for a tool" });
  await decide(page).getByRole("radio", { name: "look_up_1", exact: true }).check();
  await field(decide(page).getByRole("group", { name: "Arguments of look_up_1" }), "id").fill("7");
  await decide(page).getByRole("button", { name: "Add another call" }).click();
  await search.fill("look_up_1");
  await search.press("Enter");
  await search.fill("look_up_12");
  await search.press("Enter");
  await expect(decide(page).getByRole("radio", { name: "look_up_12" })).toBeChecked();
  expect(await calls(stage, id)).toEqual([]);

  // What is ready can go without a further one.
  await decide(page).getByRole("button", { name: "Leave this one out" }).click();
  await execute(page);
  await expect.poll(() => calls(stage, id)).toEqual([["look_up_1", { id: 7 }]]);
});

test("numbers of 64 bits arrive and are shown as they are", async ({ page, stage }) => {
  const id = await asks(stage, "Look 1234567890123456789 up");
  await page.goto(`${stage.url}/sessions/${id}`);
  await field(await pick(page, "look_up_1"), "id").fill("1234567890123456789");
  await execute(page);
  await expect
    .poll(() => stage.text(`/v1/sessions/${id}/ledger`))
    .toContain('"args":{"id":1234567890123456789}');
  await page.getByRole("button", { name: /^All events/ }).click();
  await page.getByRole("button", { name: "Expand all" }).click();
  const replied = page.locator("[data-kind='model_response']");
  await expect(replied).toContainText("1234567890123456789");
});

test("what the agent was told stays on the page between its questions, and stays folded", async ({
  page,
  stage,
}) => {
  const id = await asks(stage, "Look it up");
  await page.goto(`${stage.url}/sessions/${id}`);
  const words = page.getByText("You know all numbers.");
  await expect(words).toBeVisible();
  await page.getByRole("heading", { name: "Instructions" }).click();
  await field(await pick(page, "look_up_1"), "id").fill("7");
  await execute(page);
  await expect(decide(page).getByText("Nothing waits for you.")).toBeVisible();
  await expect(page.getByRole("heading", { name: "Instructions" })).toBeVisible();
  await expect(words).toBeHidden();
  await page.reload();
  await expect(words).toBeVisible();
  await expect(page.getByRole("heading", { name: "Tools (12)" })).toBeVisible();
});

alone(true)(
  "an agent whose program ended is asked again once it is back, and takes the session up",
  async ({ page, stage }) => {
    await start(page, "calculator", "What is 5 + 3?");
    await call(page, "add", { a: "5", b: "3" });
    await stage.endHost();
    const failed = page.getByRole("region", { name: "The run failed" });
    await expect(failed).toBeVisible();
    await stage.offerAgents();
    await failed.getByLabel("User query").fill("Go on, please");
    await failed.getByRole("button", { name: "Try again" }).click();
    await expect(entry(page, "User")).toHaveCount(2);
    await expect(failed).toHaveCount(0);
    await respond(page, "8");
    const { status } = await stage.get<{ status: string }>(`/v1/sessions/${sessionId(page)}`);
    expect(status).toBe("completed");
  },
);
