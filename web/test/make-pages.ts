/** Makes the pages that the tests look at, with the command line that users have. */

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { BUILT, REPOSITORY, page } from "./pages";

export default function makePages(): void {
  rmSync(BUILT, { recursive: true, force: true });
  mkdirSync(BUILT, { recursive: true });
  compile("gemm", ["examples/gemm.py"]);
  compile("elementwise_add", ["examples/elementwise_add.py"]);
  compile("failed", [
    "examples/elementwise_add.py",
    "--load=web/test/inputs/always_fails.py",
    "--insert-after=cse#1=always-fails",
  ]);
  const whole = readFileSync(page("elementwise_add"));
  writeFileSync(page("cut-off"), whole.subarray(0, whole.length * 0.6));
  // In the middle of its first chunk: nothing but the program is left.
  writeFileSync(page("cut-off-early"), whole.subarray(0, whole.indexOf("data-chunk=") + 100));
}

function compile(name: string, options: string[]): void {
  const cutecc = process.env["CUTECC"] ?? path.join(REPOSITORY, ".venv", "bin", "cutecc");
  try {
    execFileSync(
      cutecc,
      ["compile", ...options, `--report=${page(name)}`, `--output=${path.join(BUILT, name)}`, "--no-cache"],
      { cwd: REPOSITORY, stdio: "pipe" },
    );
  } catch (failure) {
    // A compilation that fails has a report, too.
    if (name !== "failed") throw new Error(`${name}: ${String((failure as { stderr?: Buffer }).stderr ?? failure)}`);
  }
}
