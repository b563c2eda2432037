// Builds the programs and styles of the pages into the Python package; with --check says whether they are what the source builds.

import { build } from "esbuild";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const assets = path.join(web, "..", "cutecc", "report", "assets");

const { outputFiles, metafile } = await build({
  absWorkingDir: web,
  entryPoints: { page: "src/main.tsx", list: "src/list.ts" },
  outdir: "built",
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: "esm",
  target: ["chrome111", "firefox113", "safari16.4"],
  charset: "ascii",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { "process.env.NODE_ENV": '"production"' },
});

/** The packages that ended up in the program, with their licences. */
async function licences() {
  const names = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) names.add(match[1]);
  }
  const parts = ["The report page holds these packages.\n"];
  for (const name of [...names].sort()) {
    const folder = path.join(web, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    const text = await readFile(path.join(folder, file), "utf8");
    parts.push(`${"=".repeat(80)}\n${name} ${version} (${license})\n\n${text.replaceAll("\r\n", "\n").trim()}\n`);
  }
  return parts.join("\n");
}

const files = new Map(outputFiles.map((file) => [path.basename(file.path), file.text]));
files.set("LICENSES.txt", await licences());

for (const [name, end] of [["page.js", "</script"], ["page.js", "<!--"], ["page.css", "</style"], ["list.js", "</script"], ["list.js", "<!--"]])
  if (files.get(name).toLowerCase().includes(end)) throw new Error(`${name} holds ${end}: it cannot stand in a page`);

if (process.argv.includes("--check")) {
  const stale = [];
  for (const [name, text] of files) {
    const file = path.join(assets, name);
    if (!existsSync(file) || (await readFile(file, "utf8")) !== text) stale.push(name);
  }
  if (stale.length > 0) {
    console.error(`cutecc/report/assets: ${stale.join(", ")} not what web/ builds; run: make web`);
    process.exit(1);
  }
} else {
  await mkdir(assets, { recursive: true });
  for (const [name, text] of files) await writeFile(path.join(assets, name), text);
  for (const [name, text] of files) console.log(`${name} ${(text.length / 1000).toFixed(0)} kB`);
}
