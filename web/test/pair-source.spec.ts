/** The source on the page of two records: an element-wise add, and one with other tiles. */

import { type Page, expect, test } from "./checked";
import { listing, madeUp, open, page, stage } from "./pages";

const source = (tab: Page) => tab.locator(".pair-source");
const row = (tab: Page, text: string) => tab.locator(".changed-lines tbody tr", { hasText: text });
const lit = (tab: Page, editor: number) => tab.locator(".editors .cm-editor").nth(editor).locator(".cm-line.cm-lit");

test("lines of one version alone are marked, those of both have what they have in A and in B", async ({ page: tab }) => {
  await open(tab, page("pair-edited"), "#stage=14-14");
  await expect(source(tab).locator(".file")).toHaveText("elementwise_add.py → edited_add.py");
  await expect(source(tab).locator(".change-heads")).toHaveText("herePTXSASSA → B");
  await expect(source(tab).locator(".cm-change-sass").getByText(/^\d+ → \d+ ▲$/).first()).toBeVisible();
  await expect(source(tab).locator(".cm-change-sass [title]").first()).toHaveAttribute("title", /in A → in B: (\+|−)\d+|: the same/);
  await expect(tab.locator(".editors .cm-editor")).toHaveCount(2);
  await tab.keyboard.press("v");
  await expect(source(tab).getByRole("checkbox", { name: "lines that differ" })).toBeChecked();
  await expect(source(tab).locator(".cm-line.cm-removed").first()).toHaveText(/fragment_b.fill\(0\)/);
  await expect(source(tab).locator(".cm-line.cm-added").first()).toHaveText(/# The copies are of one element each/);
  await expect(source(tab).locator(".cm-lineNumbers")).toContainText(/51 +−/);
  await expect(source(tab).locator(".cm-content")).not.toContainText("tiled_a: cute.Tensor,");
  await tab.keyboard.press("v");
  await expect(source(tab).locator(".cm-content")).toContainText("tiled_a: cute.Tensor,");
});

test("a line that is selected is lit in both stages, by keys alone", async ({ page: tab }) => {
  await open(tab, page("pair-edited"), "#stage=14-14");
  await expect(tab.locator(".changed-lines tbody tr").first()).toBeVisible();
  await tab.keyboard.press("s");
  await expect(source(tab).locator(".cm-content")).toBeFocused();
  await tab.keyboard.press("Control+Home");
  // A key that is pressed while the editor is drawn anew may be lost.
  const caret = source(tab).locator(".cm-activeLine");
  for (let line = 1; line < 80 && !(await caret.textContent())?.includes("element = cute.make_copy_atom"); line++)
    await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("Enter");
  await expect(source(tab).locator(".cm-line.cm-lit")).toContainText("element = cute.make_copy_atom");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("Enter");
  await expect(source(tab).locator(".cm-line.cm-lit")).toContainText("cute.copy(element, thread_a");
  await expect(tab).toHaveURL(/source=[^&]*edited_add.py%3A54/);
  await expect(tab.locator('.hidden[role="status"]')).toContainText(/line elementwise_add.py → edited_add.py:54, .* SASS in A → in B/);
  for (const editor of [0, 1]) await expect(lit(tab, editor).first()).toBeVisible();
  await tab.keyboard.press("Escape");
  for (const editor of [0, 1]) await expect(lit(tab, editor)).toHaveCount(0);
});

test("an operation leads to its line, also of A", async ({ page: tab }) => {
  await open(tab, page("pair-edited"), "#stage=14-14");
  await expect(tab.locator(".editors .cm-editor")).toHaveCount(2);
  await tab.keyboard.press("1");
  await expect(tab.locator(".editors .cm-editor")).toHaveCount(1);
  await expect(tab.locator(".editors .cm-content")).toHaveAttribute("aria-label", /^A after/);
  await row(tab, "fragment_b.fill(0)").getByRole("button").click();
  await expect(tab).toHaveURL(/of=a/);
  await expect(lit(tab, 0).first()).toBeVisible();
  await row(tab, "cute.copy(element, thread_b").getByRole("button").click();
  await expect(tab).not.toHaveURL(/of=a/);
  await row(tab, "fragment_b.fill(0)").getByRole("button").click();
  await lit(tab, 0).first().click();
  await expect(tab).toHaveURL(/source=[^&]*elementwise_add.py%3A51/);
  await expect(row(tab, "fragment_b.fill(0)")).toHaveClass("selected");
  await tab.reload();
  await expect(row(tab, "fragment_b.fill(0)")).toHaveClass("selected");
});

test("the lines that differ sort by what changed", async ({ page: tab }) => {
  await open(tab, page("pair-edited"), "#stage=14-14");
  const changes = async (column: number) =>
    (await tab.locator(`.changed-lines tbody td:nth-of-type(${column})`).allInnerTexts()).map((text) => {
      const [, a = "0", b = "0"] = /(\d+) → (\d+)/.exec(text.replaceAll(",", "")) ?? [];
      return Number(b) - Number(a);
    });
  const header = (name: string) => tab.getByRole("columnheader", { name });
  await expect(header("SASS")).toHaveAttribute("aria-sort", "descending");
  const rising = await changes(3);
  expect(rising[0]).toBeGreaterThan(0);
  expect(rising).toEqual([...rising].sort((one, other) => other - one));
  await header("PTX").getByRole("button").focus();
  await tab.keyboard.press("Enter");
  await expect(header("PTX")).toHaveAttribute("aria-sort", "descending");
  await tab.keyboard.press("Enter");
  await expect(header("PTX")).toHaveAttribute("aria-sort", "ascending");
  await expect(header("SASS")).toHaveAttribute("aria-sort", "none");
  const falling = await changes(2);
  expect(falling[0]).toBeLessThan(0);
  expect(falling).toEqual([...falling].sort((one, other) => one - other));
  await header("line").getByRole("button").click();
  const numbers = await tab.locator(".changed-lines tbody th").allInnerTexts();
  expect(numbers.slice(0, 2)).toEqual([...numbers.slice(0, 2)].sort((one, other) => parseInt(one) - parseInt(other)));
  await expect(row(tab, "# The copies")).toContainText("+ only B");
});

test("remarks of both stand at their lines, with the numbers that changed", async ({ page: tab }) => {
  await open(tab, page("pair-edited"));
  await expect(tab.locator(".overview")).toContainText("remarks in both with other numbers");
  await tab.getByRole("tab", { name: "Lines that differ" }).focus();
  await tab.keyboard.press("ArrowRight");
  await expect(tab.getByRole("tab", { name: /Remarks \(\d differ\)/ })).toBeFocused();
  const changed = tab.getByRole("region", { name: "In both, with other numbers" });
  await expect(changed).toContainText("sectors a request 16 → 8");
  await changed.getByRole("button", { name: /:54$/ }).first().click();
  await expect(source(tab).locator(".cm-line.cm-lit")).toContainText("cute.copy(element, thread_a");
  await expect(source(tab).locator(".cm-remarks").first()).toContainText(/^changed/);
  await source(tab).getByRole("checkbox", { name: "remarks" }).uncheck();
  await expect(source(tab).locator(".cm-remarks")).toHaveCount(0);
});

const side = (record: string) => ({
  ...{ record, kernel: "k", target: "sm_90a", status: "ok", source: "k.py", command: [], pipeline: "", passes: 0, options: {} },
  ...{ versions: {}, resumed: null, failure: null, outputs: [] },
});
const traced = { index: 0, selector: "traced", state: "input", text: null, seconds: null };

test("counters are compared where both have them, a file of one alone is told, nothing is HTML", async ({ page: tab }) => {
  const remark = { severity: "warning", message: "<b>spills</b>", location: "k.py:2:1", numbers: {} };
  const text = "def <b>k</b>():\n    work()\n";
  const kept = (warps: number) => ({ title: "", lines: [{ kernel: "k", file: "k.py", line: 2, counts: { warps } }] });
  const spent = (total: number, cost: number) => ({
    ...{ title: "M=8", device: "H200", unit: "µs", total },
    lines: [{ file: "k.py", line: 2, cost, waits: { "waits for <i>memory</i>": cost - 1, issues: 0.5 } }],
  });
  const chunks = {
    pair: {
      a: side("left"),
      b: side("right"),
      passes: [{ a: traced, b: traced, lines: { a: 0, b: 0 } }],
      ...{ first_difference: null, ptx: null, same_cubin: null, resources: [], instructions: [], instructions_of: null },
      remarks: [
        { by: "check", a: remark, b: null, a_line: ["k.py", 2], b_line: null },
        { by: "check", a: null, b: remark, a_line: null, b_line: ["more.py", 1] },
        { by: "check", a: null, b: { ...remark, message: "of no file" }, a_line: null, b_line: ["gone.py", 1] },
      ],
      notes: [],
      results: null,
    },
    sources: [
      { a: "k.py", b: "k.py", stretches: [[1, 1, 3, true]] },
      { a: null, b: "more.py", stretches: [] },
    ],
    "a:user-lines": { chains: [], sources: { "k.py": text } },
    "b:user-lines": { chains: [], sources: { "k.py": text, "more.py": "one\n" } },
    "a:places:0": [[["k.py", 2, 5]]],
    "b:places:0": [[["more.py", 1, 1]], [["k.py", 2, 5]]],
    "a:stage:0": stage(0, ["module {", "  work", "}"], [-1, 0, -1]),
    "b:stage:0": stage(0, ["module {", "  work", "  work", "  other", "}"], [-1, 1, 1, 0, -1]),
    "a:listing:k.sass": listing("sass", "k.sass", ["  MOV"], { table: [[["k.py", 2, 0]]], places: [0], classes: [0], class_names: ["move"] }),
    "a:counters": kept(40),
    "b:counters": kept(32),
    "a:costs": spent(20.5, 8.25),
    "b:costs": spent(18, 6.5),
  };
  await open(tab, madeUp("pair-source", chunks), "#stage=0-0");
  await expect(source(tab).locator(".change-heads")).toHaveText("hereSASSwarpµsA → B");
  await expect(source(tab).locator(".change-heads .of-cost")).toHaveAttribute("title", "Microseconds of a call, of 20.5 → 18, by samples in A → in B: M=8 on H200");
  const work = row(tab, "work()");
  await expect(work).toContainText("1 → 2 ▲");
  await expect(work).toContainText("1 → 0 ▼");
  await expect(work).toContainText("40 → 32 ▼");
  await expect(work).toContainText("8.25 → 6.5 ▼");
  await expect(work.locator("td", { hasText: "8.25" })).toHaveAttribute("title", "7.25 → 5.5 µs: waits for <i>memory</i>\n0.5 µs: issues");
  await expect(tab.locator("#app i")).toHaveCount(0);
  await expect(work).toContainText("1 remark");
  await expect(source(tab).locator(".cm-remarks")).toHaveText("only A <b>spills</b> check");
  await source(tab).getByRole("combobox", { name: "File" }).selectOption("more.py (only B)");
  await expect(source(tab).locator(".cm-line.cm-added")).toHaveCount(2);
  await expect(source(tab).locator(".cm-remarks")).toHaveText("only B <b>spills</b> check");
  await tab.getByRole("tab", { name: "Remarks (3 differ)" }).click();
  await tab.getByRole("region", { name: "Only in A" }).getByRole("button", { name: "k.py:2" }).click();
  await expect(source(tab).locator(".cm-line.cm-lit")).toContainText("work()");
  const { "a:user-lines": _, "b:user-lines": __, sources: ___, ...without } = chunks;
  await open(tab, madeUp("pair-no-source", without));
  await expect(source(tab)).toContainText("The two records hold no Python.");
});
