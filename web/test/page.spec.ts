import { readFileSync, writeFileSync } from "node:fs";
import type { Layouts } from "../src/data";
import { type Page, expect, test } from "./checked";
import { box, gutterShown, linesShown, listing, madeUp, manifest, open, page, stage } from "./pages";

const selectedStop = (tab: Page) => tab.locator('#pass-list [aria-selected="true"]');

test("a report shows its passes, the traced module and the listings", async ({ page: tab }) => {
  await open(tab, page("gemm"));
  await expect(tab.locator("h1")).toHaveText("Gemm");
  await expect(tab.locator("header")).toContainText("✓ compiled");
  await expect(selectedStop(tab)).toContainText("traced module");
  await expect(tab.locator(".cm-line").first()).toBeVisible();
  expect((await linesShown(tab)).join("\n")).toContain("cuda.kernel @kernel_cutlass_");
  const changed = tab.locator(".stop.changed", { hasText: "cute-desugar" });
  await expect(changed).toContainText("±");
  await expect(changed).toContainText(", changed");
  await expect(changed).toContainText(/cute \d+→\d+/);
  await expect(tab.locator(".stop.unchanged").first()).toContainText("=");
  await expect(tab.locator(".stop", { hasText: "int-range-optimizations" })).toContainText("reimplementation");
  for (const name of ["LLVM IR", "PTX", "SASS"]) {
    await tab.locator(".stop", { hasText: new RegExp(`${name}$`) }).click();
    await expect(tab.locator(".about h2")).toHaveText(name);
    await expect(tab.locator(".cm-line").first()).toBeVisible();
  }
  // The last one is SASS.
  await expect(tab.locator(".cm-sass-function")).toContainText(/instructions, \d+ registers/);
});

test("passes are filtered by name, and those that changed nothing hidden", async ({ page: tab }) => {
  await open(tab, page("gemm"));
  const rows = tab.locator("#pass-list .stop");
  const all = await rows.count();
  await tab.keyboard.press("f");
  await tab.keyboard.type("canon");
  await expect(rows).toHaveCount(2);
  await expect(rows.first()).toContainText("canonicalize");
  await tab.locator("#filter").fill("no such pass");
  await expect(rows).toHaveCount(0);
  await expect(tab.locator("#pass-list")).toContainText("No pass has this name.");
  await tab.locator("#filter").fill("");
  await expect(rows).toHaveCount(all);
  await tab.getByLabel("Hide unchanged").check();
  await expect(tab.locator(".stop.unchanged")).toHaveCount(0);
  await expect.poll(() => rows.count()).toBeLessThan(all);
});

test("j and k move through what the list shows, and the text follows", async ({ page: tab }) => {
  await open(tab, page("gemm"));
  await tab.keyboard.press("j");
  await expect(selectedStop(tab)).toContainText("cute-remove-static-args");
  await expect(tab.locator(".about h2")).toHaveText("1 cute-remove-static-args");
  await tab.keyboard.press("u");
  await tab.keyboard.press("j");
  await expect(selectedStop(tab)).toContainText("cute-desugar");
  await tab.keyboard.press("k");
  await tab.keyboard.press("k");
  await tab.keyboard.press("k");
  await expect(selectedStop(tab)).toContainText("traced module");
});

const BEFORE = [
  "module {",
  "  func.func @first(%arg0: i32) -> i32 {",
  ...Array.from({ length: 20 }, (_, i) => `    %${i} = test.same_${i} %arg0 : i32`),
  "    %20 = arith.addi %3, %4 : i32",
  "    return %20 : i32",
  "  }",
  "  func.func @second(%arg0: i32) -> i32 {",
  "    return %arg0 : i32",
  "  }",
  "}",
];
const AFTER = [
  "module {",
  "  func.func @first(%arg0: i32) -> i32 {",
  "    %c1 = arith.constant 1 : i32",
  ...Array.from({ length: 20 }, (_, i) => `    %${i + 7} = test.same_${i} %arg0 : i32`),
  "    %99 = arith.addi %10, %12 : i32",
  "    return %99 : i32",
  "  }",
  "  func.func @second(%other: i32) -> i32 {",
  "    return %other : i32",
  "  }",
  "}",
];

function renumbered(): string {
  return madeUp("renumbered", {
    manifest: manifest([{ name: "rewrite" }, { name: "nothing", changed: false }, { name: "back" }]),
    "stage:0": stage(0, BEFORE),
    "stage:1": stage(1, AFTER),
    "stage:3": stage(3, BEFORE.map((line) => line.replaceAll("%", "%v"))),
  });
}

test("side by side: what changed stands beside what it was, renumbering is no change", async ({ page: tab }) => {
  await open(tab, renumbered(), "#stage=1&view=split");
  await expect(tab.locator(".differences")).toContainText("2 lines differ");
  const [left, right] = [tab.locator(".cm-editor").first(), tab.locator(".editors .cm-editor").nth(1)];
  await expect(left.locator(".cm-removed")).toHaveCount(1);
  await expect(right.locator(".cm-added")).toHaveCount(2);
  await expect(left.locator(".cm-filler")).toHaveCount(1);
  // Of the operands only the second one is another value; its name alone would not count.
  await expect(left.locator(".cm-word")).toHaveText(["%4"]);
  await expect(right.locator(".cm-word")).toHaveText(["%12"]);
  await expect.poll(() => gutterShown(tab, 0)).toContain("23 ~");
  await expect.poll(() => gutterShown(tab, 1)).toContain(" 3 +");
  const bar = left.getByRole("button", { name: /unchanged lines/ }).first();
  await expect(bar).toHaveText("⋯ 14 unchanged lines");
  await bar.click();
  await expect(left.getByRole("button", { name: /14 unchanged lines/ })).toHaveCount(0);
  await expect(right.getByRole("button", { name: /14 unchanged lines/ })).toHaveCount(0);
});

test("unified: what went before what came, with both numbers", async ({ page: tab }) => {
  await open(tab, renumbered(), "#stage=1&view=unified");
  const texts = await gutterShown(tab);
  expect(texts).toContain("    3 +");
  expect(texts).toContain("23    −");
  expect(texts).toContain("   24 +");
  await expect(tab.locator(".editors .cm-removed")).toHaveCount(1);
});

test("a diff begins at the code: names of types are folded, and no selected line hides what changed", async ({ page: tab }) => {
  const head = (last: string) => [...Array.from({ length: 30 }, (_, i) => `!t${i} = !x.t<${i}>`), last];
  const body = [...Array.from({ length: 60 }, (_, i) => `  %${i} = test.same_${i}`)];
  const before = [...head("!old = !x.old"), "module {", ...body, "  test.first", "}"];
  const after = [...head("!new = !x.new"), "module {", ...body, "  test.second", "}"];
  const at = (lines: string[], what: string) => lines.map((line) => (line.includes(what) ? 0 : -1));
  const file = madeUp("aliases", {
    manifest: manifest([{ name: "rewrite" }], { source: "/k.py" }),
    "user-lines": { chains: [], sources: { "/k.py": "one\ntwo\n" } },
    "places:0": [[["/k.py", 2, 1]]],
    "stage:0": stage(0, before, at(before, "test.first")),
    "stage:1": stage(1, after, at(after, "test.second")),
  });
  for (const view of ["split", "unified"]) {
    await open(tab, file, `#stage=1&view=${view}&source=/k.py:2`);
    const bar = tab.getByRole("button", { name: /names of types and attributes, [12] lines of them changed/ }).first();
    await expect(bar).toBeVisible();
    await expect(tab.locator(".editors .cm-added")).toHaveText("  test.second");
    await expect(tab.locator(".editors .cm-added")).toBeInViewport();
    const colours = await tab.locator(".editors .cm-added.cm-lit").evaluate((line) => [
      getComputedStyle(line).backgroundColor,
      getComputedStyle(document.documentElement).getPropertyValue("--added-bg"),
    ]);
    expect(colours).toEqual(["rgb(233, 247, 236)", "#e9f7ec"]);
    await bar.click();
    await expect(tab.locator(".editors .cm-line", { hasText: "!new" })).toBeVisible();
  }
});

test("any two stages can be compared, also those that differ in names only", async ({ page: tab }) => {
  await open(tab, renumbered(), "#stage=3&view=split");
  await expect(tab.locator(".differences")).toContainText("2 lines differ");
  await tab.getByLabel("Compare with").selectOption({ label: "traced module" });
  await expect(tab.locator(".differences")).toHaveText("no differences");
  await expect(tab.locator(".cm-removed, .cm-added")).toHaveCount(0);
  await expect(tab).toHaveURL(/base=0/);
});

test("a pass that changed nothing says so", async ({ page: tab }) => {
  await open(tab, renumbered(), "#stage=2&view=split");
  await expect(tab.locator(".message")).toHaveText("After pass 1, rewrite and After pass 2, nothing: the same text.");
});

test("of several functions one is shown, and compared", async ({ page: tab }) => {
  await open(tab, renumbered(), "#stage=1");
  await tab.getByLabel("Function").selectOption("second");
  await expect(tab.locator(".editors .cm-line")).toHaveCount(3);
  await expect.poll(() => gutterShown(tab)).toEqual(["27", "28", "29"]);
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("2");
  await expect(tab.locator(".differences")).toHaveText("no differences");
});

const TYPE = '!cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">';

function typed(): string {
  return madeUp("typed", {
    manifest: manifest([]),
    "stage:0": stage(0, ["module {", `  %0 = cute.f(%a) : (${TYPE}) -> i32`, `  %1 = cute.g(%b) : ${TYPE}`, "}"]),
  });
}

test("types are folded; a click, Enter or the switch shows them", async ({ page: tab }) => {
  await open(tab, typed());
  const second = tab.locator(".cm-line").nth(1);
  await expect(second).toHaveText("  %0 = cute.f(%a) : (!cute.memref<…>) -> i32");
  await second.locator(".cm-short").click();
  await expect(second).toHaveText(`  %0 = cute.f(%a) : (${TYPE}) -> i32`);
  await tab.keyboard.press("e");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("End");
  await tab.keyboard.press("Enter");
  await expect(tab.locator(".cm-line").nth(2)).toHaveText(`  %1 = cute.g(%b) : ${TYPE}`);
  await tab.keyboard.press("t");
  await tab.keyboard.press("t");
  await expect(tab.getByLabel("Fold types")).toBeChecked();
  await tab.getByLabel("Fold types").uncheck();
  await expect(tab.locator(".cm-short")).toHaveCount(0);
});

test("a search goes over all texts, says how often and where, and goes there", async ({ page: tab }) => {
  await open(
    tab,
    madeUp("searched", {
      manifest: manifest([{ name: "first" }, { changed: false }, { name: "third" }]),
      "stage:0": stage(0, ["module {", "  test.needle", "}"]),
      "stage:1": stage(1, [...Array.from({ length: 300 }, (_, i) => `  test.line_${i}`), "  test.NEEDLE twice needle"]),
      "stage:3": stage(3, ["nothing"]),
      "listing:k.ptx": listing("ptx", "k.ptx", ["ret;", "// needle"]),
    }),
  );
  await tab.keyboard.press("/");
  await tab.keyboard.type("needle");
  const status = tab.locator(".search [role=status]");
  await expect(status).toHaveText("3 lines in 3 of 4 texts");
  await expect(tab.locator(".hits .found-head")).toHaveText(["0 traced module1", "PTX1", "1 first1"]);
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("Enter");
  await expect(tab.locator(".about h2")).toHaveText("1 first");
  await expect(tab.locator(".cm-found")).toHaveText(["NEEDLE", "needle"]);
  await tab.getByLabel("Match case").check();
  await tab.locator("#search").fill("NEEDLE");
  await expect(status).toHaveText("1 line in 1 of 4 texts");
  await tab.getByLabel("Regex").check();
  await tab.locator("#search").fill("line_(1|2)$");
  await expect(status).toHaveText("2 lines in 1 of 4 texts");
  await tab.locator("#search").fill("(");
  await expect(status).toContainText("Invalid regular expression");
  await tab.keyboard.press("Escape");
  await expect(tab.locator("#pass-list")).toBeVisible();
  await expect(tab.locator(".cm-found")).toHaveCount(0);
});

test("everything is reached by the keyboard alone, and its place is seen", async ({ page: tab }) => {
  await open(tab, page("gemm"));
  await tab.keyboard.press("Tab");
  await expect(tab.locator(":focus")).toHaveText("Skip to the text");
  await tab.keyboard.press("Enter");
  await expect(tab.locator(".editors .cm-content")).toBeFocused();
  const reached = new Set<string>();
  await tab.locator("#pass-list").focus();
  for (let i = 0; i < 60; i++) {
    const { name, outline } = await tab.evaluate(() => {
      const element = document.activeElement as HTMLElement;
      const seen = element.classList.contains("cm-content") ? (element.closest(".cm-editor") as HTMLElement) : element;
      const { outlineStyle, outlineWidth } = getComputedStyle(seen);
      const label = element.getAttribute("aria-label") ?? (element.id || element.textContent?.slice(0, 40));
      return { name: `${element.tagName} ${label}`, outline: `${outlineStyle} ${outlineWidth}` };
    });
    if (!name.startsWith("BODY")) expect(outline, name).not.toMatch(/^none| 0px/);
    reached.add(name);
    await tab.keyboard.press("Tab");
  }
  const names = [...reached].join("\n");
  for (const wanted of ["Passes and listings", "Width of the list", "traced module", "Width of source and details", "tab-history", "Search", "Keys"])
    expect(names).toContain(wanted);
  await tab.keyboard.press("?");
  await expect(tab.getByRole("dialog", { name: "Keys" })).toBeVisible();
  await tab.keyboard.press("Escape");
  await expect(tab.getByRole("dialog", { name: "Keys" })).toBeHidden();
  await tab.locator("#pass-list").focus();
  await tab.keyboard.press("End");
  await expect(selectedStop(tab)).toContainText("SASS");
  await tab.keyboard.press("[");
  await expect(tab.locator("#pass-list")).toBeHidden();
  await tab.keyboard.press("]");
  await expect(tab.locator("#side")).toBeHidden();
});

test("the address keeps the view", async ({ page: tab }) => {
  await open(tab, page("gemm"), "#stage=8&view=unified&base=4&tab=resources&theme=dark&hide=unchanged");
  await expect(selectedStop(tab)).toContainText("cute-expand-ops");
  await expect(tab.getByRole("radio", { name: "Unified" })).toBeChecked();
  await expect(tab.getByLabel("Compare with")).toHaveValue("4");
  await expect(tab.getByRole("tab", { name: "Resources" })).toHaveAttribute("aria-selected", "true");
  await tab.keyboard.press("1");
  await expect(tab).not.toHaveURL(/view=/);
  await tab.locator(".editors .cm-line", { hasText: "nvvm.read.ptx.sreg.tid.x" }).first().locator("span").first().click();
  const number = await tab.locator(".editors .cm-activeLineGutter").first().textContent();
  await expect(tab).toHaveURL(new RegExp(`line=${number?.trim()}(&|$)`));
  await open(tab, page("gemm"), "#stage=8&line=2000");
  await expect.poll(async () => await gutterShown(tab)).toContain("2000");
});

test("an address that makes no sense shows the page as it is", async ({ page: tab }) => {
  await open(tab, page("elementwise_add"), "#stage=777&view=round&base=x&line=-1&function=none&theme=pink");
  await expect(selectedStop(tab)).toContainText("traced module");
  await expect(tab.locator(".cm-line").first()).toBeVisible();
});

test("a failed compilation shows the error, the reproducer and all before it", async ({ page: tab }) => {
  await open(tab, page("failed"));
  await expect(tab.locator("header")).toContainText("✗ failed");
  const failure = tab.getByRole("region", { name: "Failure" });
  await expect(failure).toContainText("always-fails failed");
  await expect(failure).toContainText("a <b>bold</b> failure");
  await expect(failure.locator("b")).toHaveCount(0);
  const row = tab.locator(".stop.failed");
  await expect(row).toContainText("✗");
  await expect(row).toContainText("failed");
  await failure.getByText(/^Reproducer/).click();
  await expect(failure).toContainText("cutecc opt ");
  await expect(failure.locator("pre").last()).toContainText("module");
  await tab.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await failure.getByRole("button", { name: "Copy" }).first().click();
  await expect(tab.locator("body > #app > .hidden[role=status]")).toHaveText(/Command copied|select the text/);
  await expect(tab.locator(".cm-line").first()).toBeVisible();
  await row.click();
  await expect(tab.locator(".message")).toHaveText("This pass failed: there is no module after it.");
  // Where there is no text, what to do takes the room.
  await expect(failure.getByRole("heading", { name: "What to do next" })).toBeVisible();
  await expect(failure).toContainText("--without always-fails");
  await expect(failure.locator("details")).toHaveAttribute("open");
  const [notice, middle] = [await box(failure), await box(tab.locator("main"))];
  expect(notice.height).toBeGreaterThan(middle.height / 2);
  await failure.getByRole("button", { name: "See the module before it" }).click();
  await expect(selectedStop(tab)).toContainText("cse");
});

test("a page that was cut off shows what it holds", async ({ page: tab }) => {
  await open(tab, page("cut-off"));
  await expect(tab.locator(".cm-line").first()).toBeVisible();
  await open(tab, page("cut-off-early"));
  await expect(tab.locator("h1")).toHaveText("No manifest in this page");
  await expect(tab.locator(".message")).toBeVisible();
});

test("of a chunk that is there twice the later one counts, unless it is damaged", async ({ page: tab }) => {
  const file = madeUp("grown", { manifest: manifest([], { name: "early" }), "stage:0": stage(0, ["early"]) });
  const html = readFileSync(file, "utf8");
  const again = (text: string) => /<script type="application.*<\/script>/s.exec(readFileSync(text, "utf8"))![0];
  const later = again(
    madeUp("grown-later", { manifest: manifest([{ name: "new" }], { name: "late" }), "stage:0": stage(0, ["late"]) }),
  );
  writeFileSync(file, html + later.slice(0, later.lastIndexOf('data-chunk="stage:0"') + 40));
  await open(tab, file);
  await expect(tab.locator("h1")).toHaveText("late");
  await expect(tab.locator(".cm-line").first()).toHaveText("early");
});

test("a compilation that had not ended says so", async ({ page: tab }) => {
  await open(tab, madeUp("running", { manifest: manifest([{}], { status: "running" }), "stage:0": stage(0, ["module"]) }));
  await expect(tab.locator("header")).toContainText("… not finished");
  await tab.keyboard.press("j");
  await expect(tab.locator(".message")).toContainText("does not hold this text");
});

test("a trace that failed says where, and that there is no module", async ({ page: tab }) => {
  const failure = { stage: "trace", message: "it does not trace", reproducer: null, location: "/k/kernel.py:9:12", notes: ["in row_sum"] };
  await open(tab, madeUp("untraced", { manifest: manifest([], { status: "failed", failure }) }));
  const notice = tab.getByRole("region", { name: "Failure" });
  await expect(notice).toContainText("/k/kernel.py:9:12");
  await expect(notice.locator("pre")).toHaveText("it does not trace\nin row_sum");
  await expect(tab.locator(".message")).toContainText("the trace failed");
});

const HOSTILE = `"><img src=x onerror="alert(1)"><script>alert(2)</script></script><svg onload=alert(3)>{{7*7}}javascript:alert(4)`;

test("hostile names and texts are text: nothing runs, nothing is asked for", async ({ page: tab }) => {
  const line = `  %0 = "${HOSTILE}"(%a) : !cute.memref<f16, "${HOSTILE.replaceAll('"', "'")}", gmem, align<16>> // ${HOSTILE}`;
  const file = madeUp("hostile", {
    manifest: manifest(
      [{ name: HOSTILE, pass_text: HOSTILE, provider: HOSTILE as "wheel", operations_before: { [HOSTILE]: 1 }, operations_after: { [HOSTILE]: 2 }, remarks: [{ severity: "error", message: HOSTILE, location: HOSTILE }] }],
      {
        name: HOSTILE,
        target: HOSTILE,
        source: HOSTILE,
        command: [HOSTILE],
        versions: { cutecc: HOSTILE, nvidia_cutlass_dsl: HOSTILE },
        status: "failed",
        failure: { stage: HOSTILE, message: HOSTILE, reproducer: HOSTILE, location: HOSTILE, notes: [HOSTILE] },
        resources: [],
      },
    ),
    reproducer: { file: HOSTILE, text: HOSTILE, command: HOSTILE },
    "places:0": [[[HOSTILE, 1, 1]]],
    "user-lines": { chains: [[[HOSTILE, 1, 1, HOSTILE]]], sources: { [HOSTILE]: `${HOSTILE}\n${HOSTILE}` } },
    "stage:0": stage(0, ["module {", `  func.func @"${HOSTILE}"() {`, line, "  }", `  func.func @"__proto__"() {`, "  }", "}"], [-1, 0, 0, -1, -1, -1, -1]),
    "stage:1": stage(1, [line, line], [0, 0]),
    [`listing:${HOSTILE}.ptx`]: listing("ptx", `${HOSTILE}.ptx`, [HOSTILE], { functions: [{ name: HOSTILE, first: 0, last: 0 }] }),
    layouts: {
      colours: { scale: [HOSTILE], banks: [HOSTILE], groups: [HOSTILE] },
      bank_count: 32,
      bank_bits: 32,
      pictures: { [HOSTILE]: { reason: HOSTILE } },
    } satisfies Layouts,
    history: { lines: [{ file: HOSTILE, line: 1, traced: 1, events: [{ step: 1, kind: "changed", before: 1, after: 1, counts: { changed: 1 } }], ptx: 1, sass: 1 }] },
  });
  await open(tab, file, `#stage=0&source=${encodeURIComponent(HOSTILE)}:1&function=${encodeURIComponent(HOSTILE)}`);
  await expect(tab.locator("h1")).toHaveText(HOSTILE);
  await expect(tab.locator(".cm-content").first()).toContainText("onerror");
  for (const key of ["j", "2", "3", "1", "t", "j"]) {
    await tab.keyboard.press(key);
    await tab.waitForTimeout(100);
  }
  for (const name of ["History", "Instructions", "Resources", "Remarks"]) await tab.getByRole("tab", { name }).click();
  await tab.keyboard.press("/");
  await tab.keyboard.type("<script>");
  await expect(tab.locator(".hit").first()).toContainText("<script>");
  await tab.locator(".hit").first().click();
  await tab.locator(".failure summary").click();
  await tab.waitForTimeout(200);
  await expect(tab.locator("#app img:not(.cm-widgetBuffer), #app script, #app svg[onload]")).toHaveCount(0);
});

test("a part that fails says so, and the rest goes on", async ({ page: tab }) => {
  const damaged = madeUp("damaged", {
    manifest: { ...manifest([{ name: "rewrite" }]), resources: [{ kernel: "k" }] },
    "stage:0": stage(0, BEFORE),
    "stage:1": stage(1, AFTER),
  });
  await open(tab, damaged, "#tab=resources");
  await expect(tab.locator(".broken")).toContainText("The tab “Resources” cannot be shown.");
  await expect(tab.locator(".editors .cm-line").first()).toBeVisible();
  await tab.keyboard.press("j");
  await expect(selectedStop(tab)).toContainText("rewrite");
  await tab.locator("#tab-history").click();
  await expect(tab.locator(".broken")).toHaveCount(0);
});
