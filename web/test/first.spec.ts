/** What the page says first: the verdict, the counts on tabs, functions and call sites, what each pass does. */

import AxeBuilder from "@axe-core/playwright";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { type Page, expect, test } from "./checked";
import { BUILT, CUTECC, REPOSITORY, madeUp, manifest, open, page, stage } from "./pages";
import { HOSTILE, build } from "./panels-page";

let file: string;
test.beforeAll(({}, info) => {
  file = build(`first-${info.workerIndex}`);
});

const fact = (tab: Page, about: string) => tab.locator(`.fact.of-${about}`);
const row = (tab: Page, name: string | RegExp) => tab.getByRole("treeitem", { name });

test("before anything is selected the page says what to know, and each fact leads to where it is", async ({ page: tab }) => {
  await open(tab, file);
  await expect(tab.locator(".fact")).toHaveCount(5);
  await expect(fact(tab, "occupancy")).toContainText("63%");
  await expect(fact(tab, "occupancy")).toContainText("at most 32 registers (now 40): 16 blocks, 100%");
  await expect(fact(tab, "remarks")).toContainText(`◆ a store takes 32 wavefronts ${HOSTILE}`);
  // What is wrong has a sign, not a colour alone.
  await expect(fact(tab, "spills").locator(".headline")).toContainText("▲ 24 B");
  await fact(tab, "spills").getByRole("button", { name: "24 B" }).click();
  await expect(tab.locator("#tab-resources")).toHaveAttribute("aria-selected", "true");
  await fact(tab, "remarks").getByRole("button", { name: "1 severe" }).click();
  await expect(tab.locator("#tab-remarks")).toHaveAttribute("aria-selected", "true");
  await fact(tab, "spills").getByRole("button", { name: "made_up.py:11" }).click();
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:11");
  await expect(fact(tab, "spills")).toBeVisible();
});

test("the verdict is left out and shown by the keyboard", async ({ page: tab }) => {
  await open(tab, file);
  const strip = tab.getByRole("region", { name: "Verdict" });
  await expect(strip).toBeVisible();
  await tab.keyboard.press("w");
  await expect(strip).toHaveCount(0);
  await expect(tab.getByRole("button", { name: "Verdict" })).toHaveAttribute("aria-pressed", "false");
  await tab.keyboard.press("w");
  await tab.keyboard.press("?");
  await expect(tab.getByRole("dialog", { name: "Keys" })).toContainText("hide or show the verdict");
  await tab.keyboard.press("Escape");
  // By Tab alone from the head into it, and to a line.
  await tab.getByRole("button", { name: "Keys" }).focus();
  for (const name of ["◆ 1 severe, ▲ 1 warning, ● 1 remark", "made_up.py:7"]) {
    await tab.keyboard.press("Tab");
    await expect(strip.getByRole("button", { name }).first()).toBeFocused();
  }
  await tab.keyboard.press("Enter");
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:7");
});

test("in a small window the verdict is short, whole when asked, and nothing of it is cut off", async ({ page: tab }) => {
  await tab.setViewportSize({ width: 1000, height: 700 });
  await open(tab, file);
  const strip = tab.getByRole("region", { name: "Verdict" });
  const scrolls = async () => await strip.evaluate((each) => each.scrollHeight > each.clientHeight + 1);
  await expect(fact(tab, "occupancy")).toContainText("63%");
  await expect(fact(tab, "occupancy").locator(".detail").last()).toBeHidden();
  expect(await scrolls()).toBe(false);
  await strip.getByRole("button", { name: "More" }).click();
  await expect(fact(tab, "occupancy").locator(".detail").last()).toBeVisible();
  await strip.getByRole("button", { name: "Less" }).press("Enter");
  await expect(fact(tab, "occupancy").locator(".detail").last()).toBeHidden();
});

test("several kernels have a row each, below what is said of all", async ({ page: tab }) => {
  const kernels = ["copy", "add"].map((name) => ({ kernel: `kernel_cutlass_${name}_0`, name, facts: [{ about: "occupancy", text: "100%" }] }));
  await open(
    tab,
    madeUp("two-kernels", {
      manifest: manifest([{ status: "failed", name: "cse" }], { status: "failed" }),
      verdict: { facts: [{ about: "failure", text: "cse failed", details: [{ text: "no such value" }], bad: true, step: 1 }], kernels },
      "stage:0": stage(0, ["module {", "}"]),
    }),
  );
  await expect(tab.locator(".fact-row")).toHaveCount(3);
  await expect(tab.locator(".fact-row h3")).toHaveText(["copy", "add"]);
  await fact(tab, "failure").getByRole("button", { name: "cse failed" }).click();
  await expect(tab.locator("#stop-1")).toHaveAttribute("aria-selected", "true");
});

test("a real page says what cutecc explain does", async ({ page: tab }) => {
  await open(tab, page("gemm"));
  const said = execFileSync(CUTECC, ["explain", path.join(BUILT, "gemm")], { encoding: "utf8", cwd: REPOSITORY });
  const terminal = said.replace(/\s+/g, " ");
  for (const each of await tab.locator(".fact .headline strong, .fact .detail").allTextContents())
    expect(terminal).toContain(each.replace(/\s+/g, " ").trim());
  expect(await tab.locator(".fact").count()).toBeGreaterThanOrEqual(5);
});

test("tabs say how much is behind them, of the record and of the selected line", async ({ page: tab }) => {
  await open(tab, file);
  const counts = ["history", "instructions", "remarks"].map((name) => tab.locator(`#tab-${name} .count`));
  const texts = async () => await Promise.all(counts.map(async (each) => await each.innerText()));
  await expect.poll(texts).toEqual(["6", "4", "◆ 3"]);
  await expect(counts[2]!).toHaveAttribute("title", "remarks: 3, the worst severe");
  await tab.locator(".fact.of-remarks").getByRole("button", { name: "made_up.py:8" }).click();
  // Remarks are all listed, whatever line is selected.
  await expect.poll(texts).toEqual(["0", "1", "◆ 3"]);
  await expect(counts[2]!).toHaveAttribute("title", "remarks: 3, the worst severe, 1 on this line");
  await expect(counts[1]!).toHaveAttribute("title", "of this line: 1 in PTX, 1 in SASS");
  await tab.locator(".source-pane .cm-line", { hasText: "n = 4 * 8" }).click();
  await expect.poll(texts).toEqual(["1", "0", "◆ 3"]);
});

test("kernels, functions and call sites, with their own instructions and those of what they call", async ({ page: tab }) => {
  await open(tab, file, "#tab=functions");
  await expect(tab.getByRole("treeitem")).toHaveCount(5);
  await expect(row(tab, /^kernel kernel 4 SASS 3 PTX$/)).toHaveAttribute("aria-expanded", "true");
  await expect(row(tab, /^kernel made_up.py:6 1 SASS itself 3 SASS 1 PTX itself 3 PTX$/)).toBeVisible();
  await expect(row(tab, /^of no line 1 SASS 0 PTX$/)).toBeVisible();
  await row(tab, /^load /).locator(".twisty").click();
  await row(tab, /^called from made_up.py:6 in kernel 1 SASS 1 PTX$/).click();
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:6");
  await expect(row(tab, /^called from made_up.py:6/)).toHaveAttribute("aria-selected", "true");
  await row(tab, /^save /).click();
  await expect(tab.locator(".selected-line")).toContainText("tools.py:3");
  await row(tab, /^load /).click();
  await tab.locator(".functions-panel .whose select").selectOption("mine");
  await expect(row(tab, /^save /)).toHaveCount(0);
  await expect(row(tab, /^load /)).toBeVisible();
});

test("with the keyboard alone: the tree is gone through, opened, closed, and leads to a line", async ({ page: tab }) => {
  await open(tab, file);
  await tab.locator("#tab-history").focus();
  await tab.keyboard.press("ArrowLeft");
  await expect(tab.locator("#tab-functions")).toBeFocused();
  await expect(row(tab, /^kernel kernel/)).toBeVisible();
  const tree = tab.getByRole("tree");
  await tree.locator('[tabindex="0"]').focus();
  const press = async (...keys: string[]) => {
    for (const key of keys) await tab.keyboard.press(key);
  };
  await press("ArrowDown");
  await expect(row(tab, /^kernel made_up/)).toBeFocused();
  await press("End");
  await expect(row(tab, /^of no line/)).toBeFocused();
  await press("Home", "ArrowRight", "ArrowDown", "ArrowRight");
  await expect(row(tab, /^load /)).toHaveAttribute("aria-expanded", "true");
  await press("ArrowRight");
  await expect(row(tab, /^called from made_up.py:6/)).toBeFocused();
  await press("Enter");
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:6");
  await press("ArrowLeft");
  await expect(row(tab, /^load /)).toBeFocused();
  await press("ArrowLeft");
  await expect(row(tab, /^load /)).toHaveAttribute("aria-expanded", "false");
  await press("*");
  await expect(row(tab, /^called from/)).toHaveCount(2);
  await press("Home", "ArrowLeft");
  await expect(tab.getByRole("treeitem")).toHaveCount(1);
  const { violations } = await new AxeBuilder({ page: tab }).include("#side-panel").analyze();
  expect(violations.map((each) => each.id)).toEqual([]);
});

test("each pass has one sentence on what it does: on hover in the list, and above its stage", async ({ page: tab }) => {
  await open(tab, page("elementwise_add"), "#stage=14");
  const sentence = "computes equal operations once (common subexpression elimination)";
  await expect(tab.locator(".toolbar .summary")).toHaveText(sentence);
  await expect(tab.locator("#stop-14")).toHaveAttribute("title", new RegExp(`^${sentence.replace(/[()]/g, "\\$&")}\ncse`));
  for (const each of await tab.locator("#pass-list .stop .number").evaluateAll((cells) => cells.map((cell) => cell.textContent)))
    if (each !== "0" && each !== "") await expect(tab.locator(`#stop-${each}`)).toHaveAttribute("title", /^.{10,}\n/);
});

test("a line with spills leads to the machine code that has them", async ({ page: tab }) => {
  await open(tab, page("spilling"));
  await fact(tab, "spills").getByRole("button", { name: /^spilling\.py:\d+$/ }).first().click();
  await expect(tab.locator(".cm-sass")).toBeVisible();
  await expect(tab.locator(".cm-sass .cm-lit").first()).toBeVisible();
});
