/** Measures in columns, and the hottest lines and instructions. */

import AxeBuilder from "@axe-core/playwright";
import { type Page, expect, test } from "./checked";
import { box, open, page } from "./pages";
import { HOSTILE, build } from "./panels-page";

let file: string;
test.beforeAll(({}, info) => {
  file = build(`heat-${info.workerIndex}`);
});

/** What a column beside the source shows at a line. */
const beside = (tab: Page, column: "self" | "inclusive", line: number) =>
  tab.locator(`.source-editor .cm-heat-${column} .cm-gutterElement`).nth(line - 1);
/** What the column beside the text in the middle shows. */
const besideText = async (tab: Page) => await tab.locator(".editors .cm-heat-text .cm-gutterElement").allTextContents();
const rows = (tab: Page) => tab.locator(".hottest tbody tr");
const choose = async (tab: Page, title: string) => await tab.locator(".toolbar .heat-choice select").selectOption(title);

test("what was measured of a run stands beside the source, a line's own and with what it calls", async ({ page: tab }) => {
  await open(tab, file);
  await expect(beside(tab, "self", 7)).toHaveText("19k");
  await expect(beside(tab, "inclusive", 7)).toHaveText("19k");
  // The load of line 11 came about through line 6.
  await expect(beside(tab, "self", 11)).toHaveText("64");
  await expect(beside(tab, "self", 6)).toHaveText("");
  await expect(beside(tab, "inclusive", 6)).toHaveText("64");
  await expect(beside(tab, "self", 7).locator("span")).toHaveAttribute("title", "warp instructions\nself: 19,096 warp instructions, 99.6 %\ninclusive: 19,096 warp instructions, 99.6 %");
  const [column, number] = await Promise.all([box(tab.locator(".source-editor .cm-heat-inclusive")), box(tab.locator(".source-editor .cm-lineNumbers"))]);
  expect(column.right).toBeLessThanOrEqual(number.left);
  await beside(tab, "self", 7).click();
  await tab.locator(".source-editor .cm-line").nth(6).click();
  await expect(tab.locator(".selected-line .heat-said")).toHaveText("warp instructions: 19,096 self, 19,096 inclusive");
  await choose(tab, "");
  await expect(tab.locator(".cm-heat")).toHaveCount(0);
  await expect(tab).toHaveURL(/heat=(&|$)/);
});

test("beside each text stands its own, or that of the line which it belongs to", async ({ page: tab }) => {
  await open(tab, file, "#stage=listing:k.sass&heat=samples");
  await expect.poll(() => besideText(tab)).toEqual(["", "70", "20", "10", ""]);
  await expect(tab.locator(".editors .cm-heat-text .heat").first()).toHaveAttribute(
    "title",
    "samples\nhere: 70 samples, 70.0 %\n  85.7 % long_sb: waits for data of global memory\n  14.3 % wait: waits a fixed time",
  );
  await expect(tab.locator(".editors .cm-heat-text .heat").first()).toHaveClass(/heat-5 worse/);
  await choose(tab, "warp instructions");
  await expect.poll(() => besideText(tab)).toEqual(["", "64", "19k", "4", ""]);
  await expect(tab.locator(".editors .cm-heat-text .of-line")).toHaveCount(3);
  // Of a stage: two operations in a row are of line 7, and have one number.
  await tab.locator("#pass-list .stop").first().click();
  await expect.poll(() => besideText(tab)).toEqual(["", "", "", "", "64", "19k", "", "4", "", ""]);
  await choose(tab, "live registers");
  await tab.locator("#pass-list .stop", { hasText: "SASS" }).click();
  await expect.poll(() => besideText(tab)).toEqual(["", "3", "12", "2", "0"]);
});

test("the hottest lines and instructions are sorted by any column, and lead there", async ({ page: tab }) => {
  await open(tab, file, "#tab=heat&heat=samples");
  const panel = tab.locator(".heat-panel");
  await expect(panel).toContainText(`How often a warp was seen there. Sampled; more is worse. PC sampling ${HOSTILE}`);
  const head = (name: string) => panel.locator(`.hottest th.${name}`);
  await expect(head("self")).toHaveAttribute("aria-sort", "descending");
  await expect(rows(tab)).toHaveText([/^7070\.0 %7070\.0 %made_up\.py:11/, /^2020\.0 %.*:7/, /^1010\.0 %.*:8/, /^–7070\.0 %made_up\.py:6/, /^–1010\.0 %tools\.py:3/]);
  await head("inclusive").getByRole("button").click();
  await expect(head("self")).toHaveAttribute("aria-sort", "none");
  await expect(head("inclusive")).toHaveAttribute("aria-sort", "descending");
  await expect(rows(tab).nth(1)).toContainText("made_up.py:11");
  await head("place").getByRole("button").click();
  await expect(head("place")).toHaveAttribute("aria-sort", "ascending");
  await expect(rows(tab).first()).toContainText("made_up.py:6");
  await panel.getByRole("button", { name: "made_up.py:11" }).click();
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:11");
  await panel.getByRole("radio", { name: "Instructions" }).click();
  await expect(rows(tab)).toHaveText([/2.*LDG/, /3.*IADD3/, /4.*STG/]);
  await panel.getByRole("button", { name: /STG/ }).click();
  await expect(tab.locator(".editors .cm-line", { hasText: "STG" })).toBeVisible();
  await expect(tab).toHaveURL(/stage=listing/);
});

test("all numbers of a line and of an instruction, and what they are made of", async ({ page: tab }) => {
  await open(tab, file, "#stage=listing:k.sass&tab=heat&heat=samples");
  await tab.locator(".editors .cm-line", { hasText: "LDG" }).click();
  const numbers = tab.locator(".heat-panel .numbers");
  await expect(numbers.locator("summary")).toContainText("Numbers of made_up.py:11 and of /*0000*/ LDG.E");
  const row = (title: string) => numbers.locator("tr", { has: tab.getByRole("rowheader", { name: title, exact: true }) });
  await expect(row("samples").locator("td")).toHaveText(["70", "70", "70"]);
  await expect(row("sectors over needed").locator("td")).toHaveText(["", "2×", "2×"]);
  await expect(row("live registers").locator("td")).toHaveText(["3", "3", "3"]);
  await expect(numbers.locator(".parts li")).toHaveText([/85\.7 % waits for data of global memory/, /14\.3 % waits a fixed time/]);
});

test("with the keyboard alone: to the hottest, another order, and to the line", async ({ page: tab }) => {
  await open(tab, file, "#heat=samples");
  await expect(beside(tab, "self", 7)).toHaveText("20");
  await tab.keyboard.press("h");
  await expect(tab.locator("#tab-heat")).toBeFocused();
  const order = tab.locator(".hottest th.inclusive button");
  for (let i = 0; i < 12 && !(await order.evaluate((each) => each === document.activeElement)); i++) await tab.keyboard.press("Tab");
  await expect(order).toBeFocused();
  await tab.keyboard.press("Enter");
  await expect(tab.locator(".hottest th.inclusive")).toHaveAttribute("aria-sort", "descending");
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Tab");
  await expect(rows(tab).first().getByRole("button")).toBeFocused();
  await tab.keyboard.press("Enter");
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:6");
});

for (const width of [1000, 1280, 1600])
  test(`columns are on the screen and beside the code: ${width} pixels`, async ({ page: tab }) => {
    await tab.setViewportSize({ width, height: 900 });
    await open(tab, file, "#stage=listing:k.sass&tab=heat&heat=samples");
    await expect(rows(tab).first()).toBeVisible();
    for (const [column, code] of [
      [".source-editor .cm-heat-self", ".source-editor .cm-content"],
      [".source-editor .cm-heat-inclusive", ".source-editor .cm-content"],
      [".editors .cm-heat-text", ".editors .cm-content"],
    ] as const) {
      const [is, text] = await Promise.all([box(tab.locator(column)), box(tab.locator(code))]);
      expect(is.left).toBeGreaterThanOrEqual(0);
      expect(is.right).toBeLessThanOrEqual(Math.min(text.left, width));
    }
  });

for (const colorScheme of ["light", "dark"] as const)
  test(`no violation of WCAG, ${colorScheme}`, async ({ page: tab }) => {
    await tab.emulateMedia({ colorScheme });
    await open(tab, file, "#stage=listing:k.sass&tab=heat&heat=samples");
    await expect(rows(tab).first()).toBeVisible();
    const { violations, passes } = await new AxeBuilder({ page: tab }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]).analyze();
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    // Numbers on their colours are among what was looked at.
    const looked = passes.find(({ id }) => id === "color-contrast")?.nodes.map(({ html }) => html) ?? [];
    expect(looked.some((html) => html.includes("heat-5"))).toBe(true);
  });

test("of a real kernel the registers that live stand beside SASS when they are asked for", async ({ page: tab }) => {
  await open(tab, page("elementwise_add"), "#stage=listing:elementwise_add.sass");
  await expect(tab.locator(".editors .cm-line").first()).toBeVisible();
  await expect(tab.locator(".cm-heat")).toHaveCount(0);
  await choose(tab, "live registers");
  await expect(tab.locator(".editors .cm-heat-text .heat").first()).toHaveText(/^\d+$/);
});
