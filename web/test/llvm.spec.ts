/** LLVM's own passes on the page: rows below the pass that ran them, their code, what each changed, the lines of it. */

import { type Page, expect, test } from "./checked";
import { madeUp, manifest, open } from "./pages";
import { violationsOf } from "./axe";

const SOURCE = ["def scale(x, y):", "    for i in range(n):", "        y[i] = x[i] * s[0]", ""].join("\n");
const place = (line: number) => [["made_up.py", line, 5]];
const listing = (kind: string, text: string[], places: number[]) => ({
  kind,
  file: "",
  text: `${text.join("\n")}\n`,
  table: [place(2), place(3)],
  places: [...places, -1],
  classes: [],
  class_names: [],
  functions: [{ name: "scale", first: 0, last: text.length - 1 }],
});
const GIVEN = ["define void @scale(ptr %0) {", "  br label %loop", "  %2 = load float, ptr %0", "}"];
const HOISTED = ["define void @scale(ptr %0) {", "  %2 = load float, ptr %0", "  br label %loop", "}"];
const SELECTED = ["# Machine code for function scale: IsSSA", "  %0:b32 = LD_i32 %1:b64", "# End machine code for function scale."];

function build(name: string, generation: string): string {
  const row = { function: "scale", seconds: 0.0021 };
  const stage = (index: number) => ({ index, text: "module {\n}\n", places: [-1, -1] });
  const remark = {
    severity: "remark",
    message: "LLVM, LICM: failed to move load with loop-invariant address because the loop may invalidate its value",
    location: "made_up.py:3:5",
    analysis: "check-llvm",
    numbers: { times: 2 },
  } as const;
  const record = manifest([{ name: "canonicalize" }, { name: generation, provider: "cutecc" }, { name: "cuda-to-llvm" }], {
    analyses: [{ name: "check-llvm", after: 3, seconds: 0, remarks: [remark], failure: null }],
  });
  return madeUp(name, {
    manifest: record,
    "user-lines": { chains: [], sources: { "made_up.py": SOURCE } },
    "places:0": [],
    "stage:0": stage(0),
    "stage:1": stage(1),
    "stage:2": stage(2),
    "stage:3": stage(3),
    ...(generation === "llvm-to-binary" && {
      "llvm:0": listing("llvm-ir", GIVEN, [-1, 0, 1, -1]),
      "llvm:1": listing("llvm-ir", HOISTED, [-1, 1, 0, -1]),
      "llvm:2": listing("machine-ir", SELECTED, [-1, 1, -1]),
      llvm: {
        rows: [
          { name: "input", kind: "llvm-ir", function: null, seconds: null, before: null },
          { name: "LICM", kind: "llvm-ir", ...row, before: 0 },
          { name: "nvptx-isel", kind: "machine-ir", ...row, seconds: 0, before: null },
        ],
        partly: true,
      },
    }),
  });
}

let file: string;
let closed: string;
test.beforeAll(({}, info) => {
  file = build(`llvm-${info.workerIndex}`, "llvm-to-binary");
  closed = build(`closed-${info.workerIndex}`, "cuda-to-binary");
});
const rows = (tab: Page) => tab.locator("#pass-list .stop");
const row = (tab: Page, name: string) => rows(tab).filter({ hasText: name });
const heading = (tab: Page) => tab.locator(".about h2");
const lines = (tab: Page) => tab.locator(".editors .cm-line");

test("they stand below the pass that ran them, with their times", async ({ page: tab }) => {
  await open(tab, file);
  await expect(rows(tab).locator(".title")).toHaveText([
    ...["traced module", "canonicalize", "llvm-to-binary", "input", "LICM", "nvptx-isel", "cuda-to-llvm"],
  ]);
  await expect(row(tab, "LICM").locator(".time")).toHaveText("2.1 ms");
  await expect(row(tab, "nvptx-isel").locator(".time")).toHaveText("<0.1 ms");
  await expect(row(tab, "nvptx-isel")).toContainText("machine IR");
  await expect(tab.locator(".list-head")).toContainText("3 of 3 passes changed the module");
  await row(tab, "LICM").click();
  await expect(tab.locator(".about")).toContainText("The module is large: the most important passes were looked at");
});

test("a line of the source lights up in the code of LLVM, and leads back", async ({ page: tab }) => {
  await open(tab, file, "#stage=2.01");
  await expect(heading(tab)).toHaveText("2.01 LICM");
  await lines(tab).filter({ hasText: "load float" }).click();
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:3");
  await expect(tab.locator(".editors .cm-line.cm-lit")).toHaveText(/load float/);
  await row(tab, "nvptx-isel").click();
  await expect(tab.locator(".editors .cm-line.cm-lit")).toHaveText(/LD_i32/);
});

test("keys alone: through the rows, what a pass changed, and the next pass of the pipeline", async ({ page: tab }) => {
  await open(tab, file, "#stage=2");
  await tab.keyboard.press("j");
  await expect(heading(tab)).toHaveText("2.00 input");
  await tab.keyboard.press("j");
  await tab.keyboard.press("3");
  await expect(heading(tab)).toHaveText("2.00 input → 2.01 LICM");
  await expect(tab.locator(".differences")).toContainText("2 lines differ");
  await tab.keyboard.press("j");
  await expect(heading(tab)).toHaveText("2.02 nvptx-isel");
  // What a pass of the pipeline changed is told against the module before it, not against LLVM's code.
  await tab.keyboard.press("j");
  await expect(heading(tab)).toHaveText("2 llvm-to-binary → 3 cuda-to-llvm");
});

test("they can be left out of the list, and the address keeps that", async ({ page: tab }) => {
  await open(tab, file);
  await tab.getByLabel("Hide LLVM's passes").check();
  await expect(rows(tab).locator(".title")).toHaveText(["traced module", "canonicalize", "llvm-to-binary", "cuda-to-llvm"]);
  await tab.getByLabel("Hide unchanged").check();
  expect(tab.url()).toContain("hide=unchanged&hide=llvm");
  await tab.reload();
  await expect(row(tab, "LICM")).toHaveCount(0);
});

test("what LLVM could not do is a remark at its line", async ({ page: tab }) => {
  await open(tab, file, "#tab=remarks");
  const remarks = tab.locator(".panel.remarks");
  await expect(remarks.getByRole("heading")).toHaveText(/check-llvm/);
  await expect(remarks).toContainText("LLVM, LICM: failed to move load");
  await remarks.getByRole("button", { name: "made_up.py:3" }).click();
  await expect(tab.locator(".selected-line")).toContainText("made_up.py:3");
});

test("where NVIDIA's compiler generates the code, the page says what shows LLVM's passes", async ({ page: tab }) => {
  await open(tab, closed, "#stage=2");
  await expect(tab.locator(".about")).toContainText("--pipeline open or --backend llvm");
  await expect(tab.getByLabel("Hide LLVM's passes")).toHaveCount(0);
});

test("no violation of WCAG, light and dark", async ({ page: tab }) => {
  await open(tab, file, "#stage=2.02&tab=remarks");
  await expect(lines(tab).first()).toBeVisible();
  for (const colorScheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme });
    await expect(tab.locator("html")).toHaveAttribute("data-theme", colorScheme);
    expect(await violationsOf(tab, colorScheme)).toEqual([]);
  }
});
