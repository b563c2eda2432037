// Runs the tests of the page's parts that need no browser, with Node's own test runner.

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(path.join(web, "node_modules", ".unit-"));
try {
  const names = readdirSync(path.join(web, "test")).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: web,
    entryPoints: names.map((name) => path.join("test", name)),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    loader: { ".css": "empty" },
    logLevel: "error",
  });
  const files = names.map((name) => path.join(folder, name.replace(/\.ts$/, ".mjs")));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit", cwd: web }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
