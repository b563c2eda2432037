/** The linked view, all lines coloured, one value followed, and only what belongs to a line. */

import { type Locator, type Page, expect, test } from "./checked";
import { madeUp, listing, manifest, open, page, stage } from "./pages";
import type { Frame, Place } from "../src/data";
import type { Links } from "../src/following/links";
import { violationsOf } from "./axe";

const FILE = "/home/me/made_up.py";
const COUNT = 40;
/** Operations of each line of the kernel: the second one is unrolled by the last pass. */
const EACH = 6;

/** A kernel of `COUNT` lines, each with operations in the order of the source, that become an instruction each. */
function build(name: string): string {
  const at = (line: number): Frame => [FILE, line, 5];
  const table: Place[] = Array.from({ length: COUNT }, (_, i) => [at(i + 2)]);
  const lines: string[] = ["func.func @kernel() {"];
  const places: number[] = [-1];
  for (let i = 0; i < COUNT; i++)
    for (let k = 0; k < EACH; k++) {
      lines.push(`  %${i * EACH + k} = test.op {line = ${i + 2}, part = ${k}} : i32`);
      places.push(i);
    }
  lines.push("}");
  places.push(-1);
  // The last pass puts two operations in the place of line 3's first, and merges its second into the first of line 2.
  const [first, second] = [1 + EACH, 2 + EACH];
  const after = [...lines.slice(0, first), "  %x = low.zero : i32", "  %y = low.add %x : i32", ...lines.slice(second + 1)];
  const placesAfter = [...places.slice(0, first), 1, 1, ...places.slice(second + 1)];
  const links: Links = {
    kept: [0, 0, first, 2, 2, lines.length - second - 1],
    gone: { rewritten: [first], merged: [second] },
    became: [[[first], [first, 1]]],
    elsewhere: [[[second], [1]]],
  };
  const code = (kind: "ptx" | "sass") => {
    const texts = Array.from({ length: COUNT * 2 }, (_, i) => (kind === "ptx" ? `  add.s32 %r${i}, %r1, ${i};` : `  /*${i}*/ IADD3 R${i}, R2, RZ ;`));
    const own = texts.map((_, i) => i >> 1);
    return listing(kind, `k.${kind}`, texts, { table, places: own, classes: texts.map(() => 0), class_names: ["integer"], reasons: texts.map(() => 0) });
  };
  const source = ["def kernel():", ...Array.from({ length: COUNT }, (_, i) => `    x${i} = op(${i})`)].join("\n");
  const history = Array.from({ length: COUNT }, (_, i) => ({ file: FILE, line: i + 2, traced: EACH, events: [], ptx: 2, sass: 2 }));
  return madeUp(name, {
    manifest: manifest([{ name: "quiet" }, { name: "lower" }], { source: FILE, artifacts: [{ kind: "ptx", file: "k.ptx" }, { kind: "sass", file: "k.sass" }] }),
    "places:0": table,
    "stage:0": stage(0, lines, places),
    "stage:1": stage(1, lines, places),
    "stage:2": stage(2, after, placesAfter),
    "links:1": { kept: [0, 0, lines.length] } satisfies Links,
    "links:2": links,
    "user-lines": { chains: [], sources: { [FILE]: source } },
    history: { lines: history },
    "listing:k.ptx": code("ptx"),
    "listing:k.sass": code("sass"),
  });
}

let file: string;
test.beforeAll(({}, info) => {
  file = build(`linked-${info.workerIndex}`);
});

const stagePane = (tab: Page) => tab.locator(".editors .cm-editor").last();
const codePane = (tab: Page) => tab.locator(".linked-code .cm-editor");
const sourcePane = (tab: Page) => tab.locator(".source-editor .cm-editor");
const lineWith = (pane: Locator, text: string) => pane.locator(".cm-line", { hasText: text });
/** Of the lines on the screen those that have a number of this line of Python beside them. */
const numbered = (pane: Locator, line: number) => pane.locator(".cm-user-lines .hue", { hasText: new RegExp(`^${line}$`) });

for (const colorScheme of ["light", "dark"] as const)
  test(`no violation of WCAG, ${colorScheme}: the linked view with colours, a value and a diff of one line`, async ({ page: tab }) => {
    await tab.emulateMedia({ colorScheme });
    await open(tab, file, `#stage=2&view=split&source=${FILE}:3&only=line&lines=coloured&value=0:8&tab=value`);
    await tab.keyboard.press("4");
    await expect(codePane(tab)).toBeVisible();
    await expect(tab.locator(".following .events > li")).toHaveCount(5);
    await expect(tab.locator(".cm-hue").first()).toBeVisible();
    expect(await violationsOf(tab, colorScheme)).toEqual([]);
  });

test("Python, stage and code stand side by side, and all lines have colours and numbers", async ({ page: tab }) => {
  await open(tab, file);
  await expect(stagePane(tab)).toBeVisible();
  await tab.keyboard.press("4");
  await expect(codePane(tab)).toBeVisible();
  await expect(tab.locator(".linked-code [aria-checked=true]")).toHaveText("SASS");
  const columns = await Promise.all([sourcePane(tab), stagePane(tab), codePane(tab)].map((pane) => pane.evaluate((each) => each.getBoundingClientRect().left)));
  expect(columns).toEqual([...columns].sort((a, b) => a - b));
  await tab.keyboard.press("c");
  for (const pane of [stagePane(tab), codePane(tab)]) await expect(numbered(pane, 2).first()).toBeVisible();
  const colour = async (line: Locator) => await line.first().evaluate((each) => getComputedStyle(each).backgroundColor);
  const own = await colour(lineWith(sourcePane(tab), "x0 = "));
  expect(await colour(lineWith(stagePane(tab), "line = 2,"))).toBe(own);
  expect(await colour(lineWith(codePane(tab), "IADD3 R0,"))).toBe(own);
  expect(await colour(lineWith(sourcePane(tab), "x1 = "))).not.toBe(own);
  await tab.locator(".linked-code").getByRole("radio", { name: "PTX" }).click();
  await expect(lineWith(codePane(tab), "add.s32 %r0,")).toBeVisible();
  await expect.poll(() => tab.evaluate(() => location.hash)).toMatch(/panes=linked&code=listing%3Ak\.ptx&lines=coloured/);
  await tab.keyboard.press("4");
  await expect(codePane(tab)).toHaveCount(0);
  await expect(stagePane(tab)).toBeVisible();
  await tab.keyboard.press("c");
  await expect(tab.locator(".cm-hue")).toHaveCount(0);
});

test("what one text shows is brought into view in the others, by scrolling and by keys", async ({ page: tab }) => {
  await open(tab, file);
  await expect(stagePane(tab)).toBeVisible();
  await tab.keyboard.press("4");
  await expect(codePane(tab)).toBeVisible();
  await stagePane(tab).hover();
  await tab.mouse.wheel(0, 18 * EACH * 30);
  await expect(lineWith(sourcePane(tab), "x31 = ")).toBeInViewport();
  await expect(lineWith(codePane(tab), "IADD3 R62,")).toBeInViewport();
  await expect(sourcePane(tab).locator(".cm-tracked")).toHaveCount(1);
  // What follows does not lead: the text that was scrolled stays where it is.
  const top = () => stagePane(tab).locator(".cm-scroller").evaluate((each) => each.scrollTop);
  const before = await top();
  await tab.waitForTimeout(300);
  expect(await top()).toBe(before);
  // With the keyboard alone.
  await tab.keyboard.press("s");
  await expect(sourcePane(tab)).toHaveClass(/cm-focused/);
  await tab.keyboard.press("Control+Home");
  await tab.keyboard.press("ArrowDown");
  await expect(lineWith(stagePane(tab), "line = 2, part = 0")).toBeInViewport();
  await expect(lineWith(codePane(tab), "IADD3 R0,")).toBeInViewport();
  await tab.keyboard.press("g");
  await tab.keyboard.press("Control+End");
  await expect(lineWith(sourcePane(tab), "x39 = ")).toBeInViewport();
  await tab.waitForTimeout(300);
  await expect(lineWith(stagePane(tab), "line = 2, part = 0")).toBeInViewport();
});

test("a value is followed through the passes to its instructions, with the keyboard", async ({ page: tab }) => {
  await open(tab, file);
  await expect(stagePane(tab)).toBeVisible();
  await tab.keyboard.press("e");
  await tab.keyboard.press("Control+Home");
  for (let i = 0; i < 1 + EACH; i++) await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("v");
  await expect(tab.locator("#tab-value")).toHaveAttribute("aria-selected", "true");
  const panel = tab.locator(".following");
  await expect(panel.locator(".events > li")).toHaveText([/traced.*line = 3, part = 0/, /unchanged by 1 quiet/, /2 lower.*rewritten 1 → 2.*low\.zero.*low\.add/, /PTX: 2 instructions of its place/, /SASS: 2 instructions of its line/]);
  await expect(tab.locator(".editors .cm-value")).toHaveText(/line = 3, part = 0/);
  await tab.keyboard.press(".");
  await expect(tab.locator("#pass-list [aria-selected=true]")).toContainText("lower");
  await expect(tab.locator(".editors .cm-value")).toHaveText([/low\.zero/, /low\.add/]);
  await tab.keyboard.press(".");
  await expect(tab.locator(".editors .cm-value")).toHaveText([/add\.s32 %r2,/, /add\.s32 %r3,/]);
  await tab.keyboard.press(",");
  await tab.keyboard.press(",");
  await expect(tab.locator("#pass-list [aria-selected=true]")).toContainText("traced");
  const address = await tab.evaluate(() => location.hash);
  expect(address).toContain("value=0%3A8");
  await open(tab, file, address);
  await expect(panel.locator(".events > li")).toHaveCount(5);
  await panel.getByRole("button", { name: "Clear" }).click();
  await expect(tab.locator(".cm-value")).toHaveCount(0);
});

test("a value that is merged is followed to the one that stands for it, and back from an instruction none is", async ({ page: tab }) => {
  await open(tab, file, `#value=0:${3 + EACH}&tab=value`);
  await expect(tab.locator(".following .events > li").nth(2)).toHaveText(/2 lower\s*merged into an equal one\s*%0 = test.op \{line = 2, part = 0\}/);
  await tab.locator("#pass-list .stop", { hasText: "SASS" }).click();
  await tab.keyboard.press("v");
  await expect(tab.locator("[role=status].hidden")).toHaveText(/followed from a stage/);
});

test("only what belongs to the selected line is shown, of a diff and of a text", async ({ page: tab }) => {
  await open(tab, file, `#stage=2&view=split&source=${FILE}:3`);
  const rows = (editor: number) => tab.locator(".editors .cm-editor").nth(editor).locator(".cm-line");
  await expect(rows(0).first()).toBeVisible();
  await tab.keyboard.press("o");
  const box = tab.getByLabel(/Only this line/);
  await expect(box).toBeChecked();
  await expect(tab.locator(".only-line")).toContainText(/\d of \d+ rows/);
  await expect(rows(0).filter({ hasText: "test" })).toHaveText(Array.from({ length: EACH }, (_, i) => `  %${EACH + i} = test.op {line = 3, part = ${i}} : i32`));
  await expect(rows(1).filter({ hasText: /test|low/ })).toHaveCount(EACH);
  await expect(tab.locator(".cm-unchanged").first()).toHaveText(/⋯ \d+ other lines/);
  // Another line: the same switch.
  await tab.locator(".source-editor .cm-line").nth(4).click();
  await expect(rows(0).first()).toHaveText(/line = 5,/);
  await expect(rows(0)).toHaveCount(EACH);
  await tab.keyboard.press("3");
  await expect(rows(0)).toHaveCount(EACH);
  await tab.locator("#pass-list .stop", { hasText: "SASS" }).click();
  await tab.keyboard.press("1");
  await expect(rows(0)).toHaveText([/IADD3 R6,/, /IADD3 R7,/]);
  await expect(tab.locator(".only-line")).toContainText("2 of 80 lines");
  await tab.keyboard.press("o");
  await expect(tab.locator(".cm-unchanged")).toHaveCount(0);
  await tab.keyboard.press("Escape");
});

test("a kernel's value ends in its instructions", async ({ page: tab }) => {
  await open(tab, page("elementwise_add"));
  await lineWith(stagePane(tab), "nvvm.read.ptx.sreg.ctaid.x").first().click();
  await tab.getByRole("button", { name: "Follow value" }).click();
  const last = tab.locator(".following .events > li").last();
  await expect(last).toContainText(/SASS: [1-9]/);
  await expect(last).toContainText("SR_CTAID.X");
});

test("the selected line stays in sight as the view is linked, whatever remarks stand above it", async ({ page: tab }) => {
  await tab.setViewportSize({ width: 1000, height: 700 });
  await open(tab, page("spilling"));
  await tab.locator(".fact.of-heaviest-lines .detail button").first().click();
  const selected = tab.locator(".source-editor .cm-line.cm-lit");
  await expect(selected).toBeInViewport();
  await tab.keyboard.press("4");
  await expect(tab.locator(".columns.linked")).toBeVisible();
  await expect(selected).toBeInViewport();
});
