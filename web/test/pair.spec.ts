/** The page of two records: an element-wise add, and the same with its loops rolled up by hand. */

import { readFileSync } from "node:fs";
import { type Page, expect, test } from "./checked";
import { box, linesShown, madeUp, open, page, stage } from "./pages";

const selectedRow = (tab: Page) => tab.locator('#pass-list [aria-selected="true"]');

test("the head names both, and the overview says how they differ", async ({ page: tab }) => {
  await open(tab, page("pair"));
  const [a, b] = [tab.locator("header p").first(), tab.locator("header p").last()];
  await expect(a).toContainText("elementwise_add for sm_80");
  await expect(a).not.toContainText("resumed");
  await expect(b).toContainText("after cse#1, edited by hand (-5 +5 lines)");
  const overview = tab.locator(".overview");
  await expect(overview).toContainText("The first modules that differ are those after cse#1: 5 lines of A alone, 5 of B alone.");
  await expect(overview.locator("tr", { hasText: "registers" })).toHaveText(/^registers47\d+−\d+$/);
  await expect(overview.locator("tr", { hasText: "local store 128" })).toContainText("+");
  await expect(overview.getByRole("region", { name: "Results" })).toContainText("✓ same bits");
  await overview.getByRole("button", { name: "after cse#1" }).click();
  await expect(selectedRow(tab)).toContainText("cse#1");
  await expect(overview).toHaveCount(0);
});

test("a row shows the stage of A beside that of B, what differs is marked, what is the same folded", async ({ page: tab }) => {
  await open(tab, page("pair"), "#stage=14-14");
  await expect(selectedRow(tab)).toContainText("first difference");
  await expect(selectedRow(tab)).toContainText("−5 +5");
  await expect(selectedRow(tab).locator(".hidden").first()).toHaveText(/A: changed/);
  await expect(tab.locator(".differences")).toContainText("5 lines differ");
  // What names stand for is folded; how loops are annotated is among it.
  await tab.getByRole("button", { name: /names of types and attributes, \d+ lines of them changed/ }).first().click();
  await expect.poll(async () => (await linesShown(tab, 0)).join("\n")).toContain("full = true");
  expect((await linesShown(tab, 1)).join("\n")).not.toContain("full = true");
  await expect(tab.locator(".editors .cm-editor").first().locator(".cm-removed .cm-word").first()).toBeVisible();
  await expect(tab.locator(".editors").getByText(/\d+ unchanged lines/).first()).toBeVisible();
  await tab.getByRole("button", { name: "All lines" }).click();
  const scrollers = tab.locator(".editors .cm-scroller");
  await scrollers.first().evaluate((each) => (each.scrollTop = 1500));
  await expect.poll(() => scrollers.last().evaluate((each) => each.scrollTop)).toBe(1500);
});

test("keys go through the rows and the ways to show them, and the address keeps both", async ({ page: tab }) => {
  await open(tab, page("pair"));
  await tab.keyboard.press("j");
  await expect(selectedRow(tab)).toContainText("traced module");
  await expect(tab.locator(".about")).toContainText("went on from a later stage");
  await expect(tab.locator(".editors .cm-editor")).toHaveCount(1);
  await tab.keyboard.press("u");
  await expect(tab.locator("#pass-list .stop", { hasText: "cute-desugar" })).toHaveCount(0);
  await tab.keyboard.press("j");
  await expect(selectedRow(tab)).toContainText("cse#1");
  await tab.keyboard.press("1");
  await expect(tab.locator(".editors .cm-content")).toHaveAttribute("aria-label", "A after pass 14, cse#1");
  await tab.keyboard.press("4");
  await expect(tab.locator(".editors .cm-content")).toHaveAttribute("aria-label", "B after pass 14, cse#1");
  await expect(tab).toHaveURL(/stage=14-14&view=text/);
  await tab.keyboard.press("3");
  // Two more are in what names stand for, which is folded.
  await expect(tab.locator(".editors .cm-removed")).toHaveCount(3);
  await expect(tab.locator(".editors .cm-added")).toHaveCount(3);
  await tab.keyboard.press("2");
  await expect(tab.locator(".editors .cm-editor")).toHaveCount(2);
  await expect(tab).not.toHaveURL(/view=/);
  await tab.keyboard.press("?");
  await expect(tab.locator("dialog.keys")).toContainText("A, side by side, unified, B");
});

test("PTX and SASS stand side by side, without what numbers lines anew", async ({ page: tab }) => {
  await open(tab, page("pair"), "#stage=listing:PTX");
  await expect(tab.locator(".differences")).toContainText("lines differ");
  await expect(tab.locator(".editors .cm-editor")).toHaveCount(2);
  await expect(tab.locator(".editors")).toContainText("ld.param");
  await expect(tab.locator(".editors")).not.toContainText(/\.loc\s/);
  await tab.keyboard.press("j");
  await expect(selectedRow(tab)).toContainText("SASS");
  const code = tab.locator(".editors .cm-content").last();
  await expect(code).toContainText(/MOV +R1, c/);
  await expect(code).not.toContainText("/*00");
});

test("a search finds lines of both", async ({ page: tab }) => {
  await open(tab, page("pair"));
  await tab.keyboard.press("/");
  await tab.locator("#search").fill("full = true");
  const heads = tab.locator(".found-head");
  await expect(heads.first()).toContainText("A: ");
  await expect(heads.filter({ hasText: "B: " })).toHaveCount(0);
  await tab.locator(".hit").first().click();
  await expect(tab.getByRole("radio", { name: "A", exact: true })).toBeChecked();
  await expect(tab.locator(".editors .cm-activeLine")).toContainText("full = true");
});

const run = (index: number, selector: string, state: string) => ({ index, selector, state, text: selector, seconds: 0.001 });
const side = (record: string) => ({
  record,
  kernel: "<b>made_up</b>",
  target: "sm_90a",
  status: "failed",
  source: null,
  command: [],
  pipeline: "one,two",
  passes: 2,
  options: { "opt-level": 3 },
  versions: { cutecc: "0" },
  resumed: null,
  failure: "two: it broke",
  outputs: [],
});

test("what only one of them has stands alone, and a page that was cut off says so", async ({ page: tab }) => {
  const pair = {
    a: side("<i>left</i>"),
    b: side("right"),
    passes: [
      { a: run(0, "traced", "input"), b: run(0, "traced", "input"), lines: { a: 0, b: 0 } },
      { a: run(1, "one", "changed"), b: null, lines: null },
      { a: null, b: run(1, "new", "changed"), lines: null },
      { a: run(2, "two", "changed"), b: run(2, "two", "failed"), lines: null },
    ],
    first_difference: null,
    ptx: null,
    same_cubin: null,
    resources: [],
    instructions: [],
    instructions_of: null,
    notes: ["a <b>note</b>"],
    results: null,
  };
  const chunks = {
    pair,
    "a:stage:0": stage(0, ["module {", "}"]),
    "a:stage:1": stage(1, ["module {", "  of_one", "}"]),
    "b:stage:0": stage(0, ["module {", "}"]),
    "b:stage:1": stage(1, ["module {", "  of_new", "}"]),
  };
  await open(tab, madeUp("pair", chunks));
  await expect(tab.locator(".overview")).toContainText("a <b>note</b>");
  await expect(tab.locator(".overview")).toContainText("failed in two: it broke");
  await tab.keyboard.press("j");
  await expect(tab.locator(".differences")).toHaveText("no differences");
  await tab.keyboard.press("j");
  await expect(tab.locator(".editors")).toContainText("of_one");
  await expect(tab.locator(".about")).toContainText("B (right) has no such pass.");
  await tab.keyboard.press("j");
  await expect(tab.locator(".editors")).toContainText("of_new");
  await tab.keyboard.press("j");
  await expect(tab.locator(".message")).toContainText(
    "This page holds no module of A (<i>left</i>) here; the pass failed in B (right).",
  );
  await open(tab, madeUp("pair-without", { "a:stage:0": stage(0, ["module {"]) }));
});

test("a record that was resumed says so in its head", async ({ page: tab }) => {
  await open(tab, page("rolled"));
  await expect(tab.locator("header .resumed")).toContainText("after cse#1, edited by hand (-5 +5 lines)");
  await open(tab, page("elementwise_add"));
  await expect(tab.locator("header .resumed")).toHaveCount(0);
});

test("nothing of the two is put into the page but as text, and a narrow page has room for both", async ({ page: tab }) => {
  expect(readFileSync(page("pair"), "utf8")).toContain("This page needs JavaScript");
  await tab.setViewportSize({ width: 800, height: 600 });
  await open(tab, page("pair"), "#stage=14-14");
  await expect(tab.locator(".editors .cm-line").first()).toBeVisible();
  expect(await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
  for (const editor of await tab.locator(".editors .cm-editor").all())
    await expect.poll(async () => (await box(editor)).width).toBeGreaterThan(200);
});
