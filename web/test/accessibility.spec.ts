/** An audit of the main views by the rules of WCAG 2.1, levels A and AA, light and dark. */

import { expect, test } from "@playwright/test";
import { open, page } from "./pages";
import { violationsOf } from "./axe";

const VIEWS: { name: string; made: string; fragment: string; keys?: string[] }[] = [
  { name: "a module, with the lines of its source", made: "elementwise_add", fragment: "#stage=0" },
  { name: "side by side", made: "elementwise_add", fragment: "#stage=11&view=split" },
  { name: "unified, with the instructions of a line", made: "elementwise_add", fragment: "#stage=8&view=unified&tab=instructions" },
  { name: "resources beside a listing", made: "elementwise_add", fragment: "#stage=listing:elementwise_add.sass&tab=resources" },
  { name: "functions and their call sites", made: "gemm", fragment: "#tab=functions" },
  { name: "machine code with its columns", made: "gemm", fragment: "#stage=listing:Gemm.sass", keys: ["e", "ArrowDown", "ArrowDown", "End"] },
  { name: "a timeline", made: "timeline", fragment: "#stage=timeline:0" },
  { name: "spills", made: "spilling", fragment: "#stage=listing:scale.sass&line=120" },
  { name: "a search, beside remarks", made: "elementwise_add", fragment: "#tab=remarks", keys: ["/", "a", "d", "d"] },
  { name: "the keys", made: "elementwise_add", fragment: "", keys: ["?"] },
  { name: "a failure", made: "failed", fragment: "" },
  { name: "how two records compare", made: "pair", fragment: "" },
  { name: "the source of two records, a line of it selected", made: "pair-edited", fragment: "#stage=14-14", keys: ["s", "Enter"] },
  { name: "code of two records, the lines of the source that differ", made: "pair-edited", fragment: "#stage=listing:SASS", keys: ["v"] },
  { name: "a stage of two records", made: "pair", fragment: "#stage=14-14" },
];

test("landmarks and headings for screen readers", async ({ page: tab }) => {
  await open(tab, page("elementwise_add"));
  for (const [role, name] of [
    ["main", "Module"],
    ["navigation", "Passes and texts"],
    ["complementary", "Source and details"],
  ] as const)
    await expect(tab.getByRole(role, { name, exact: true })).toBeVisible();
  for (const [level, name] of [[1, "elementwise_add"], [2, "Passes"], [2, "Source"], [2, "Details"]] as const)
    await expect(tab.getByRole("heading", { level, name, exact: true })).toHaveCount(1);
});

for (const { name, made, fragment, keys = [] } of VIEWS)
  test(`no violation of WCAG, light and dark: ${name}`, async ({ page: tab }) => {
    await open(tab, page(made), fragment);
    await expect(tab.locator(".editors .cm-line, .viewer .message, .overview, .timeline").first()).toBeVisible();
    if (name !== "how two records compare") await expect(tab.locator(".source-pane .cm-line").first()).toBeVisible();
    for (const key of keys) await tab.keyboard.press(key);
    if (name.startsWith("a search")) await expect(tab.locator(".hit").first()).toBeVisible();
    for (const colorScheme of ["light", "dark"] as const) {
      await tab.emulateMedia({ colorScheme });
      await expect(tab.locator("html")).toHaveAttribute("data-theme", colorScheme);
      expect(await violationsOf(tab, colorScheme), colorScheme).toEqual([]);
    }
  });
