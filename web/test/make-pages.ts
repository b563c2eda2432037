/** Makes the pages that the tests look at, with the command line that users have. */

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { BUILT, REPOSITORY, page } from "./pages";

export default function makePages(): void {
  rmSync(BUILT, { recursive: true, force: true });
  mkdirSync(BUILT, { recursive: true });
  compile("gemm", ["examples/gemm.py"]);
  compile("elementwise_add", ["examples/elementwise_add.py", "--dump-after=cse#1"]);
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
  const whole = readFileSync(page("elementwise_add"));
  writeFileSync(page("cut-off"), whole.subarray(0, whole.length * 0.6));
  // In the middle of its first chunk: nothing but the program is left.
  writeFileSync(page("cut-off-early"), whole.subarray(0, whole.indexOf("data-chunk=") + 100));
}

function cutecc(...words: string[]): void {
  execFileSync(process.env["CUTECC"] ?? path.join(REPOSITORY, ".venv", "bin", "cutecc"), words, { cwd: REPOSITORY, stdio: "pipe" });
}

function compile(name: string, options: string[]): void {
  try {
    cutecc("compile", ...options, `--report=${page(name)}`, `--output=${path.join(BUILT, name)}`, "--no-cache");
  } catch (failure) {
    // A compilation that fails has a report, too.
    if (name !== "failed") throw new Error(`${name}: ${String((failure as { stderr?: Buffer }).stderr ?? failure)}`);
  }
}
