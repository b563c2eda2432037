/** Where things are: what is on the screen first, and how the page divides its room. */

import { expect, test } from "@playwright/test";
import { box, open, page } from "./pages";

test("a module opens at its kernel, another stage at the same place of it, and a listing at its beginning", async ({ page: tab }) => {
  await open(tab, page("gemm"));
  const top = async () => {
    const { x, y } = await box(tab.locator(".editors .cm-scroller").first());
    return await tab.evaluate(([x, y]) => document.elementFromPoint(x!, y!)?.closest(".cm-line")?.textContent ?? "", [x + 150, y + 32]);
  };
  await expect.poll(top).toContain("cuda.kernel @");
  await tab.keyboard.press("j");
  await expect.poll(top).toContain("cuda.kernel @");
  await expect(tab.locator(".source-editor .cm-line", { hasText: "def kernel(" })).toBeInViewport();
});

test("source and details are below the text where the page is narrow, and where they are wanted", async ({ page: tab }) => {
  const below = async () => (await box(tab.locator("#side"))).y > (await box(tab.locator(".editors"))).y + 100;
  await tab.setViewportSize({ width: 1000, height: 700 });
  await open(tab, page("gemm"), "#stage=11&view=split");
  await expect(tab.locator(".differences")).toContainText("lines differ");
  await expect.poll(below).toBe(true);
  await expect.poll(async () => (await box(tab.locator(".toolbar"))).height).toBeLessThan(80);
  await expect.poll(async () => (await box(tab.locator(".source-editor .cm-content"))).width).toBeGreaterThan(400);
  await tab.keyboard.press("b");
  await expect.poll(below).toBe(false);
  await tab.setViewportSize({ width: 1600, height: 900 });
  await open(tab, page("gemm"));
  await expect.poll(below).toBe(false);
});

test("nothing scrolls but what is meant to, and places stand beside their text", async ({ page: tab }) => {
  await tab.setViewportSize({ width: 1400, height: 500 });
  const isLonger = () => tab.evaluate(() => document.documentElement.scrollHeight > document.documentElement.clientHeight);
  for (const place of ["", "#stage=sass"]) {
    await open(tab, page("gemm"), place);
    for (const panel of ["Heat", "Instructions", "Resources", "Remarks", "History"]) {
      await tab.getByRole("tab", { name: panel }).click();
      await expect.poll(isLonger).toBe(false);
    }
  }
  for (const link of await tab.locator(".line-link").all()) {
    const [number, code] = [await box(link.locator(".muted")), await box(link.locator("code"))];
    const end = await link.locator(".muted").evaluate((each) => {
      const range = document.createRange();
      range.selectNodeContents(each);
      return range.getBoundingClientRect().right;
    });
    expect(Math.max(end, number.x + number.width)).toBeLessThan(code.x);
  }
});

test("columns are as wide as their bars are moved, by keys too", async ({ page: tab }) => {
  await open(tab, page("elementwise_add"));
  const width = async () => (await box(tab.locator(".column.left"))).width;
  const before = await width();
  const bar = tab.getByRole("separator", { name: "Width of the list" });
  await bar.focus();
  await tab.keyboard.press("ArrowRight");
  await expect.poll(width).toBe(before + 24);
  const { x } = await box(bar);
  await tab.mouse.move(x + 2, 300);
  await tab.mouse.down();
  await tab.mouse.move(x - 48, 300);
  await tab.mouse.up();
  await expect.poll(width).toBeCloseTo(before + 24 - 50, 0);
});

test("counts stand apart from line numbers, and an opcode is whole at 200 %", async ({ page: tab }) => {
  await open(tab, page("gemm"));
  await expect(tab.locator(".source-editor .cm-count-sass span").first()).toBeVisible();
  const count = await box(tab.locator(".source-editor .cm-count-sass"));
  const number = await tab.locator(".source-editor .cm-lineNumbers").evaluate((each) => {
    const padding = Number.parseFloat(getComputedStyle(each.querySelector(".cm-gutterElement")!).paddingLeft);
    return each.getBoundingClientRect().x + padding;
  });
  expect(number - count.right).toBeGreaterThanOrEqual(8);
  await tab.setViewportSize({ width: 640, height: 450 });
  await open(tab, page("gemm"), `#tab=instructions&source=${encodeURIComponent(await tab.locator('.source-pane [role="tab"]').first().getAttribute("title") ?? "")}:103`);
  // At 200 % there is room for one of the list and the source.
  await tab.keyboard.press("]");
  const codes = tab.locator(".instruction code");
  await expect(codes.first()).toBeAttached();
  for (const code of (await codes.all()).slice(0, 40))
    expect(await code.evaluate((each) => each.scrollWidth - each.clientWidth)).toBeLessThanOrEqual(0);
});

test("dark where the system is dark, and where it is asked for", async ({ page: tab }) => {
  const ground = () => tab.evaluate(() => getComputedStyle(document.querySelector(".cm-editor")!).backgroundColor);
  await tab.emulateMedia({ colorScheme: "dark" });
  await open(tab, page("elementwise_add"));
  await expect(tab.locator("html")).toHaveAttribute("data-theme", "dark");
  await expect.poll(ground).toBe("rgb(21, 24, 29)");
  await tab.emulateMedia({ colorScheme: "light" });
  await expect(tab.locator("html")).toHaveAttribute("data-theme", "light");
  await expect.poll(ground).toBe("rgb(255, 255, 255)");
  await tab.keyboard.press("d");
  await expect(tab.locator("html")).toHaveAttribute("data-theme", "dark");
  await expect(tab).toHaveURL(/theme=dark/);
});

test("a page of its own data, too, is read at 200 % and 1000 pixels", async ({ page: tab }) => {
  for (const [width, height] of [
    [1000, 700],
    [640, 450],
  ] as const) {
    await tab.setViewportSize({ width, height });
    await open(tab, page("gemm"), "#stage=8&view=split");
    await expect(tab.locator(".cm-line").first()).toBeVisible();
    const sideways = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(sideways).toBeLessThanOrEqual(0);
    for (const name of ["Text", "Unified"]) await expect(tab.getByRole("radio", { name })).toBeInViewport();
    for (const editor of await tab.locator(".editors .cm-editor").all())
      await expect.poll(async () => (await box(editor)).height).toBeGreaterThan(100);
  }
});
