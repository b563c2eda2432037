/** LLVM's own passes, which ran inside the pass of the pipeline that generates the code. */

import type { LlvmIndex } from "./data";
import type { Stop } from "./store";

/** The pass of the pipeline in which they ran. */
export const GENERATION = "llvm-to-binary";
/** The pass whose compiler is closed. */
export const CLOSED_GENERATION = "cuda-to-binary";
/** What stands for the code that LLVM was given, before its passes. */
export const GIVEN = "input";

/** A stop for each, to stand behind that of the pass that ran them, which has the position `step`. */
export function llvmStops(index: LlvmIndex, step: number): Stop[] {
  const digits = Math.max(2, String(index.rows.length).length);
  return index.rows.map((row, at) => ({
    id: idOf(step, at, digits),
    kind: "llvm",
    title: row.name,
    step: null,
    chunk: `llvm:${at}`,
    first: null,
    row: null,
    llvm: { ...row, base: row.before === null ? null : idOf(step, row.before, digits), partly: index.partly },
  }));
}

const idOf = (step: number, at: number, digits: number) => `${step}.${String(at).padStart(digits, "0")}`;
