import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { call, entry, names, respond, sessionId, start, timeline } from "./session";

/** A session of so many events, as JSON Lines. */
function longLedger(session: string, count: number): string {
  const lines: string[] = [];
  const add = (author: string, body: object) => {
    const seq = lines.length + 1;
    const at = new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();
    lines.push(JSON.stringify({ seq, session, at, author, body }));
  };
  add("rehearsal", { type: "session_started", version: 1, part: "main", agent: "clerk" });
  add("user", { type: "user_message", content: { role: "user", parts: [{ text: "Look up all orders" }] } });
  for (let number = 0; lines.length + 3 <= count; number += 1) {
    const call = `call-${number}`;
    add("clerk", { type: "tool_call", call, tool: "look_up", args: { order: number } });
    const outcome =
      number % 10 === 9
        ? { error: { type: "NotFound", message: `there is no order ${number}` } }
        : { output: { order: number, note: "word ".repeat(number % 40) } };
    add("clerk", { type: "tool_result", call, tool: "look_up", outcome });
  }
  while (lines.length < count - 1) add("clerk", { type: "note", name: "padding", data: null });
  add("clerk", { type: "final_response", output: "These are all." });
  return `${lines.join("\n")}\n`;
}

/** The numbers and kinds of the rows that are on the page. */
const rows = (page: Page) =>
  timeline(page)
    .locator(":scope > li")
    .evaluateAll((all) =>
      all.map((row) => ({ seq: Number(row.getAttribute("data-seq")), kind: row.getAttribute("data-kind") })),
    );

test("all events of the ledger are in the timeline: none missing, none twice, in order", async ({
  page,
  stage,
}) => {
  await page.setViewportSize({ width: 1280, height: 4000 });
  await start(page, "trouble", "Go wrong, then go on");
  await call(page, "fetch_data", { url: "x" });
  await call(page, "add", { a: "1", b: "1" });
  await respond(page, "Done");
  await expect(entry(page, "Final response trouble")).toBeVisible();
  const conversation = await names(page);
  await page.getByRole("button", { name: /^All events/ }).click();
  await expect(page).toHaveURL(/view=all/);
  const events = await stage.events(sessionId(page));
  await expect(page.getByRole("button", { name: `All events (${events.length})` })).toBeVisible();
  const expected = events.map((event) => ({ seq: event.seq, kind: event.body.type }));
  await expect.poll(() => rows(page)).toEqual(expected);
  await page.reload();
  await expect.poll(() => rows(page)).toEqual(expected);

  // The conversation is the history that people read.
  const { entries } = await stage.get<{ entries: { type: string }[] }>(
    `/v1/sessions/${sessionId(page)}/history`,
  );
  const words: { [type: string]: string } = {
    user_query: "User",
    tool_call: "Tool call",
    tool_output: "Tool output",
    tool_error: "Tool error",
    final_response: "Final response",
  };
  expect(conversation.map((name) => Object.values(words).find((word) => name?.startsWith(word)))).toEqual(
    entries.map((entry) => words[entry.type]),
  );
});

test("with 10,000 events the page holds few of them at a time, and each is reached by scrolling", async ({
  page,
  stage,
}) => {
  test.slow();
  const count = 10_000;
  const id = crypto.randomUUID();
  await stage.call("POST", "/v1/ledgers", longLedger(id, count));
  await page.goto(`${stage.url}/sessions/${id}?view=all`);
  await expect(page.getByRole("button", { name: `All events (${count})` })).toBeVisible();
  for (const part of [0, 0.5, 1]) {
    await page.evaluate((part) => window.scrollTo(0, document.documentElement.scrollHeight * part), part);
    await expect(timeline(page).locator(":scope > li").first()).toBeAttached();
    expect((await rows(page)).length).toBeLessThan(100);
  }

  // Scrolls by much less than what is on the page, since rows that are measured move the others, and looks at every stop.
  // Folded and on a tall screen, so that it ends.
  await page.setViewportSize({ width: 1280, height: 4000 });
  await page.getByRole("button", { name: "Collapse all" }).click();
  const seen = await page.evaluate(async (count) => {
    const list = document.querySelector("ol.rows");
    const seqs: number[] = [];
    let most = 0;
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const look = () => {
      const rows = [...(list?.children ?? [])] as HTMLElement[];
      most = Math.max(most, rows.length);
      for (const row of rows) seqs.push(Number(row.dataset.seq));
    };
    // Where the page is now is drawn once rows cover the window and, measured, stay where they are.
    const place = () => {
      const rows = [...(list?.children ?? [])] as HTMLElement[];
      const first = rows.at(0);
      const last = rows.at(-1);
      if (!first || !last) return null;
      const top = first.getBoundingClientRect().top;
      const bottom = last.getBoundingClientRect().bottom;
      const above = top <= 0 || first.dataset.seq === "1";
      const below = bottom >= window.innerHeight || last.dataset.seq === String(count);
      return above && below ? [first.dataset.seq, top, last.dataset.seq, bottom].join() : null;
    };
    const drawn = async () => {
      let before: string | null = null;
      for (let frames = 0; frames < 600; frames += 1) {
        await frame();
        const now = place();
        if (now !== null && now === before) return;
        before = now;
      }
      throw new Error(`no rows were drawn at ${window.scrollY}`);
    };
    window.scrollTo(0, 0);
    for (;;) {
      await drawn();
      look();
      const before = window.scrollY;
      window.scrollBy(0, window.innerHeight * 0.4);
      if (window.scrollY <= before) break;
    }
    return { seqs: [...new Set(seqs)], most };
  }, count);
  expect(seen.most).toBeLessThan(300);
  expect(seen.seqs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, index) => index + 1));

  // A link to an event in the middle leads there.
  await page.goto(`${stage.url}/sessions/${id}?view=all#e5000`);
  await page.reload();
  await expect(page.locator("#e5000")).toBeInViewport();
  await expect(page.locator("#e5000")).toHaveClass(/sought/);
});
