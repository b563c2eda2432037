/** Chunk `pair`: two records side by side, as `cutecc/report/pair.py` has them. `a` is the first record, `b` the second. */

import type { KernelResources, Remark, Resumed } from "../data";

export interface PairSide {
  /** The folder or bundle, as the user named it. */
  record: string;
  kernel: string;
  target: string;
  status: string;
  source: string | null;
  command: string[];
  pipeline: string;
  /** How many passes the record has run. */
  passes: number;
  options: Record<string, string | number | boolean>;
  versions: Record<string, string | null>;
  resumed: Resumed | null;
  failure: string | null;
  /** The parameters that the kernel writes; none where its file does not say. */
  outputs: string[];
}

/** Chunk `costs` of each: what its lines cost, by a profile. */
export interface Costs {
  /** The sizes. */
  title: string;
  device: string;
  /** `µs` of a call; `%` of the samples where one was not timed. */
  unit: string;
  /** Of all lines. */
  total: number;
  /** With what of it warps waited for, in words. */
  lines: { file: string; line: number; cost: number; waits: Record<string, number> }[];
}

/** Lines that only one of two texts has. */
export interface Lines {
  a: number;
  b: number;
}

export interface PassRun {
  /** Its position in the whole pipeline, from 1; 0 is the traced module. */
  index: number;
  selector: string;
  /**
   * `unknown`: nobody looked. `before`: it ran in the record that this one went on from. `input`: so did it, and the
   * module after it is what the run began with. `not run`: the run ended before it.
   */
  state: "changed" | "unchanged" | "unknown" | "failed" | "before" | "input" | "not run";
  /** With its options; null where it did not run. */
  text: string | null;
  seconds: number | null;
}

/** The same pass in both records, or one that only one of them has. */
export interface PassPair {
  a: PassRun | null;
  b: PassRun | null;
  /** How the modules after it differ; null where one of the records has none. */
  lines: Lines | null;
}

/** The PTX of both, without the names of registers and labels, comments and line information. */
export interface CodePair {
  /** Byte for byte. */
  same: boolean;
  lines: Lines;
  a: number;
  b: number;
}

export interface OutputPair {
  name: string;
  type: string;
  shape: number[];
  same_bits: boolean;
  /** Null where it is infinite. */
  max_absolute_error: number | null;
  max_relative_error: number | null;
  tolerance: number;
  allowed: string;
  in_bounds: boolean;
}

export interface RunPair {
  sizes: Record<string, number>;
  seed: number;
  outputs: OutputPair[];
  a_problems: string[];
  b_problems: string[];
}

export interface Results {
  device: string;
  runs: RunPair[];
  /** Medians, taking turns. */
  microseconds: { a: number; b: number } | null;
}

export interface Pair {
  a: PairSide;
  b: PairSide;
  passes: PassPair[];
  /** The index in `passes` of the first after which the modules differ. */
  first_difference: number | null;
  ptx: CodePair | null;
  same_cubin: boolean | null;
  resources: { kernel: string; a: KernelResources | null; b: KernelResources | null }[];
  instructions: { kernel: string; a: Record<string, number> | null; b: Record<string, number> | null }[];
  instructions_of: "SASS" | "PTX" | null;
  /** Those of one alone first, then those whose numbers differ; missing in older pages. */
  remarks?: RemarkPair[];
  notes: string[];
  results: Results | null;
}

/** Lines that follow each other in both files and belong together: the first of each, from 1, how many, whether they are the same. */
export type Stretch = [a: number, b: number, lines: number, same: boolean];

/** Chunk `sources`: the files of both, the user's own first. A file that only one has stands alone. */
export interface SourcePair {
  a: string | null;
  b: string | null;
  /** In order; lines between them are of one file alone. */
  stretches: Stretch[];
}

/** A remark of one of them or of both. */
export interface RemarkPair {
  /** The analysis or the pass. */
  by: string;
  a: Remark | null;
  b: Remark | null;
  /** File and line that it is about. */
  a_line: [file: string, line: number] | null;
  b_line: [file: string, line: number] | null;
}
