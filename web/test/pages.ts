/** Pages to look at: those of `make-pages.ts`, and made-up ones with data of a test's own. */

import { type Locator, type Page, expect } from "@playwright/test";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { deflateSync } from "node:zlib";
import type { Listing, Manifest, Stage, Step } from "../src/data";

export const REPOSITORY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
export const BUILT = path.join(REPOSITORY, "build", "web");

export const CUTECC = process.env["CUTECC"] ?? path.join(REPOSITORY, ".venv", "bin", "cutecc");

export type Made =
  | "gemm" | "elementwise_add" | "spilling" | "failed" | "cut-off" | "cut-off-early" | "rolled" | "pair" | "edited" | "pair-edited" | "timeline";

/** The file of a page. */
export function page(name: string): string {
  return path.join(BUILT, `${name}.html`);
}

/** Chunks of a made-up page, by name. */
export type Chunks = Record<string, unknown>;

/** A page of our own data in the frame that the writer makes; its file. */
export function madeUp(name: string, chunks: Chunks): string {
  const html = readFileSync(page("elementwise_add"), "utf8");
  const head = html.slice(0, html.indexOf("<script type=\"application/octet-stream\""));
  const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  const elements = Object.entries(chunks).map(([chunk, content]) => {
    const data = deflateSync(JSON.stringify(content)).toString("base64");
    return `<script type="application/octet-stream" data-chunk="${escaped(chunk)}">${data}</script>`;
  });
  const file = path.join(BUILT, `made-up-${name}.html`);
  writeFileSync(file, `${head}${elements.join("\n")}\n`);
  return file;
}

export function manifest(steps: Partial<Step>[], more: Partial<Manifest> = {}): Manifest {
  return {
    name: "made_up",
    target: "sm_90a",
    pipeline: "",
    status: "ok",
    command: [],
    source: "made_up.py",
    versions: { cutecc: "0", nvidia_cutlass_dsl: "0" },
    options: {},
    warnings: [],
    traced_operations: null,
    steps: steps.map((step, i) => ({
      index: i + 1,
      name: `pass-${i + 1}`,
      pass_text: "",
      provider: "wheel",
      status: "ok",
      seconds: 0.001,
      changed: true,
      operations_before: null,
      operations_after: null,
      remarks: [],
      ...step,
    })),
    analyses: [],
    artifacts: [],
    resources: [],
    failure: null,
    seconds: {},
    ...more,
  };
}

export function stage(index: number, lines: string[], places: number[] = lines.map(() => -1)): Stage {
  return { index, text: lines.join("\n"), places };
}

export function listing(kind: Listing["kind"], file: string, lines: string[], more: Partial<Listing> = {}): Listing {
  const none = lines.map(() => -1);
  return { kind, file, text: lines.join("\n"), table: [], places: none, classes: none, class_names: [], functions: [], ...more };
}

/** What went wrong on a page, or left it: empty at the end of every test. */
export function watch(tab: Page): string[] {
  const wrong: string[] = [];
  tab.on("pageerror", (error) => wrong.push(`error: ${error.stack ?? error.message}`));
  tab.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  tab.on("request", (request) => {
    if (request.url() !== "about:blank" && !(request.url().startsWith("file:") && request.isNavigationRequest()))
      wrong.push(`request: ${request.url()}`);
  });
  tab.on("console", (message) => {
    if (message.type() === "error") wrong.push(`console: ${message.text()}`);
  });
  return wrong;
}

/** Open a page and wait until it shows its list; `fragment` begins with `#`. */
export async function open(tab: Page, file: string, fragment = ""): Promise<void> {
  await tab.goto("about:blank");
  await tab.goto(pathToFileURL(file).href + fragment);
  await expect(tab.locator("#pass-list")).toBeVisible();
}

/**
 * Where an element is. An editor that is drawn anew in between is of no size, not an error: what depends on the drawing
 * asks again (`expect.poll`).
 */
export async function box(element: Locator): Promise<DOMRect> {
  return await element.evaluate((each) => each.getBoundingClientRect().toJSON());
}

/** The lines of the last editor that are drawn, without what is off the screen. */
export async function linesShown(tab: Page, editor = 0): Promise<string[]> {
  return await tab.locator(".editors .cm-editor").nth(editor).locator(".cm-line").allInnerTexts();
}

/** The gutter's texts beside lines, without the widest one that measures it. */
export async function gutterShown(tab: Page, editor = 0): Promise<string[]> {
  const texts = await tab.locator(".editors .cm-editor").nth(editor).locator(".cm-lineNumbers .cm-gutterElement").allTextContents();
  return texts.slice(1);
}
