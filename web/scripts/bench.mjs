// Measures a page in Chromium: node scripts/bench.mjs PAGE.html [--search=TEXT]

import { chromium as playwright } from "@playwright/test";
import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const options = process.argv.slice(2);
const file = options.find((each) => !each.startsWith("--"));
const wanted = options.find((each) => each.startsWith("--search="))?.slice("--search=".length) ?? "ldmatrix";
if (file === undefined || !existsSync(file)) {
  console.error("usage: npm run bench -- PAGE.html [--search=TEXT]");
  process.exit(2);
}

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
const folders = (process.env["PATH"] ?? "").split(path.delimiter);
const executablePath =
  process.env["CHROMIUM"] ?? folders.flatMap((folder) => NAMES.map((name) => path.join(folder, name))).find(existsSync);
const browser = await playwright.launch({
  executablePath,
  args: ["--enable-precise-memory-info", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])],
});
const tab = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
tab.on("pageerror", (error) => {
  console.error(`the page failed: ${error.message}`);
  process.exitCode = 1;
});

const say = (what, value) => console.log(`${what.padEnd(44)} ${value}`);
const ms = (value) => `${value.toFixed(0)} ms`;

const began = Date.now();
await tab.goto(pathToFileURL(path.resolve(file)).href, { waitUntil: "commit" });
await tab.waitForSelector(".editors .cm-line");
const firstLine = Date.now() - began;
const painted = await tab.evaluate(
  () =>
    new Promise((resolve) => {
      const look = () => {
        const [entry] = performance.getEntriesByName("first-contentful-paint");
        if (entry) resolve(entry.startTime);
        else setTimeout(look, 20);
      };
      look();
    }),
);
say("first contentful paint", ms(painted));
say("first line of the first stage", ms(firstLine));

// What the page loads while nothing else is to do.
await tab.waitForTimeout(2500);
await tab.evaluate(() => {
  window.tasks = [];
  new PerformanceObserver((list) => list.getEntries().forEach((each) => window.tasks.push(each.duration))).observe({
    entryTypes: ["longtask"],
  });
  // From a key until the text is drawn: nothing has changed for 200 ms, and no comparison runs.
  window.afterKey = async (key) => {
    const frame = document.querySelector("#text");
    let last = performance.now();
    const since = last;
    const seen = new MutationObserver(() => (last = performance.now()));
    seen.observe(frame, { subtree: true, childList: true, characterData: true });
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const pause = () => new Promise((resolve) => setTimeout(resolve, 10));
    while (performance.now() - last < 200 || frame.querySelector("progress")) await pause();
    seen.disconnect();
    return last - since;
  };
});

const count = await tab.locator("#pass-list .stop").count();

/** Go through all stops, by the key that shows the next one. */
async function through(what) {
  const times = [];
  for (let i = 1; i < count; i++) {
    const took = await tab.evaluate(() => window.afterKey("j"));
    times.push([took, await tab.locator('#pass-list [aria-selected="true"]').getAttribute("id")]);
  }
  times.sort((a, b) => a[0] - b[0]);
  const [worst, name] = times.at(-1);
  say(`${what}, median of ${times.length}`, ms(times[times.length >> 1][0]));
  say(`${what}, worst`, `${ms(worst)} (${name})`);
}

async function longest(what) {
  const tasks = await tab.evaluate(() => window.tasks.splice(0));
  say(`${what}, longest task`, ms(Math.max(0, ...tasks)));
}

await through("switch to the next stage");
await longest("switch to the next stage");
await tab.keyboard.press("l");
await tab.keyboard.press("Home");
await tab.keyboard.press("3");
await tab.waitForTimeout(500);
await tab.evaluate(() => void window.tasks.splice(0));
await through("compare with the stage before");
await longest("compare with the stage before");
await tab.keyboard.press("1");

for (const round of ["search of all texts", "the same again, texts expanded"]) {
  await tab.keyboard.press("/");
  await tab.locator("#search").fill("");
  await tab.waitForTimeout(400);
  const since = Date.now();
  await tab.locator("#search").fill(wanted);
  await tab.waitForFunction(() => / of [1-9]\d* texts$/.test(document.querySelector(".search [role=status]")?.textContent ?? ""));
  say(`${round} (${wanted})`, ms(Date.now() - since));
}
const heap = () => tab.evaluate(() => `${(performance.memory.usedJSHeapSize / 1e6).toFixed(0)} MB`);
say("heap, with what is not yet collected", await heap());
await (await tab.context().newCDPSession(tab)).send("HeapProfiler.collectGarbage");
say("heap, of what is in use", await heap());
await browser.close();
