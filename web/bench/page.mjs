/**
 * How heavy and how fast the page is: `cargo xtask bench page`.
 *
 * The machine may be shared and noisy, so nothing here is a test: each figure stands beside its aim and, where there is
 * something to compare with, beside that, measured in the same run. The server is the real `rehearse serve`, the browser
 * the system's Chromium.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "@playwright/test";
import { longLedger } from "./ledger.mjs";

const BINARY = process.env.REHEARSAL_BIN;
const ROUNDS = 5;
const EVENTS = 40;
const LONG = 10_000;
const LONG_SESSION = "3f2a9c1e-0000-4000-8000-000000000001";

if (!BINARY)
  throw new Error("REHEARSAL_BIN names the `rehearse` to measure; `cargo xtask bench page` sets it");

const say = (text) => process.stdout.write(`${text}\n`);
const sorted = (figures) => [...figures].sort((a, b) => a - b);
const share = (figures, part) =>
  sorted(figures)[Math.min(figures.length - 1, Math.floor(figures.length * part))];
const ms = (figure) => `${figure.toFixed(0).padStart(6)} ms`;

/** A server in a folder of its own. */
async function serve() {
  const folder = mkdtempSync(join(tmpdir(), "rehearsal-bench-"));
  const child = spawn(BINARY, ["serve", "--port", "0"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  const url = await new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (more) => {
      said += more;
      const found = /http:\/\/[\d.]+:\d+/.exec(said);
      if (found) resolve(found[0]);
    });
    child.on("exit", () => reject(new Error("the server ended before it had an address")));
  });
  const token = readFileSync(join(folder, ".rehearsal/token"), "utf8").trim();
  const end = () => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  const post = async (path, body, type = "application/json") => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": type };
    const response = await fetch(url + path, { method: "POST", headers, body });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  return { url, token, end, post };
}

/** From starting the server to seeing the page, with nothing kept by the browser. */
async function firstView(browser) {
  const took = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const began = performance.now();
    const server = await serve();
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${server.url}/?token=${server.token}`);
    await page.getByRole("heading", { name: "Connect an agent" }).waitFor();
    took.push(performance.now() - began);
    await context.close();
    server.end();
  }
  return took;
}

/** The same with a page of one line, from a server that is there already. */
async function emptyPage(browser) {
  const server = createServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end("<h1>Hello</h1>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const took = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const began = performance.now();
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.getByRole("heading", { name: "Hello" }).waitFor();
    took.push(performance.now() - began);
    await context.close();
  }
  server.close();
  return took;
}

/** All that the page's rooms load, as it travels. */
async function weigh(browser, server) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const sizes = new Map();
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    const size = Number(response.headers()["content-length"] ?? 0);
    if (!pathname.startsWith("/v1") && response.status() === 200) sizes.set(pathname, size);
  });
  await page.goto(`${server.url}/?token=${server.token}`);
  await page.waitForLoadState("networkidle");
  for (const room of ["/runs", "/start", `/sessions/${LONG_SESSION}`]) {
    await page.goto(server.url + room);
    await page.getByRole("heading", { level: 1 }).waitFor();
  }
  await context.close();
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

/** From sending an event to seeing it in a second tab. */
async function secondTab(browser, server) {
  const session = await server.post("/v1/sessions", JSON.stringify({ agent: "clerk" }));
  const context = await browser.newContext();
  await (await context.newPage()).goto(`${server.url}/sessions/${session.id}?token=${server.token}`);
  const tab = await context.newPage();
  await tab.goto(`${server.url}/sessions/${session.id}?view=all`);
  await tab.locator("[data-seq='1']").waitFor();
  const took = [];
  for (let number = 0; number < EVENTS; number += 1) {
    const seq = number + 2;
    const seen = tab.evaluate(
      (seq) =>
        new Promise((resolve) => {
          const look = () => {
            if (!document.querySelector(`[data-seq='${seq}']`)) return;
            observer.disconnect();
            resolve(Date.now());
          };
          const observer = new MutationObserver(look);
          observer.observe(document.body, { childList: true, subtree: true });
          look();
        }),
      seq,
    );
    const event = {
      event_id: crypto.randomUUID(),
      agent: "clerk",
      type: "state_change",
      state_delta: { number },
    };
    const sent = Date.now();
    await server.post(`/v1/sessions/${session.id}/events`, JSON.stringify({ events: [event] }));
    took.push((await seen) - sent);
  }
  await context.close();
  return took;
}

/** How long the frames take while somebody scrolls through a long session. */
async function scroll(browser, server) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(`${server.url}/sessions/${LONG_SESSION}?view=all&token=${server.token}`);
  await page.getByText(`All events (${LONG})`).waitFor();
  await page.locator("[data-seq='1']").waitFor();
  await page.mouse.move(400, 600);
  const frames = page.evaluate(
    () =>
      new Promise((resolve) => {
        const frames = [];
        let most = 0;
        let before = performance.now();
        const until = before + 6000;
        const look = (now) => {
          frames.push(now - before);
          before = now;
          most = Math.max(most, document.querySelectorAll("[data-seq]").length);
          if (now < until) requestAnimationFrame(look);
          else resolve({ frames: frames.slice(1), most, at: window.scrollY });
        };
        requestAnimationFrame(look);
      }),
  );
  let going = true;
  frames.then(() => {
    going = false;
  });
  while (going) await page.mouse.wheel(0, 240);
  const result = await frames;
  await context.close();
  return result;
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
const server = await serve();
try {
  await server.post("/v1/ledgers", longLedger(LONG_SESSION, LONG), "application/jsonl");
  const bytes = await weigh(browser, server);
  say("the page");
  say(
    `  all rooms, compressed                        ${(bytes / 1000).toFixed(0).padStart(6)} kB      (aim: under 300)`,
  );
  const [view, empty] = [await firstView(browser), await emptyPage(browser)];
  say(
    `  first view, cold server, median of ${ROUNDS}         ${ms(share(view, 0.5))}      (aim: under 1000)`,
  );
  say(`  a page of one line, same browser             ${ms(share(empty, 0.5))}`);
  const tab = await secondTab(browser, server);
  say(`  an event reaches a second tab, p50           ${ms(share(tab, 0.5))}`);
  say(`                                 p99           ${ms(share(tab, 0.99))}      (aim: under 200)`);
  const { frames, most, at } = await scroll(browser, server);
  const slow = frames.filter((frame) => frame > 50).length;
  say(
    `  scrolling ${LONG} events: ${frames.length} frames over ${Math.round(at)} pixels, ${most} rows on the page at most`,
  );
  say(
    `    p50 ${share(frames, 0.5).toFixed(1)} ms, p99 ${share(frames, 0.99).toFixed(1)} ms, longest ${Math.max(...frames).toFixed(1)} ms; over 50 ms: ${slow}      (aim: none)`,
  );
} finally {
  server.end();
  await browser.close();
}
