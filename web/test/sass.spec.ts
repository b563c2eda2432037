/** Machine code in columns: what stands beside it, folds, links, definitions and uses, spills; by mouse and keyboard. */

import { execFileSync } from "node:child_process";
import path from "node:path";
import { type Locator, type Page, expect, test } from "./checked";
import { BUILT, REPOSITORY, open, page } from "./pages";

const GEMM = "#stage=listing:Gemm.sass";
const SPILLING = "#stage=listing:scale.sass";

const editor = (tab: Page): Locator => tab.locator(".editors .cm-sass");
const heads = (tab: Page): Locator => editor(tab).locator(".cm-sass-head");
const labels = (tab: Page): Locator => editor(tab).locator(".cm-sass-label");
const status = (tab: Page): Locator => tab.getByRole("status").filter({ hasText: /\S/ });
/** The line that has the caret. */
const active = (tab: Page): Locator => editor(tab).locator(".cm-activeLine");

async function openSass(tab: Page, made: string, fragment: string): Promise<void> {
  await open(tab, page(made), fragment);
  await expect(editor(tab).locator(".cm-line").first()).toBeVisible();
}

test("functions, lines of the source and instructions, without what nvdisasm says of lines", async ({ page: tab }) => {
  await openSass(tab, "gemm", GEMM);
  await expect(editor(tab).locator(".cm-sass-function")).toHaveText(/^\w+: +\d+ instructions, \d+ registers, \d+ live at most, at [0-9a-f]+$/);
  await expect(heads(tab).first()).toBeVisible();
  await expect(heads(tab).filter({ hasText: /^\w+\.py:\d+ {2}\S/ }).first()).toBeVisible();
  await expect(editor(tab)).not.toContainText("//##");
  await expect(editor(tab).locator(".cm-sass-address")).toContainText("0010");
  await expect(editor(tab).locator(".cm-owners .owner").first()).toBeVisible();
});

test("control codes in words, where they are pointed at and by the keyboard", async ({ page: tab }) => {
  await tab.setViewportSize({ width: 1900, height: 900 });
  await openSass(tab, "gemm", GEMM);
  const code = editor(tab).locator(".cm-sass-control span").filter({ hasText: /^B[\d-]{6}:R.:W\d:/ }).first();
  await expect(code).toHaveAttribute("title", /barrier \d tells when its results are written\n[^]*stalls \d+ cycles?/);
  await tab.keyboard.press("e");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("i");
  await expect(status(tab)).toContainText(/0000; .* live registers; .*stalls \d+ cycles?/);
  const told = tab.locator(".sass-told");
  await expect(told).toBeVisible();
  await expect(told.locator("li").first()).toHaveText("0000");
  await expect(told).toContainText(/stalls \d+ cycles?/);
  await tab.keyboard.press("Escape");
  await expect(told).toHaveCount(0);
  await tab.keyboard.press("i");
  await expect(told).toBeVisible();
  await tab.keyboard.press("ArrowDown");
  await expect(told).toHaveCount(0);
});

test("the peak of live registers is a link away", async ({ page: tab }) => {
  await openSass(tab, "gemm", GEMM);
  const peak = editor(tab).locator(".cm-sass-live .peak");
  await editor(tab).locator(".cm-sass-function .cm-sass-link").click();
  await expect(peak.first()).toHaveText(/^peak \d+$/);
  await expect(status(tab)).toContainText("Backspace goes back");
});

test("a line of the source folds its instructions: Enter, the arrow, all at once", async ({ page: tab }) => {
  await openSass(tab, "gemm", GEMM);
  const toggles = editor(tab).locator(".cm-sass-address .toggle");
  await expect(toggles.first()).toHaveText(/^▾/);
  await tab.keyboard.press("e");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("Enter");
  await expect(toggles.first()).toHaveText(/^▸/);
  await expect(editor(tab).locator(".cm-foldPlaceholder")).toHaveCount(1);
  await tab.keyboard.press("Enter");
  await expect(toggles.first()).toHaveText(/^▾/);
  await toggles.first().click();
  await expect(toggles.first()).toHaveText(/^▸/);
  await tab.getByRole("button", { name: "Fold lines" }).click();
  await expect(editor(tab).locator(".cm-sass-address .toggle").filter({ hasText: "▾" })).toHaveCount(0);
  await tab.getByRole("button", { name: "Open lines" }).click();
  await expect(editor(tab).locator(".cm-sass-address .toggle").filter({ hasText: "▸" })).toHaveCount(0);
});

test("a name of a line selects it, with its instructions lit; n and p go through them", async ({ page: tab }) => {
  await openSass(tab, "gemm", GEMM);
  const head = heads(tab).filter({ hasText: /\.py:\d+ {2}\S/ }).nth(1);
  const name = await head.locator(".cm-sass-source").innerText();
  await head.locator(".cm-sass-source").click();
  await expect(tab.locator(".side")).toContainText(name);
  await expect(editor(tab).locator(".cm-lit").first()).toBeVisible();
  await tab.keyboard.press("n");
  await expect(active(tab)).toHaveClass(/cm-lit/);
  const first = await active(tab).innerText();
  await tab.keyboard.press("n");
  await tab.keyboard.press("p");
  await expect(active(tab)).toHaveText(first);
});

test("a label leads to its branches and a branch to its label, and back", async ({ page: tab }) => {
  await openSass(tab, "gemm", GEMM);
  // Whatever is folded opens when it is gone to.
  await tab.getByRole("button", { name: "Fold lines" }).click();
  const loop = labels(tab).filter({ hasText: /loop of \d+ instructions/ });
  for (let i = 0; i < 8 && (await loop.count()) === 0; i++) await editor(tab).locator(".cm-scroller").evaluate((each) => each.scrollBy(0, 500));
  const label = (await loop.first().innerText()).split(":")[0] as string;
  await loop.first().locator(".cm-sass-link").last().click();
  await expect(active(tab)).toContainText(/BRA\s+(?:\S+, )*\.L_x_/);
  await expect(active(tab)).toContainText(label.trim());
  await tab.keyboard.press("Enter");
  await expect(active(tab)).toContainText(`${label}:  loop of`);
  await tab.keyboard.press("Backspace");
  await expect(active(tab)).toContainText("BRA");
  await tab.keyboard.press("Backspace");
  await expect(active(tab)).toContainText(`${label}:  loop of`);
  await tab.keyboard.press("Backspace");
  await expect(status(tab)).toContainText("this is where you began");
  // The loop is drawn from its first instruction on.
  await tab.getByRole("button", { name: "Open lines" }).click();
  await tab.keyboard.press("e");
  await tab.keyboard.press("ArrowDown");
  await expect(editor(tab).locator(".cm-sass-loops .lane.begins").first()).toBeVisible();
});

test("definitions and uses of a register, at the caret and where it is pointed at", async ({ page: tab }) => {
  // A dozen keys, each of which asks again who reads and writes, take long on a machine with other work.
  test.slow();
  await openSass(tab, "spilling", SPILLING);
  const thread = editor(tab).locator(".cm-line").filter({ hasText: "SR_TID.X" });
  await thread.click({ position: { x: 3, y: 5 } });
  await tab.keyboard.press("End");
  for (let i = 0; i < "R0, SR_TID.X".length; i++) await tab.keyboard.press("ArrowLeft");
  await expect(editor(tab).locator(".cm-asked")).toHaveText(/^U?R\d+$/);
  await expect(editor(tab).locator(".cm-use").first()).toBeVisible();
  await expect(status(tab)).toContainText(/^R\d+ is read at [0-9a-f]{4} \w+/);
  const used = editor(tab).locator(".cm-used").first();
  await used.hover();
  await expect(editor(tab).locator(".cm-definition")).toContainText(["SR_TID.X"]);
  await expect(tab.locator(".chain-tooltip").filter({ hasText: "reads what is written at" })).toBeVisible();
  // The tooltip does not end what it is about.
  await expect(editor(tab).locator(".cm-definition")).toContainText(["SR_TID.X"]);
});

test("spills say whose value they keep, on the page and in the terminal", async ({ page: tab }) => {
  await openSass(tab, "spilling", SPILLING);
  await expect(editor(tab).locator(".cm-sass-function")).toContainText(/\d+ spills/);
  const spill = editor(tab).locator(".cm-sass-spill").first();
  await expect(spill).toHaveText(/STL +\[R1\+0x[0-9a-f]+\], R\d+ {2}\/\/ spill of [0-9a-f]{4} /);
  const [, address, opcode] = /spill of ([0-9a-f]{4}) ([\w.]+)/.exec(await spill.innerText()) as unknown as [string, string, string];
  await expect(editor(tab)).not.toContainText("SpillRefill");
  const cutecc = process.env["CUTECC"] ?? path.join(REPOSITORY, ".venv", "bin", "cutecc");
  const shown = execFileSync(cutecc, ["show", path.join(BUILT, "spilling"), "--sass"], { encoding: "utf8", cwd: REPOSITORY });
  expect(shown).not.toContain("SpillRefill");
  expect(shown.split("\n").find((line) => line.includes("STL"))).toContain(`of ${address} ${opcode}`);
  await spill.locator(".cm-sass-link").click();
  await expect(active(tab)).toContainText(opcode);
});

test("the text of nvdisasm, and back; the address keeps it", async ({ page: tab }) => {
  await openSass(tab, "gemm", GEMM);
  await tab.getByRole("checkbox", { name: "Raw" }).check();
  await expect(editor(tab)).toHaveCount(0);
  await expect(tab.locator(".editors")).toContainText("//## File");
  expect(tab.url()).toContain("sass=raw");
  await expect(tab.getByText("Columns", { exact: true })).toHaveCount(0);
  await tab.getByRole("checkbox", { name: "Raw" }).uncheck();
  await expect(editor(tab).locator(".cm-sass-function")).toBeVisible();
});

test("columns go and come, and where there is no room they are not there", async ({ page: tab }) => {
  await openSass(tab, "gemm", GEMM);
  const column = (name: string) => editor(tab).locator(`.cm-sass-${name}`);
  const menu = tab.getByRole("group", { name: "Columns of machine code" });
  await tab.getByText("Columns", { exact: true }).click();
  await expect(column("live")).toHaveCount(1);
  await menu.getByRole("checkbox", { name: "live registers" }).uncheck();
  await expect(column("live")).toHaveCount(0);
  await expect(column("control")).toHaveCount(0);
  await menu.getByRole("checkbox", { name: "control code" }).check();
  await expect(column("control")).toHaveCount(1);
  await menu.getByRole("checkbox", { name: "source above instructions" }).uncheck();
  await expect(heads(tab)).toHaveCount(0);
  await tab.keyboard.press("Escape");
  await expect(menu).toBeHidden();
  await expect(column("owner")).toHaveCount(0);
  await tab.setViewportSize({ width: 2200, height: 900 });
  await expect(column("owner")).toHaveCount(1);
  await tab.setViewportSize({ width: 1000, height: 900 });
  await expect(column("owner")).toHaveCount(0);
  // What was chosen stays.
  await expect(column("control")).toHaveCount(1);
});

test("a search finds what is shown, and leads there", async ({ page: tab }) => {
  await openSass(tab, "spilling", SPILLING);
  await tab.keyboard.press("/");
  await tab.keyboard.type("spill of");
  await expect(tab.locator(".found-head")).toHaveCount(1);
  await tab.locator(".hit").nth(1).click();
  await expect(editor(tab).locator(".cm-found").first()).toHaveText("spill of");
  await tab.locator(".search input[type=search]").fill("//## File");
  await expect(tab.locator(".search")).toContainText("0 lines");
});

test("instructions of a line lead to their rows", async ({ page: tab }) => {
  await openSass(tab, "spilling", `${SPILLING}&tab=instructions`);
  await heads(tab).filter({ hasText: "warp_reduction_sum" }).or(heads(tab).nth(2)).first().locator(".cm-sass-source").click();
  const instruction = tab.locator(".instructions .instruction").last();
  const address = await instruction.locator(".number").innerText();
  expect(address).toMatch(/^[0-9a-f]{4}$/);
  await instruction.click();
  await expect(editor(tab).locator(".cm-sass-address")).toContainText(address);
});

test("registers that are only named otherwise are no difference between two records", async ({ page: tab }) => {
  await open(tab, page("pair"), "#stage=listing:SASS");
  await expect(tab.locator(".editors .cm-line").first()).toBeVisible();
  await expect(tab.locator(".differences")).toContainText("differ");
  const sides = await Promise.all(
    [0, 1].map((side) => tab.locator(".editors .cm-editor").nth(side).locator(".cm-line:not(.cm-removed):not(.cm-added):not(.cm-filler)").allInnerTexts()),
  );
  const plain = (line: string) => line.replace(/\b(U?[RP]|S?B)\d+\b|\.L_x_\d+/g, "$1").trim();
  expect(sides[0]?.map(plain)).toEqual(sides[1]?.map(plain));
});
