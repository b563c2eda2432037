/** The roofline of a page with profiles: a drawing, the same in words and as a table, plain text throughout. */

import { violationsOf } from "./axe";
import { expect, test } from "./checked";
import { madeUp, manifest, open, stage } from "./pages";
import { HOSTILE, python } from "./panels-page";

const DRAW = `
import sys, msgspec
from cutecc.report.profile_file import FileLimits
from cutecc.report.roofline import Run, roofline
slow = FileLimits(9.0, 2000, 50, 2.5, 0.4, 1.25, "neither")
near = FileLimits(200.0, 480, 12, 660, 88, 1365, "matrix")
found = roofline([Run("M=4096", "H200", near), Run(sys.argv[1], "H200", slow), Run("M=8", "H200", None)])
print(msgspec.json.encode(found).decode())
`;

test("a roofline is drawn, told in words, and stands there as a table", async ({ page: tab }) => {
  const drawn = JSON.parse(python(DRAW, HOSTILE)) as { description: string };
  const resources = [
    { kernel: "k", registers: 8, stack_bytes: 0, spill_store_bytes: 0, spill_load_bytes: 0, shared_static_bytes: 0, shared_dynamic_bytes: 0, constant_bytes: 0, barriers: 0, occupancy: null },
  ];
  const chunks = { manifest: manifest([{ name: "first" }], { resources }), "stage:0": stage(0, ["module {", "}"]), roofline: drawn };
  await open(tab, madeUp("roofline", chunks), "#tab=resources");
  const picture = tab.getByRole("img", { name: /^Roofline of H200: a copy reaches 4,000 GB\/s, a product of f16 matrices 750 TFLOP\/s\. 1: M=4096: 1,365 FLOP\/byte/ });
  await expect(picture).toBeVisible();
  await expect(picture.locator("path.roof")).toHaveCount(1);
  await expect(picture.locator("path.matrix title")).toHaveText("1: M=4096: 1,365 FLOP/byte, 660 TFLOP/s, 88 % of its roof, limited by the matrix units.");
  await expect(picture.locator("text.number")).toHaveText(["1", "2"]);
  const rows = tab.locator(".roofline tbody tr");
  await expect(rows.nth(0)).toHaveText(/1M=40961,36566088limited by the matrix units/);
  await expect(rows.nth(1)).toContainText(HOSTILE);
  await expect(tab.locator(".roofline")).toContainText("not there: M=8: nobody timed it");
  await expect(tab.locator(".roofline img:not([role])")).toHaveCount(0);
  for (const scheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme: scheme });
    expect(await violationsOf(tab, scheme)).toEqual([]);
  }
});
