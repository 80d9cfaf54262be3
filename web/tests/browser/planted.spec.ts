/** What an attacker plants in names, schemas, texts and outputs is text in every room, and in a report. */

import { pathToFileURL } from "node:url";
import type { Page } from "@playwright/test";
import { alone, expect } from "./fixtures";
import { decide, timeline } from "./session";
import type { Stage } from "./stage";

const test = alone(false);

/** Each would say `owned` in a page that takes it for its own, or ask somebody else for something. */
const PLANTS = [
  "<script>window.owned = 1</script>",
  '<img src=x onerror="window.owned = 1">',
  "</script><script>window.owned = 1</script>",
  "<!--<script>window.owned = 1</script>",
  '<svg onload="window.owned = 1"><a href="javascript:window.owned=1">x</a></svg>',
  '"><input autofocus onfocus="window.owned = 1">',
  "[link](javascript:window.owned=1) ![dot](https://evil.example/dot.png)",
  "<iframe srcdoc=\"<script>parent.owned = 1</script>\" src='https://evil.example/'></iframe>",
];

/** A tool with all of them in each place of its declaration that people see. */
const tool = (at: number) => {
  const plant = PLANTS[at] ?? "";
  return {
    name: `tool ${at} ${plant}`,
    description: `# ${plant}\n\n${plant}`,
    parameters: {
      type: "object",
      title: plant,
      description: plant,
      properties: {
        [`field ${plant}`]: {
          type: "string",
          title: `title ${plant}`,
          description: plant,
          default: plant,
          pattern: "x",
        },
        choice: { enum: [plant, "other"], description: plant },
        list: { type: "array", items: { type: "object", title: plant, properties: { [plant]: {} } } },
      },
      required: ["choice"],
    },
  };
};

const happened = (at: number) => {
  const plant = PLANTS[at] ?? "";
  const seen = (type: string, more: object) => ({
    event_id: crypto.randomUUID(),
    agent: plant,
    type,
    ...more,
  });
  const said = { role: "user", parts: [{ text: `# ${plant}` }] };
  return [
    seen("user_message", { content: said }),
    seen("tool_call", { call_id: `a${at}`, tool: plant, args: { [plant]: plant } }),
    seen("tool_result", {
      call_id: `a${at}`,
      tool: plant,
      output: { [plant]: [plant], html: plant, link: `https://example.com/${plant}` },
      state_delta: { [plant]: plant, "user:x": { [plant]: plant } },
    }),
    seen("tool_call", { call_id: `b${at}`, tool: plant, args: {} }),
    seen("tool_result", {
      call_id: `b${at}`,
      tool: plant,
      error: { type: plant, message: plant, traceback: plant },
    }),
    seen("artifact_saved", {
      name: plant,
      version: 0,
      mime_type: "text/html",
      size: plant.length,
      content: { text: plant },
    }),
  ];
};

/** Nothing of it was taken for a part of the page, and nothing of it ran. */
async function onlyText(page: Page): Promise<void> {
  const taken = page
    .locator("main, dialog, title")
    .locator(
      "iframe, img[src^=http], img[src='x'], [onerror], [onload], [onfocus], [srcdoc], a[href^='javascript' i]",
    );
  await expect(taken).toHaveCount(0);
  expect(await page.evaluate(() => "owned" in window)).toBe(false);
}

async function planted(stage: Stage): Promise<string> {
  const description = PLANTS.join(" ");
  const { id } = await stage.call<{ id: string }>("POST", "/v1/sessions", { description });
  for (const at of PLANTS.keys())
    await stage.call("POST", `/v1/sessions/${id}/events`, { events: happened(at) });
  await stage.call("PUT", `/v1/sessions/${id}/turns/${crypto.randomUUID()}`, {
    agent: PLANTS[1],
    request: {
      model: PLANTS[0],
      system_instruction: PLANTS.map((plant) => `# ${plant}`).join("\n\n"),
      contents: PLANTS.flatMap((plant) => [
        { role: "user", parts: [{ text: plant }] },
        { role: "model", parts: [{ text: `**${plant}**` }] },
      ]),
      tools: [...PLANTS.keys()].map(tool),
    },
  });
  return id;
}

test("what is planted in a session is text in every view of it", async ({ page, stage }) => {
  const id = await planted(stage);
  await page.goto(stage.entry);
  await expect(page.getByText("window.owned").first()).toBeVisible();
  await onlyText(page);

  await page.goto(`${stage.url}/sessions/${id}`);
  await expect(decide(page).getByText("You are the model.")).toBeVisible();
  await page.getByRole("button", { name: /^All events/ }).click();
  await page.getByRole("button", { name: "Expand all" }).click();
  await expect(timeline(page)).toContainText("window.owned");
  await onlyText(page);
  await page.getByRole("button", { name: "Durations" }).click();
  await expect(page.getByRole("list", { name: "Durations" })).toContainText("window.owned");
  await onlyText(page);
  await decide(page).getByRole("button", { name: "What the model sees" }).click();
  await expect(page.getByRole("dialog", { name: "What the model sees" })).toContainText("window.owned");
  await onlyText(page);
  await page.keyboard.press("Escape");

  await decide(page).getByRole("button", { name: "Call a tool" }).click();
  const tools = decide(page).getByRole("radio");
  await expect(tools).toHaveCount(PLANTS.length);
  for (const at of PLANTS.keys()) {
    await tools.nth(at).check();
    await expect(decide(page)).toContainText(`tool ${at}`);
    await onlyText(page);
    await decide(page)
      .getByRole("button", { name: /^Execute/ })
      .click();
    await expect(
      decide(page)
        .getByText(/required|pattern|must/i)
        .first(),
    ).toBeVisible();
    await onlyText(page);
  }
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
  await decide(page).getByLabel("Final response", { exact: true }).fill(PLANTS.join("\n\n"));
  await decide(page).getByRole("button", { name: "Send final response" }).click();
  await expect(decide(page)).toContainText("Nothing waits for you.");
  await page.getByRole("button", { name: /^All events/ }).click();
  await page.getByRole("button", { name: "Expand all" }).click();
  await expect(timeline(page)).toContainText("window.owned");
  await onlyText(page);
});

/** A scenario in which every name, text and value is one of them. */
const scenario = (at: number) => {
  const plant = JSON.stringify(PLANTS[at] ?? "");
  const named = JSON.stringify(`case ${at} ${PLANTS[at] ?? ""}`);
  return `
name: ${named}
description: ${plant}
tags: [${plant}]
environment: {type: local}
agent:
  name: ${plant}
  instructions: ${plant}
  tools: [{name: look, description: ${plant}, parameters: {type: object, title: ${plant}}}]
models: {agent: {script: [{call: look, args: {${plant}: ${plant}}}, ${plant}]}}
setup: {mocks: [{method: look, error: {code: ${plant}, message: ${plant}}, state: {session: {${plant}: ${plant}}}}]}
run:
  - name: ${plant}
    input: ${plant}
    evaluations:
      - {type: string_contains, value: ${plant}, description: ${plant}}
      - {type: string_contains, value: ${JSON.stringify(`not ${PLANTS[at] ?? ""}`)}}
judgment: {strategy: all_pass}
`;
};

test("what is planted in a run is text in its rooms, and in its report", async ({ page, context, stage }) => {
  for (const at of PLANTS.keys()) await stage.write(`${at}.scenario.yaml`, scenario(at));
  const files = [...PLANTS.keys()].map((at) => `${at}.scenario.yaml`);
  for (const name of [PLANTS[0] ?? "", PLANTS[2] ?? ""]) {
    const ran = await stage.command(["run", ...files, "--name", name]);
    expect(ran.code, ran.said).toBe(1);
  }
  await page.goto(stage.entry);
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  const rows = page.getByRole("table", { name: "Runs, newest first" }).getByRole("row");
  await expect(rows).toHaveCount(3);
  await onlyText(page);
  for (const box of await page.getByRole("checkbox", { name: /^Compare/ }).all()) await box.check();
  await page.getByRole("link", { name: "Compare the two" }).click();
  await expect(page.getByText("window.owned").first()).toBeVisible();
  await onlyText(page);
  await page.goBack();
  await rows.nth(1).getByRole("link").first().click();
  const run = page.url();
  for (const at of PLANTS.keys()) {
    await page
      .getByRole("link", { name: `case ${at} ` })
      .first()
      .click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText(`case ${at} `);
    await onlyText(page);
    await page.goto(run);
  }

  const wrote = await stage.command(["report", "last", "-o", "report.html"]);
  expect(wrote.code, wrote.said).toBe(0);
  const requests: string[] = [];
  const report = await context.newPage();
  report.on("request", (request) => requests.push(request.url()));
  const file = pathToFileURL(stage.path("report.html")).href;
  await report.goto(file);
  await expect(report.getByRole("heading", { name: "Cases" })).toBeVisible();
  await onlyText(report);
  for (const at of PLANTS.keys()) {
    await report
      .getByRole("link", { name: `case ${at} ` })
      .first()
      .click();
    await expect(report.getByRole("heading", { level: 1 })).toContainText(`case ${at} `);
    await onlyText(report);
    await report.goto(file);
  }
  expect([...new Set(requests.map((url) => url.split("#")[0]))]).toEqual([file]);
});
