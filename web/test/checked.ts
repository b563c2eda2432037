/** Tests of pages on which nothing may go wrong: no error, no dialog, no request, nothing of that on the console. */

import { test as base, expect } from "@playwright/test";
import { watch } from "./pages";

export { expect };
export type { Locator, Page } from "@playwright/test";

interface Fixtures {
  /** What went wrong so far; a test that expects something empties it. */
  wrong: string[];
}

export const test = base.extend<Fixtures>({
  wrong: [
    async ({ page }, use) => {
      const wrong = watch(page);
      await use(wrong);
      expect(wrong).toEqual([]);
    },
    { auto: true },
  ],
});
