import { defineConfig } from "@playwright/test";
import { chromium } from "./test/browser";

export default defineConfig({
  testDir: "test",
  testMatch: "*.spec.ts",
  globalSetup: "./test/make-pages.ts",
  outputDir: "test-results",
  fullyParallel: true,
  workers: 2,
  // A busy machine draws a page while it is clicked on. What fails once is listed as flaky, what fails twice is wrong.
  retries: 1,
  timeout: 45_000,
  expect: { timeout: 10_000 },
  reporter: "list",
  use: {
    viewport: { width: 1400, height: 900 },
    launchOptions: {
      executablePath: chromium(),
      // Its sandbox needs rights that root in a container does not have.
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    },
  },
});
