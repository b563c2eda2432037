/** Makes the pages that the tests look at, with the command line that users have. */

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { BUILT, CUTECC, REPOSITORY, page } from "./pages";

export default function makePages(): void {
  rmSync(BUILT, { recursive: true, force: true });
  mkdirSync(BUILT, { recursive: true });
  compile("gemm", ["examples/gemm.py"]);
  const profile = path.join(BUILT, "timeline.json");
  execFileSync(path.join(path.dirname(CUTECC), "python"), ["web/test/inputs/made_up_timeline.py", profile, path.join(BUILT, "gemm")], { cwd: REPOSITORY, stdio: "pipe" });
  cutecc("report", path.join(BUILT, "gemm"), `--profile=${profile}`, `--output=${page("timeline")}`);
  compile("elementwise_add", ["examples/elementwise_add.py", "--dump-after=cse#1"]);
  compile("conflicts", ["test/unit/passes/analysis/kernels/transpose_naive.py"]);
  compile("spilling", ["web/test/inputs/spilling.py"]);
  compile("failed", [
    "examples/elementwise_add.py",
    "--load=web/test/inputs/always_fails.py",
    "--insert-after=cse#1=always-fails",
  ]);
  // Its loops are rolled up again by hand.
  const dump = path.join(BUILT, "elementwise_add", "14-cse.mlir");
  writeFileSync(dump, readFileSync(dump, "utf8").replaceAll("disable = false, full = true", "disable = true"));
  const [unrolled, rolled] = ["elementwise_add", "rolled"].map((name) => path.join(BUILT, name)) as [string, string];
  cutecc("resume", unrolled, "--from=cse#1", `--output=${rolled}`);
  cutecc("report", rolled, `--output=${page("rolled")}`);
  const run = ["--run", "--device=cpu", "--size=M=33,N=132"];
  cutecc("compare", unrolled, rolled, ...run, `--report=${page("pair")}`);
  // Other tiles, without the zeroing of one operand.
  const edited = path.join(BUILT, "edited_add.py");
  const original = readFileSync(path.join(REPOSITORY, "examples", "elementwise_add.py"), "utf8");
  const changes: [string, string][] = [
    ["make_ordered_layout((4, 32)", "make_ordered_layout((2, 64)"],
    ["make_ordered_layout((4, 4)", "make_ordered_layout((8, 2)"],
    ["    fragment_b.fill(0)\n", ""],
    ["    element = cute", "    # The copies are of one element each.\n    element = cute"],
  ];
  writeFileSync(edited, changes.reduce((text, [before, after]) => text.replace(before, after), original));
  compile("edited", [edited]);
  cutecc("compare", unrolled, path.join(BUILT, "edited"), `--report=${page("pair-edited")}`);
  const python = path.join(path.dirname(CUTECC), "python");
  cutecc("watch", "--lines", "--pairs", `--output=${path.join(BUILT, "watched")}`, "--", python, "web/test/inputs/watched.py");
  const whole = readFileSync(page("elementwise_add"));
  const data = whole.indexOf("data-chunk=");
  writeFileSync(page("cut-off"), whole.subarray(0, data + (whole.length - data) * 0.4));
  // In the middle of its first chunk: nothing but the program is left.
  writeFileSync(page("cut-off-early"), whole.subarray(0, data + 100));
}

function cutecc(...words: string[]): void {
  execFileSync(CUTECC, words, {
    cwd: REPOSITORY,
    stdio: "pipe",
    env: { ...process.env, CUTE_DSL_ARCH: "sm_90a" },
  });
}

function compile(name: string, options: string[]): void {
  try {
    cutecc("compile", ...options, `--report=${page(name)}`, `--output=${path.join(BUILT, name)}`, "--no-cache");
  } catch (failure) {
    // A compilation that fails has a report, too.
    if (name !== "failed") throw new Error(`${name}: ${String((failure as { stderr?: Buffer }).stderr ?? failure)}`);
  }
}
