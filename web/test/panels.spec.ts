import { type Page, expect, test } from "./checked";
import { box, open, page } from "./pages";
import { build, HOSTILE, python } from "./panels-page";

let file: string;
test.beforeAll(({}, info) => {
  file = build(`panels-${info.workerIndex}`);
});

/** Line `number` of the source that is open. */
const sourceLine = (tab: Page, number: number) =>
  tab.locator(".source-editor .cm-line").nth(number - 1);
/** Click on line `number` until it is chosen: a page that has only just been opened may still scroll it away. */
const chooseLine = async (tab: Page, number: number) =>
  await expect(async () => {
    await sourceLine(tab, number).click();
    await expect(tab.locator(".selected-line strong")).toContainText(`:${number}`, { timeout: 1000 });
  }).toPass();
const lit = (tab: Page) => tab.locator(".editors .cm-line.cm-lit");
const stop = (tab: Page, name: string) => tab.locator("#pass-list .stop", { hasText: name });
const shownFile = async (tab: Page) => await tab.locator('.source-pane [role="tab"][aria-selected="true"]').textContent();

test("a line of the source lights up its operations, its PTX and its SASS, and each leads back", async ({ page: tab }) => {
  await open(tab, file);
  await expect.poll(() => shownFile(tab)).toBe("made_up.py");
  await chooseLine(tab, 7);
  await expect(lit(tab)).toHaveCount(2);
  await expect(lit(tab).first()).toContainText("test.copy");
  await expect(tab.locator(".overview-ruler")).toBeVisible();
  await stop(tab, "SASS").click();
  await expect(lit(tab)).toHaveText(/IADD3/);
  await stop(tab, "PTX").click();
  await expect(lit(tab)).toHaveText(/add\.s32/);
  await tab.locator(".editors .cm-line", { hasText: "st.global" }).click();
  await expect(tab.locator(".source-editor .cm-line.cm-lit")).toHaveText(/store\(b, y\)/);
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:8");
  await tab.locator("#tab-instructions").click();
  await expect(tab.locator(".instruction")).toHaveText([/5.*st\.global/, /0020STG\.E.*global 32/]);
  await tab.locator(".instruction").last().click();
  await expect(stop(tab, "SASS")).toHaveAttribute("aria-selected", "true");
});

test("counts beside the source, and marks where nothing is left", async ({ page: tab }) => {
  await open(tab, file);
  const row = async (number: number) =>
    await Promise.all(["here", "ptx", "sass"].map(async (what) => await tab.locator(`.source-editor .cm-count-${what} .cm-gutterElement`).nth(number - 1).innerText()));
  await expect.poll(() => row(7)).toEqual(["2", "1", "1"]);
  // Through the call in line 6 the load is there.
  await expect.poll(() => row(6)).toEqual(["1", "1", "1"]);
  await expect.poll(() => row(5)).toEqual(["1", "", ""]);
  await stop(tab, "cute-fold-static").click();
  await expect.poll(() => row(5)).toEqual(["–", "", ""]);
});

test("a line that is folded away says by which pass", async ({ page: tab }) => {
  await open(tab, file, "#stage=2");
  await chooseLine(tab, 5);
  await expect(tab.locator(".cm-behind.fate")).toHaveText("removed by cute-fold-static");
  await expect(tab.locator(".selected-line")).toContainText("nothing here: removed by cute-fold-static");
  await expect(lit(tab)).toHaveCount(0);
  await expect(tab.locator(".panel.history")).toContainText("Nothing is left: removed by cute-fold-static.");
});

test("the history of a loop that the trace unrolled says so, not that all of it is gone", async ({ page: tab }) => {
  await open(tab, page("elementwise_add"), "#stage=0");
  await tab.locator(".source-editor .cm-line", { hasText: "range_constexpr" }).click();
  const history = tab.locator(".panel.history");
  await expect(history).toContainText("its body, line 45, is unrolled ×16 by the trace");
  await expect(history).toContainText("Nothing is left of the loop itself: it is unrolled ×16 by the trace.");
  await tab.locator(".source-editor .cm-line", { hasText: "in_bounds[i] =" }).click();
  await expect(history.locator(".events li").nth(1)).toHaveText(/×unrolled ×16 by the trace/);
});

test("the history of a line opens a pass's diff where the line was", async ({ page: tab }) => {
  await open(tab, file);
  await chooseLine(tab, 5);
  const events = tab.locator(".events li");
  await expect(events.first()).toContainText("traced: 1 operation");
  await expect(events.nth(1)).toContainText("removed its operation");
  await events.nth(1).locator("button").click();
  await expect(tab.locator(".about h2")).toContainText("cute-fold-static");
  await expect(tab.locator(".cm-removed")).toContainText("arith.constant 32");
  // The source stays at its line.
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:5");
  await events.first().locator("button").click();
  await expect(lit(tab)).toHaveText(/arith\.constant/);
  await tab.locator(".source-editor .cm-line", { hasText: "return a[0]" }).click();
  await tab.locator(".events button", { hasText: "SASS: 1 instruction" }).click();
  await expect(lit(tab)).toHaveText(/LDG/);
  // What a call made is told apart from the line's own.
  await tab.locator(".source-editor .cm-line", { hasText: "x = load(a)" }).click();
  await expect(tab.locator(".panel.history")).toContainText("SASS: 1 instruction with calls, 0 self");
});

test("an operation in a called function lights its whole chain, shown on hover and to click", async ({ page: tab }) => {
  await open(tab, file);
  const load = tab.locator(".editors .cm-line", { hasText: "test.load" });
  await load.click();
  const source = tab.locator(".source-editor");
  await expect(source.locator(".cm-lit:not(.cm-lit-through)")).toHaveText(/return a\[0\]/);
  await expect(source.locator(".cm-lit-through")).toHaveText(/x = load\(a\)/);
  await load.locator("span").last().hover();
  await expect(tab.locator(".chain-tooltip")).toContainText("made_up.py:11 in load");
  await expect(tab.locator(".chain-tooltip")).toContainText("called from made_up.py:6 in kernel");
  await tab.locator(".chain button", { hasText: "made_up.py:6" }).click();
  await expect(source.locator(".cm-lit:not(.cm-lit-through)")).toHaveText(/x = load\(a\)/);
  await expect(lit(tab)).toHaveText(/test\.load/);
  await expect(lit(tab)).toHaveClass(/cm-lit-through/);
});

test("before a line is selected, lines with the most instructions and those with none are there to select", async ({ page: tab }) => {
  await open(tab, file);
  const panel = tab.locator(".panel.overview");
  await expect(panel.locator("h3")).toHaveText(["Most SASS instructions, with calls ", "Nothing left "]);
  // Lines of one's own come first, although one of a library's became more instructions.
  await expect(panel.locator("ul").first().locator("li")).toHaveText([/made_up/, /made_up/, /made_up/, /made_up/, /tools\.py:3.*9/]);
  await expect(panel.locator("ul").last()).toContainText("removed by cute-fold-static");
  await panel.getByRole("button", { name: "n = 4 * 8" }).click();
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:5");
  await expect(tab.locator(".panel.history")).toContainText("removed its operation");
});

test("remarks stand below their lines and in a list with a filter, as plain text", async ({ page: tab }) => {
  await open(tab, file);
  const below = tab.locator(".cm-remarks");
  await expect(below).toHaveCount(3);
  await expect(below.first()).toContainText("◆ severe a store takes 32 wavefronts");
  await expect(below.nth(1)).toContainText("▲ warning a barrier in a divergent branch check-divergent-barriers");
  await expect(below.last()).toContainText(`● remark loads 32 bits at a time ${HOSTILE} check-access-width`);
  await expect(tab.locator(".source-editor .cm-signs .severity")).toHaveText(["◆", "▲", "●"]);
  expect(await below.last().locator("div").first().getAttribute("title")).toBe("bits 32\npossible bits 128");
  await tab.locator("#tab-remarks").click();
  const list = tab.locator("li.remark");
  // The worst come first.
  await expect(list.locator(".severity")).toHaveText(["◆ severe", "▲ warning", "● remark"]);
  await tab.getByLabel("From").selectOption("check-access-width");
  await expect(list).toHaveCount(1);
  await expect(list).toContainText("possible bits");
  await tab.getByLabel("At least").selectOption("warning");
  await expect(list).toHaveCount(0);
  await tab.getByLabel("From").selectOption("");
  await expect(list).toHaveCount(2);
  await list.last().getByRole("button").click();
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:8");
  await expect(tab.locator("img:not(.cm-widgetBuffer)")).toHaveCount(0);
});

test("resources, and instructions by class for the kernel and for the selected line", async ({ page: tab }) => {
  await open(tab, file);
  await chooseLine(tab, 7);
  await tab.locator("#tab-resources").click();
  const panel = tab.locator(".panel.resources");
  await expect(panel).toContainText("Compiled without line information");
  await expect(panel).toContainText("40 per thread");
  await expect(panel).toContainText("▲ 8 B stored, 16 B loaded");
  await expect(panel).toContainText("63 %: 10 blocks of 128 threads on a multiprocessor, 40 warps");
  await expect(panel).toContainText("limited by registers");
  await expect(panel.locator("summary")).toHaveText("75.0 % of 4 SASS instructions belong to a line of the source, 50.0 % to a line of yours");
  const spilled = panel.locator(".spilled li");
  await expect(spilled).toHaveText([/made_up\.py:7y = x \+ 1.*2 values of MUFU\.EX2: 2 stores, 4 loads, 24 B/, "of no linewhat the kernel began with: 1 store, 0 loads, 4 B"]);
  // A long line of code is cut, and makes the panel no wider.
  expect(await panel.evaluate((each) => each.scrollWidth <= each.clientWidth)).toBe(true);
  const rows = panel.locator("tbody tr");
  await expect(rows.nth(0)).toHaveText(/global 32\s*2\s*50\.0\s*·/);
  await expect(rows.filter({ hasText: "integer" })).toHaveText(/integer\s*1\s*25\.0\s*1/);
});

test("files and lines are those of one's own, of libraries, or both", async ({ page: tab }) => {
  await open(tab, file);
  const tabs = tab.locator('.source-pane [role="tab"]');
  await expect(tabs).toHaveText(["made_up.py", "other.py", "tools.py"]);
  await tab.locator(".source-pane .whose select").selectOption("library");
  await expect(tabs).toHaveText(["tools.py"]);
  await expect(tab.locator(".panel.overview .line-link")).toHaveText([/a library's|b\[0\] = y/]);
  await expect(tab).toHaveURL(/files=library/);
  await tab.locator("#tab-remarks").click();
  await expect(tab.locator("li.remark")).toHaveCount(0);
  await tab.locator(".panel.remarks .whose select").selectOption("mine");
  await expect(tab.locator("li.remark")).toHaveCount(3);
  await expect(tabs).toHaveText(["made_up.py", "other.py"]);
  await tab.locator("#tab-resources").click();
  await expect(tab.locator(".classes thead")).toContainText("mine");
  await expect(tab.locator(".classes tbody tr", { hasText: "integer" })).toHaveText(/integer\s*1\s*25\.0\s*1/);
});

test("a line at the bottom stays to be seen when what is said of it opens below", async ({ page: tab }) => {
  await open(tab, file);
  const scroller = tab.locator(".source-editor .cm-scroller");
  await expect(sourceLine(tab, 7)).toBeVisible();
  // Its last line is at the very bottom.
  await tab.setViewportSize({ width: 1400, height: 500 });
  await scroller.evaluate((each) => (each.scrollTop = each.scrollHeight));
  await sourceLine(tab, 11).click();
  await expect(tab.locator(".selected-line")).toBeVisible();
  const hidden = async () => (await box(sourceLine(tab, 11))).bottom - (await box(scroller)).bottom;
  await expect.poll(hidden).toBeLessThan(1);
  // So does one that the address names.
  await open(tab, file, "#source=/home/me/made_up.py:11");
  await expect(tab.locator(".selected-line")).toBeVisible();
  await expect.poll(hidden).toBeLessThan(1);
});

test("signs have their meaning on hover and in the list of keys", async ({ page: tab }) => {
  await open(tab, file);
  await chooseLine(tab, 5);
  await expect(tab.locator(".events .sign.removed")).toHaveAttribute("title", "operations that nothing used were removed");
  await tab.keyboard.press("Escape");
  await tab.getByRole("button", { name: "Keys" }).click();
  await expect(tab.getByRole("dialog", { name: "Keys" })).toContainText("their users take an equal operation");
});

/** The labels of the drawn cells, row by row. */
async function cells(tab: Page, columns: number): Promise<string[][]> {
  const texts = await tab.locator(".picture-field svg > g:nth-of-type(2) text").allTextContents();
  return Array.from({ length: texts.length / columns }, (_, row) => texts.slice(row * columns, (row + 1) * columns));
}

async function drawLine(tab: Page, text: string): Promise<void> {
  await tab.locator(".editors .cm-line", { hasText: text }).click();
  await tab.keyboard.press("l");
  await expect(tab.locator("dialog.picture:not(.request)")).toBeVisible();
}

test("a layout is drawn with the numbers that Python computes", async ({ page: tab }) => {
  await open(tab, file);
  await drawLine(tab, "test.view");
  const expected = python(
    "from cutecc.layout import Layout\nl = Layout.parse('((2,4),8):((1,16),2)')\nfor i in range(8): print(*(l((i, j)) for j in range(8)))",
  );
  await expect(tab.locator("#picture-title")).toHaveText("((2,4),8):((1,16),2)");
  expect((await cells(tab, 8)).map((row) => row.join(" ")).join("\n")).toBe(expected.trim());
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("ArrowRight");
  await expect(tab.locator(".about-cell")).toHaveText("coordinate ((0,1),1) · index 10 · offset 18");
  await tab.keyboard.press("Escape");
  await expect(tab.locator("dialog.picture:not(.request)")).toBeHidden();
});

test("shared memory shows the bank of each element, in its colour", async ({ page: tab }) => {
  await open(tab, file);
  await drawLine(tab, "test.load");
  await tab.getByLabel("Label").selectOption("bank");
  await tab.setViewportSize({ width: 2200, height: 1100 });
  const expected = python(
    [
      "from cutecc.layout import Layout, Swizzle",
      "from cutecc.layout.pictures import Banks",
      "from cutecc.layout.pictures.colours import bank_colour",
      "l, s, b = Layout.parse('(16,64):(64,1)'), Swizzle(3, 4, 3), Banks(16)",
      "banks = [[b.first(s(l((i, j)) * 2) // 2) for j in range(24)] for i in range(16)]",
      "for row in banks: print(*row)",
      "print(*(bank_colour(bank) for bank in banks[3]))",
    ].join("\n"),
  ).trim().split("\n");
  const field = tab.locator(".picture-field svg");
  await expect.poll(async () => await field.locator("g:nth-of-type(1) rect").count()).toBeGreaterThanOrEqual(16 * 24);
  const columns = (await field.locator("g:nth-of-type(1) rect").count()) / 16;
  const drawn = await cells(tab, columns);
  expect(drawn.map((row) => row.slice(0, 24).join(" "))).toEqual(expected.slice(0, 16));
  const fills = await field.locator("g:nth-of-type(1) rect").evaluateAll((rects) => rects.map((rect) => rect.getAttribute("fill")));
  expect(fills.slice(3 * columns, 3 * columns + 24).join(" ")).toBe(expected[16]);
  await expect(tab.locator(".legend .swatch")).toHaveCount(32);
});

test("a tiled copy shows threads and values", async ({ page: tab }) => {
  // Without a column of heat the middle of its line is no fold.
  await open(tab, file, "#heat=");
  await drawLine(tab, "test.copy");
  const expected = python(
    [
      "from cutecc.layout import Layout",
      "l, held = Layout.parse('((8,4),(4,2)):((64,2),(16,1))'), {}",
      "for t in range(32):",
      "    for v in range(8): held.setdefault(l((t, v)), f'T{t} V{v}')",
      "print(*(held.get(i + 16 * 2, '-') for i in range(4)), sep='\\n')",
    ].join("\n"),
  ).trim().split("\n");
  for (const [row, want] of expected.entries()) {
    const found = await tab.locator("dialog.picture:not(.request)").evaluate((dialog, at) => {
      const texts = [...dialog.querySelectorAll<SVGTextElement>(".picture-field svg > g:nth-of-type(2) text")];
      const rects = [...dialog.querySelectorAll<SVGRectElement>(".picture-field svg > g:nth-of-type(1) rect")];
      const lefts = [...new Set(rects.map((rect) => rect.x.baseVal.value))].sort((a, b) => a - b);
      const tops = [...new Set(rects.map((rect) => rect.y.baseVal.value))].sort((a, b) => a - b);
      const [x, y] = [lefts[2]!, tops[at]!];
      const [width, height] = [lefts[1]! - lefts[0]!, tops[1]! - tops[0]!];
      const inside = texts.filter((text) => {
        const [tx, ty] = [text.x.baseVal[0]!.value, text.y.baseVal[0]!.value];
        return tx > x && tx < x + width && ty > y && ty <= y + height;
      });
      return inside.map((text) => text.textContent).join(" ") || "-";
    }, row);
    expect(found).toBe(want);
  }
});

test("a picture is copied as SVG", async ({ page: tab, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
  await open(tab, file);
  await drawLine(tab, "test.view");
  await tab.evaluate(() => {
    const kept = window as unknown as { copied: string };
    Object.defineProperty(navigator, "clipboard", {
      value: { writeText: (text: string) => ((kept.copied = text), Promise.resolve()) },
    });
  });
  await tab.getByRole("button", { name: "Copy as SVG" }).click();
  await expect(tab.getByText("Copied", { exact: true })).toBeVisible();
  const text = await tab.evaluate(() => (window as unknown as { copied: string }).copied);
  const parsed = await tab.evaluate((svg) => {
    const found = new DOMParser().parseFromString(svg, "image/svg+xml");
    return [found.documentElement.tagName, found.querySelectorAll("parsererror").length, found.querySelectorAll("rect[fill]").length];
  }, text);
  expect(parsed.slice(0, 2)).toEqual(["svg", 0]);
  expect(parsed[2]).toBeGreaterThan(64);
});

test("with the keyboard alone: a line of the source, its operations, a picture, and back", async ({ page: tab }) => {
  await open(tab, file, "#theme=dark");
  await expect(tab.locator(":root")).toHaveAttribute("data-theme", "dark");
  await expect(tab.locator(".source-editor .cm-content")).toBeVisible();
  await tab.keyboard.press("s");
  await expect(tab.locator(".source-editor .cm-content")).toBeFocused();
  for (let i = 0; i < 6; i++) await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("Enter");
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:7");
  await tab.keyboard.press("e");
  await tab.keyboard.press("n");
  await expect(tab.locator(".editors .cm-activeLine")).toContainText("test.copy");
  await tab.keyboard.press("n");
  await expect(tab.locator(".editors .cm-activeLine")).toContainText("test.view");
  await tab.keyboard.press("p");
  await expect(tab.locator(".editors .cm-activeLine")).toContainText("test.copy");
  await tab.keyboard.press("l");
  await expect(tab.locator("dialog.picture:not(.request)")).toBeVisible();
  await expect(tab.locator(".picture-field")).toBeFocused();
  await tab.keyboard.press("Escape");
  await expect(tab.locator("dialog.picture:not(.request)")).toBeHidden();
  await expect(tab.locator(".editors .cm-content")).toBeFocused();
  await tab.keyboard.press("Escape");
  await expect(lit(tab)).toHaveCount(0);
});

test("a real kernel: from a line to its instructions and back, with remarks of the page's own numbers", async ({ page: tab }) => {
  await open(tab, page("gemm"));
  const line = tab.locator(".source-editor .cm-line", { hasText: "block_m, block_n = self.tile_of_block(c)" });
  await tab.locator(".source-editor .cm-scroller").evaluate((scroller) => (scroller.scrollTop = 100 * 18 - 100));
  await line.click();
  await expect(lit(tab).first()).toBeVisible();
  await stop(tab, "SASS").click();
  const instructions = lit(tab);
  await expect(instructions.first()).toBeVisible();
  await instructions.first().click();
  await expect(tab.locator(".selected-line .chain").first()).toContainText(/in (Gemm\.)?kernel/);
  await tab.locator("#tab-resources").click();
  const share = Number(/([\d.]+) %/.exec(await tab.locator(".mapped summary").innerText())![1]);
  expect(share).toBeGreaterThanOrEqual(90);
});
