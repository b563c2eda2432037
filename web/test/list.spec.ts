/** The list of a watch: a function that was compiled three times. */

import path from "node:path";
import { pathToFileURL } from "node:url";
import { type Page, expect, test } from "./checked";
import { BUILT } from "./pages";
import { violationsOf } from "./axe";

const LIST = pathToFileURL(path.join(BUILT, "watched", "index.html")).href;

test.beforeEach(async ({ page: tab }) => {
  await tab.goto(LIST);
  await expect(tab.getByLabel("Filter by name")).toBeVisible();
});
const records = async (tab: Page) =>
  (await tab.locator("#kernels tbody tr:visible").evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset["record"])));
const compare = (tab: Page) => tab.getByRole("region", { name: "Compare" });
const header = (tab: Page, name: string) => tab.getByRole("columnheader", { name });
const ALL = ["kernels/double-sm_90a", "kernels/double-2-sm_90a", "kernels/double-3-sm_90a"];

test("arguments that differ are marked, with what of them", async ({ page: tab }) => {
  expect(await records(tab)).toEqual(ALL);
  await expect(tab.locator("#kernels .differs")).toHaveCount(6);
  await expect(tab.locator("#kernels .aspects").first()).toHaveText("≠ dtype, shape");
  await expect(tab.locator("#kernels .aspects").nth(1)).toHaveText("≠ value");
  await expect(tab.locator("#kernels")).toContainText("one of 3 versions");
});

test("a heading sorts, by keys", async ({ page: tab }) => {
  const times = async () => await tab.locator("#kernels td[data-sort]:nth-of-type(7)").evaluateAll((cells) => cells.map((each) => Number((each as HTMLElement).dataset["sort"])));
  await header(tab, "program's compile").getByRole("button").focus();
  await tab.keyboard.press("Enter");
  await expect(header(tab, "program's compile")).toHaveAttribute("aria-sort", "ascending");
  const rising = await times();
  expect(rising).toEqual([...rising].sort((a, b) => a - b));
  await tab.keyboard.press("Space");
  await expect(header(tab, "program's compile")).toHaveAttribute("aria-sort", "descending");
  expect(await times()).toEqual([...rising].reverse());
  await header(tab, "arguments").getByRole("button").click();
  await expect(header(tab, "program's compile")).not.toHaveAttribute("aria-sort", /./);
  expect((await records(tab))[2]).toBe(ALL[2]);
  await expect(tab.getByRole("status")).toHaveText("sorted by arguments, ascending");
});

test("a name filters", async ({ page: tab }) => {
  await tab.keyboard.press("Tab");
  await expect(tab.getByLabel("Filter by name")).toBeFocused();
  await tab.keyboard.type("DOUBLE-2");
  expect(await records(tab)).toEqual([ALL[1]]);
  await expect(tab.locator(".tools")).toContainText("1 of 3 kernels");
});

test("two that are chosen lead to their page, or to the command that makes it", async ({ page: tab }) => {
  const choose = async (record: string) => {
    await tab.getByRole("checkbox", { name: `Compare ${record}`, exact: true }).focus();
    await tab.keyboard.press("Space");
  };
  await expect(compare(tab)).toContainText("Choose two kernels to compare.");
  await choose("double-3-sm_90a");
  await expect(compare(tab)).toContainText("one is chosen");
  await choose("double-sm_90a");
  await expect(compare(tab)).toContainText("double-sm_90a and double-3-sm_90a: these arguments differ");
  await expect(compare(tab)).toContainText("times = const(1) → const(3)");
  const command = compare(tab).getByRole("textbox");
  await expect(command).toHaveValue(
    /^cd \S+\/watched && mkdir -p pairs && cutecc compare kernels\/double-sm_90a kernels\/double-3-sm_90a --report pairs\/double-sm_90a\.\.double-3-sm_90a\.html$/,
  );
  // A third one takes the place of that which was chosen first.
  await choose("double-2-sm_90a");
  await expect(tab.getByRole("checkbox", { name: "Compare double-3-sm_90a" })).not.toBeChecked();
  await expect(compare(tab)).toContainText("double-sm_90a and double-2-sm_90a");
  await expect(command).toHaveCount(0);
  await compare(tab).getByRole("link", { name: "the page of both" }).click();
  await expect(tab).toHaveTitle("double-sm_90a and double-2-sm_90a – cutecc compare");
  await expect(tab.locator(".changed-lines tbody tr", { hasText: "a[thread] = a[thread]" })).toContainText(/\d+ → \d+ ▲/);
});

test("no violation of WCAG, light and dark; all is there without the script", async ({ page: tab, browser }) => {
  for (const name of ["double-sm_90a", "double-3-sm_90a"]) await tab.getByRole("checkbox", { name: `Compare ${name}`, exact: true }).check();
  for (const colorScheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme });
    expect(await violationsOf(tab, colorScheme)).toEqual([]);
  }
  const plain = await browser.newPage({ javaScriptEnabled: false });
  await plain.goto(LIST);
  await expect(plain.locator("#kernels tbody tr")).toHaveCount(3);
  await expect(plain.getByRole("link", { name: "beside double-2-sm_90a" }).first()).toBeVisible();
  await plain.close();
});
