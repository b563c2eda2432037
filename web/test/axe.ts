/** What axe finds wrong with a page. */

import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** Each violation, with the elements and what is wrong with them; in the dark of colours alone, for all else is the same there. */
export async function violationsOf(tab: Page, colorScheme: "light" | "dark"): Promise<string[]> {
  const axe = new AxeBuilder({ page: tab });
  const { violations } = await (colorScheme === "light" ? axe.withTags(TAGS) : axe.withRules("color-contrast")).analyze();
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary ?? ""}`));
}
