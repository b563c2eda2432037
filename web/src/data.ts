/**
 * What a report page holds, as `cutecc.report` writes it: chunks, each JSON, compressed with zlib, in base64, in
 * `<script type="application/octet-stream" data-chunk="NAME">`. A later chunk replaces an earlier one of its name, so that a
 * page can grow while a compilation runs; a page that was cut off shows what it holds.
 *
 * Names: `manifest`; `places:N`, `stage:N` and `user-lines` as in the record's stages (`cutecc/record/stages.py`);
 * `listing:FILE`; `columns:FILE` (`sass/table.ts`); `history`; `mix`; `layouts`; `counters`; `reproducer`. A page of two records has `pair` (`pair/data.ts`),
 * and of each of them `a:stage:N`, `b:stage:N`, `a:listing:FILE`, `b:listing:FILE`.
 */

/** File, line and column from 1; column 0 is none. */
export type Frame = [file: string, line: number, column: number];

/** First the innermost frame outside of the DSL, last the user's line. */
export type Place = Frame[];

/** A frame of a call chain, with its function. */
export type CallFrame = [file: string, line: number, column: number, func: string];

/** Chunk `user-lines`. */
export interface UserLines {
  /** Innermost frame first, the kernel's own last. */
  chains: CallFrame[][];
  /** By file the whole text. */
  sources: Record<string, string>;
  /** Of these files, those of installed packages and of cutecc. */
  library?: string[];
}

/** Chunk `stage:N`: the module after pass N, 0 for the traced one; there for passes that changed it. */
export interface Stage {
  index: number;
  text: string;
  /** For each line the number of its place over all `places:N` chunks in order, -1 for none. */
  places: number[];
}

/** Chunk `listing:FILE`: PTX, SASS or LLVM IR. */
export interface Listing {
  kind: "ptx" | "sass" | "llvm-ir";
  file: string;
  text: string;
  /** Places of this listing. */
  table: Place[];
  /** For each line of the text an index into `table`, -1 for none. */
  places: number[];
  /** For each line the index of its instruction class in `class_names`, -1 where there is no instruction. Only of SASS. */
  classes: number[];
  class_names: string[];
  /** For each line how the place is known, as `panels/owners.ts` numbers it; -1 where there is no instruction. */
  reasons?: number[];
  /** For each line the index in `detail_names` of what the compiler made it for, or of how many copies; -1 for nothing. */
  details?: number[];
  detail_names?: string[];
  /**
   * Of SASS on a page of two records, for each line: how many of its operands are written, how many registers it reads,
   * then a number for the value in each of these, and in each that it writes; empty where there is no instruction.
   */
  values?: number[][];
  /** Kernels and device functions, lines from 0, the last one included. */
  functions: { name: string; first: number; last: number }[];
}

/** Of operations: `rewritten` ones have others in their place. */
export type EventKind =
  "appeared" | "changed" | "copied" | "folded" | "merged" | "moved" | "removed" | "rewritten" | "unrolled";

/** What one pass did to the operations of one line. */
export interface HistoryEvent {
  /** Position of the pass. */
  step: number;
  /** What happened to the most of them. */
  kind: EventKind;
  before: number;
  after: number;
  /** To how many of them what happened, the most first. */
  counts: Partial<Record<EventKind, number>>;
  /** How many are in the place of those rewritten. */
  rewritten_to?: number;
  /** File and line of the operations that stand for those merged. */
  into?: [string, number][];
  /** How many copies there are of each that is unrolled or copied; left out where they are not equally many. */
  times?: number;
}

/** What became of one line of the user's. */
export interface LineHistory {
  file: string;
  line: number;
  /** Operations in the traced module. */
  traced: number;
  events: HistoryEvent[];
  ptx: number;
  sass: number;
}

/** Chunk `history`. */
export interface History {
  lines: LineHistory[];
}

/** The instructions of one kernel. */
export interface KernelMix {
  kernel: string;
  /** SASS instructions, without the padding behind the last one. */
  instructions: number;
  /** Of these, those that are known to be of a statement of the source. */
  mapped: number;
  /** How many are known to be whose in which way; missing in older pages. */
  reasons?: Record<string, number>;
  /** Of those, those in a file of the user's; missing in older pages. */
  own?: number;
  /** By class. */
  classes: Record<string, number>;
  /** By line of the user's. */
  lines: { file: string; line: number; classes: Record<string, number> }[];
}

/** Chunk `mix`. */
export interface Mix {
  /** Whether the code was compiled with line information. */
  line_info: boolean;
  kernels: KernelMix[];
}

/**
 * One leaf of a layout: size and stride, and of a layout to coordinates the mode that it leads to, `0` or `1.0`. An index
 * counts through the leaves of a list, the first one fastest; the last one takes what is left.
 */
export type Leaf = [size: number, stride: number, to?: string];

/** One side of a grid; `shape` as CuTe spells it. */
export interface Axis {
  shape: string;
  modes: Leaf[];
}

/** What an offset goes through: it is added to, taken as the index of a layout, swizzled. */
export interface Through {
  add?: number;
  modes?: Leaf[];
  /** Bits, base, shift. */
  swizzle?: [bits: number, base: number, shift: number];
}

/** A grid as rules: what a cell holds follows from its coordinates, so that a large one takes no more room. */
export interface Grid {
  name: string;
  /** Rows, columns, and further ones of which a slice is shown at a time. */
  axes: Axis[];
  /** What the sum over all axes goes through, in this order. */
  through?: Through[];
  /** Of an element in shared memory: banks are shown. */
  element_bits?: number;
  /** Of a thread-value layout: a thread and a value lead to the index of a cell, rows fastest. */
  threads?: Leaf[];
  values?: Leaf[];
}

export interface Picture {
  title: string;
  kind: "layout" | "swizzle" | "copy" | "mma";
  /** One grid, or several: A, B, C of an MMA; source and destination of a copy. */
  grids: Grid[];
  notes?: string[];
}

/** Chunk `layouts`. */
export interface Layouts {
  colours: {
    /** From the first offset to the last. */
    scale: string[];
    banks: string[];
    /** Of threads; they begin again after the last. */
    groups: string[];
  };
  bank_count: number;
  bank_bits: number;
  /**
   * By the text in the module, a whole type (`!cute.memref<…>` in shared memory, tiled copies and MMAs, MMA atoms) or a
   * layout without its quotes; those with dynamic or too large shapes say why there is no picture.
   */
  pictures: Record<string, Picture | { reason: string }>;
}

/** Chunk `counters`: what the emulator counted, by line of the user's. */
export interface Counters {
  /** How the run was made, for people. */
  title: string;
  /** One for each kernel that ran a line; ratios among the counts. */
  lines: { kernel: string; file: string; line: number; counts: Record<string, number> }[];
}

export interface Remark {
  severity: "remark" | "warning" | "error" | "note";
  message: string;
  location?: string | null;
  analysis?: string | null;
  numbers?: Record<string, number | string>;
}

export interface Step {
  index: number;
  name: string;
  pass_text: string;
  /** Who ran the pass; `providerName` says it in words. */
  provider: "wheel" | "stand-in" | "composite" | "cutecc" | "plugin";
  status: "ok" | "failed";
  seconds: number;
  changed: boolean | null;
  operations_before: Record<string, number> | null;
  operations_after: Record<string, number> | null;
  remarks: Remark[];
}

export interface KernelResources {
  kernel: string;
  registers: number;
  stack_bytes: number;
  spill_store_bytes: number | null;
  spill_load_bytes: number | null;
  shared_static_bytes: number;
  shared_dynamic_bytes: number | null;
  constant_bytes: number;
  barriers: number | null;
  occupancy: {
    block_threads: number;
    blocks_per_sm: number;
    warps_per_sm: number;
    fraction: number;
    limited_by: string[];
  } | null;
}

/** Chunk `reproducer`: the file that `failure.reproducer` names, where a pass failed. */
export interface Reproducer {
  file: string;
  text: string;
  /** The command that makes it fail again, as a shell reads it; may be empty. */
  command: string;
}

/** Where a run went on from, and what had become of that stage. */
export interface Resumed {
  /** The folder of that record. */
  record: string;
  /** The selector of the pass that the stage is from. */
  after: string;
  /** The file that was read. */
  dump: string;
  edited: boolean;
  lines_removed: number;
  lines_added: number;
}

/** Chunk `manifest`: the record's manifest (docs/manifest.md), the parts that the page shows. */
export interface Manifest {
  name: string;
  target: string;
  pipeline: string;
  status: "running" | "ok" | "stopped" | "failed" | "interrupted";
  command: string[];
  source: string | null;
  versions: Record<string, string | null>;
  options: Record<string, string | number | boolean>;
  warnings: Remark[];
  traced_operations: Record<string, number> | null;
  steps: Step[];
  analyses: { name: string; after: number; seconds: number; remarks: Remark[]; failure: string | null }[];
  artifacts: { kind: string; file: string }[];
  resources: KernelResources[];
  failure: { stage: string; message: string; reproducer: string | null; location: string | null; notes: string[] } | null;
  seconds: Record<string, number>;
  resumed?: Resumed | null;
}
