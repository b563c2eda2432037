/** Pictures of bank conflicts and of touched sectors, which remarks open. */

import { type Page, expect, test } from "./checked";
import { open, page } from "./pages";
import { violationsOf } from "./axe";

const dialog = (tab: Page) => tab.locator("dialog.request");
const button = (tab: Page) => tab.getByRole("button", { name: "Picture", exact: true }).first();

/** Of a figure, what is drawn for each thread, and whether it is marked. */
async function drawn(tab: Page, figure: number): Promise<{ turn: number; costs: boolean }[]> {
  return await dialog(tab)
    .locator("figure")
    .nth(figure)
    .locator("g.served, g.costs")
    .evaluateAll((marks) => marks.map((mark) => ({ turn: Number(mark.textContent), costs: mark.classList.contains("costs") })));
}

test("a conflict, and the swizzle that takes it away, with the keyboard alone", async ({ page: tab }) => {
  await open(tab, page("conflicts"), "#tab=remarks");
  await button(tab).focus();
  await tab.keyboard.press("Enter");
  await expect(dialog(tab)).toBeVisible();
  await expect(dialog(tab).locator("figcaption")).toHaveText(["As it is: 32 wavefronts", "With S<5,0,5>: 1 wavefront"]);
  const [before, after] = [await drawn(tab, 0), await drawn(tab, 1)];
  expect(before.map((each) => each.turn)).toEqual(Array.from({ length: 32 }, (_, thread) => thread + 1));
  expect(before.filter((each) => each.costs)).toHaveLength(31);
  expect(after.map((each) => each.turn)).toEqual(new Array(32).fill(1));
  expect(after.some((each) => each.costs)).toBe(false);
  await expect(dialog(tab).locator(".requests")).toBeFocused();
  for (let press = 0; press < 3; press++) await tab.keyboard.press("ArrowDown");
  await expect(dialog(tab).locator(".about-cell")).toHaveText(
    "Thread 2: offset 256 bytes, bank 0, wavefront 3, behind 2 other words of its bank; with S<5,0,5>: offset 264 bytes, bank 2, wavefront 1",
  );
  await expect(dialog(tab).locator("svg .marked")).toHaveCount(2);
  await expect(dialog(tab)).toContainText("cutecc layout '32:32' --swizzle 5,0,5 --banks --element-bits 32");
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Enter");
  await expect(dialog(tab).locator("caption")).toHaveText("32 wavefronts; with S<5,0,5> 1 wavefront");
  const rows = dialog(tab).locator("tbody tr");
  await expect(rows).toHaveCount(32);
  expect(await rows.nth(2).locator("th, td").allTextContents()).toEqual(["2", "256", "0", "3", "2", "264", "2", "1", "0"]);
  await tab.keyboard.press("Escape");
  await expect(dialog(tab)).toBeHidden();
  await expect(button(tab)).toBeFocused();
});

test("as many sectors are drawn as the remark counts", async ({ page: tab }) => {
  await open(tab, page("elementwise_add"), "#tab=remarks");
  await tab.getByLabel("From").selectOption("check-coalescing");
  await button(tab).click();
  await expect(dialog(tab).locator("figcaption")).toHaveText(["16 sectors"]);
  await expect(dialog(tab)).toContainText("takes 16 sectors a request");
  const marks = await drawn(tab, 0);
  expect(new Set(marks.map((each) => each.turn)).size).toBe(16);
  expect(marks).toHaveLength(32);
  // Two threads use 4 of a sector's 32 bytes each.
  expect(marks.every((each) => each.costs)).toBe(true);
  expect(await dialog(tab).locator(".foot").allTextContents()).toEqual(new Array(16).fill("8"));
  await dialog(tab).getByRole("button", { name: "Close" }).click();
  await expect(dialog(tab)).toBeHidden();
});

test("no violation of WCAG, light and dark, and nothing out of the window", async ({ page: tab }) => {
  await open(tab, page("conflicts"), "#tab=remarks");
  await button(tab).click();
  await dialog(tab).locator("summary").click();
  for (const width of [1000, 1280, 1600]) {
    await tab.setViewportSize({ width, height: 900 });
    expect(await dialog(tab).evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
  }
  for (const colorScheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme });
    await expect(tab.locator("html")).toHaveAttribute("data-theme", colorScheme);
    expect(await violationsOf(tab, colorScheme)).toEqual([]);
  }
});
