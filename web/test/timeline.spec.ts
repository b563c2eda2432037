/** The picture of a timeline: a made-up recording on the lines of examples/gemm.py, whose numbers are known. */

import { type Page, expect, test } from "@playwright/test";
import { violationsOf } from "./axe";
import { open, page, watch } from "./pages";

const lanes = (tab: Page, name: string | RegExp) => tab.getByRole("application", { name });
const block = (tab: Page) => lanes(tab, /^Lanes of block/);
const said = (tab: Page, part: string) => tab.getByRole("region", { name: part, exact: true }).getByRole("status");

/** How many pixels of a canvas are of a colour of the page's. */
async function pixels(tab: Page, name: string | RegExp, variable: string): Promise<number> {
  return await lanes(tab, name).evaluate((canvas: HTMLCanvasElement, variable) => {
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.fillStyle = getComputedStyle(canvas).getPropertyValue(variable).trim();
    const colour = /#(..)(..)(..)/.exec(context.fillStyle)?.slice(1).map((part) => parseInt(part, 16)) ?? [];
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] === colour[0] && data[i + 1] === colour[1] && data[i + 2] === colour[2]) found++;
    return found;
  }, variable);
}

test("lanes by role, the period, and what the critical path is spent on", async ({ page: tab }) => {
  const wrong = watch(tab);
  await open(tab, page("timeline"));
  await tab.getByRole("option", { name: "Timeline" }).click();
  await expect(block(tab)).toBeVisible();
  const view = tab.getByRole("region", { name: "Timeline", exact: true });
  await expect(view).toContainText("Recording makes it another kernel: 218.3 µs instead of 205.1 µs (6.4 % slower)");
  await expect(view.getByRole("button", { name: "warps 0-7 consumers" })).toBeVisible();
  await expect(view.locator(".lane-name.producer").first()).toHaveText("warp 8 producer");
  await expect(view).toContainText("One period of the steady state 250 ns");
  const path = view.getByRole("table", { name: "A period" }).getByRole("row");
  await expect(path.nth(1)).toContainText("80.0 %");
  await expect(path.nth(1)).toContainText("tensor cores");
  await expect(path.nth(1)).toContainText("gemm.py:202");
  expect(await pixels(tab, "Lanes of one period", "--timeline-product")).toBeGreaterThan(500);
  expect(await pixels(tab, "Lanes of one period", "--timeline-path")).toBeGreaterThan(500);
  expect(wrong).toEqual([]);
});

test("the slowest block waits for memory, and says which copy", async ({ page: tab }) => {
  await open(tab, page("timeline"), "#stage=timeline:0");
  await tab.getByRole("combobox", { name: "Block" }).selectOption({ label: "block 3 on SM 3 (slowest)" });
  await expect(lanes(tab, "Lanes of block 3 on SM 3")).toBeVisible();
  const table = tab.getByRole("region", { name: "Block", exact: true }).locator("details");
  await table.locator("summary").click();
  await expect(table).toContainText("memory: TMA load (mbarrier 0) gemm.py:172 of warp 8 in flight");
  expect(await pixels(tab, "Lanes of block 3 on SM 3", "--timeline-copy")).toBeGreaterThan(500);
});

test("lines by what was recorded, beside what was sampled", async ({ page: tab }) => {
  await open(tab, page("timeline"), "#stage=timeline:0");
  const rows = tab.getByRole("region", { name: "Lines", exact: true }).getByRole("row");
  await expect(rows.first()).toContainText("sampled");
  const line = rows.filter({ hasText: "gemm.py:202" });
  await expect(line.getByRole("cell").first()).toHaveText(/^5\d\.\d %$/);
  const wait = rows.filter({ hasText: "gemm.py:194" });
  await expect(wait.getByRole("cell").nth(1)).toHaveText(/^\d+\.\d %$/);
  // It has samples, and no site.
  const sampled = rows.filter({ hasText: "gemm.py:118" });
  await expect(sampled.getByRole("cell").first()).toHaveText("–");
  await wait.getByRole("button").click();
  await expect(wait.getByRole("button")).toHaveAttribute("aria-pressed", "true");
});

test("by keyboard alone: walk, hear what is there, zoom, select the line", async ({ page: tab }) => {
  const wrong = watch(tab);
  await open(tab, page("timeline"), "#stage=timeline:0");
  await block(tab).focus();
  await expect(tab.getByText("Arrows: the next thing")).toHaveCount(2);
  await tab.keyboard.press("ArrowRight");
  await expect(said(tab, "Block")).toContainText("warps 0-7 consumers at 0 ns: mbarrier wait (mbarrier 0) gemm.py:194 for 670 ns; waited for memory: TMA load");
  await tab.keyboard.press("ArrowRight");
  await tab.keyboard.press("ArrowRight");
  await expect(said(tab, "Block")).toContainText("wait for products (products) gemm.py:202 for 200 ns; waited for the tensor cores");
  await tab.keyboard.press("Enter");
  await expect(tab.locator(".side .selected-line, .side").getByText("gemm.py:202").first()).toBeVisible();
  await expect(tab).toHaveURL(/source=.*gemm\.py(%3A|:)202/);
  // The line's spans are lit.
  await expect.poll(() => pixels(tab, /^Lanes of block/, "--lit")).toBeGreaterThan(50);
  const wide = await pixels(tab, "Lanes of one period", "--timeline-product");
  await lanes(tab, "Lanes of one period").focus();
  await tab.keyboard.press("+");
  await expect.poll(() => pixels(tab, "Lanes of one period", "--timeline-product")).not.toBe(wide);
  await tab.keyboard.press("0");
  await expect.poll(() => pixels(tab, "Lanes of one period", "--timeline-product")).toBe(wide);
  await block(tab).focus();
  await tab.keyboard.press("ArrowDown");
  await expect(said(tab, "Block")).toContainText("warp 8 producer");
  await tab.keyboard.press("End");
  await expect(said(tab, "Block")).toContainText("TMA load");
  expect(wrong).toEqual([]);
});

test("a group opens to its warps; a click on a span selects its line; the wheel zooms", async ({ page: tab }) => {
  await open(tab, page("timeline"), "#stage=timeline:0");
  const group = tab.getByRole("button", { name: "warps 0-7 consumers" });
  await expect(group).toHaveAttribute("aria-expanded", "false");
  await group.press("Enter");
  const names = tab.getByRole("region", { name: "Block", exact: true }).locator(".lane-name");
  await expect(names).toHaveCount(9);
  await expect(names.nth(7)).toHaveText("warp 7");
  const chart = block(tab);
  const size = (await chart.boundingBox()) as { width: number; height: number };
  await chart.click({ position: { x: size.width * 0.03, y: 18 + 26 * 2.4 } });
  await expect(said(tab, "Block")).toContainText("warp 2 at 0 ns: mbarrier wait");
  await expect(tab).toHaveURL(/source=.*gemm\.py(%3A|:)194/);
  const before = await pixels(tab, /^Lanes of block/, "--timeline-copy");
  await chart.hover({ position: { x: 5, y: 40 } });
  await tab.mouse.wheel(0, -400);
  await expect.poll(() => pixels(tab, /^Lanes of block/, "--timeline-copy")).not.toBe(before);
});

for (const colorScheme of ["light", "dark"] as const)
  test(`no violation of WCAG with tables open and a line selected, ${colorScheme}`, async ({ page: tab }) => {
    await tab.emulateMedia({ colorScheme });
    await open(tab, page("timeline"), "#stage=timeline:0");
    await expect(tab.getByRole("table", { name: "A period" })).toBeVisible();
    await tab.getByRole("table", { name: "A period" }).getByRole("button").first().click();
    for (const summary of await tab.locator(".span-table summary").all()) await summary.click();
    await block(tab).focus();
    await tab.keyboard.press("ArrowRight");
    expect(await violationsOf(tab, colorScheme)).toEqual([]);
  });
