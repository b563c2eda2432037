/** What stands beside machine code in columns: chunk `columns:FILE`, as `cutecc/report/sass_table.py` has it. */

import { load } from "../chunks";
import type { Document } from "../documents";

/** A function. Lists without another word are by the number of an instruction in it. */
export interface FunctionTable {
  name: string;
  /** The name for people. */
  title: string;
  /** That a thread of the kernel has. */
  registers: number | null;
  /** The line of each instruction in the listing's text, from 0. */
  lines: number[];
  /** How many of the thread's registers hold a value at each. */
  live: number[];
  /** Indices into `control_names`; empty where they are not known. */
  controls: number[];
  /** Indices into `loop_names`. */
  loops: number[];
  /** How many operands of each, from the first, are written. */
  written: number[];
  /**
   * Of each, pairs: a register that it reads, as an index into `registers`, and how many instructions before it stands
   * one that may have written that; behind it for a negative number.
   */
  sources: number[][];
  /** The first instruction of each basic block. */
  blocks: number[];
  /** An instruction, its label, and how many instructions the loop has that begins there, 0 where none does. */
  labels: [instruction: number, label: string, loop: number][];
  /** A branch, and an instruction that it may go to. */
  targets: [branch: number, target: number][];
  /** An instruction that spills or loads again, and those that made the value. */
  spills: number[][];
}

export interface SassTable {
  control_names: string[];
  /** What is drawn at the left of an instruction, two characters for each loop around it. */
  loop_names: string[];
  registers: string[];
  functions: FunctionTable[];
}

/** The table of a document; null of what is no machine code, and on a page that has none. */
export async function tableOf(document: Document): Promise<SassTable | null> {
  if (document.kind !== "sass" || document.listing === null) return null;
  return await load<SassTable>(`columns:${document.listing.file}`);
}

const peaks = new WeakMap<FunctionTable, number>();

/** The most registers that live at once. */
export function peakOf(table: FunctionTable): number {
  const known = peaks.get(table) ?? table.live.reduce((most, each) => Math.max(most, each), 0);
  peaks.set(table, known);
  return known;
}
