/**
 * What a report page holds, as `cutecc.report` writes it: chunks, each JSON, compressed with zlib, in base64, in
 * `<script type="application/octet-stream" data-chunk="NAME">`. A later chunk replaces an earlier one of its name, so that a
 * page can grow while a compilation runs; a page that was cut off shows what it holds.
 *
 * Names: `manifest`; `verdict`; `places:N`, `stage:N` and `user-lines` as in the record's stages (`cutecc/record/stages.py`);
 * `listing:FILE`; `columns:FILE` (`sass/table.ts`); `llvm` and `llvm:N`; `history`; `links:N` (`following/links.ts`); `mix`;
 * `layouts`; `measures`, and `measure:N` of each of them; `roofline`; `timeline:N` (`timeline/data.ts`); `proof` (`proof/data.ts`); `reproducer`. A page of two records has `pair` (`pair/data.ts`), and
 * `sources`, and of each of them, with `a:` or `b:` before the name, `places:N`, `stage:N`, `user-lines`, `listing:FILE`,
 * `counters`, `costs`.
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

/** Chunk `listing:FILE`: PTX, SASS or LLVM IR; chunk `llvm:N`: the code after row N of `llvm`. */
export interface Listing {
  kind: "ptx" | "sass" | "llvm-ir" | "machine-ir";
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

/** A pass of LLVM that changed something. */
export interface LlvmRow {
  /** As `cutecc show --after llvm:NAME` takes it. */
  name: string;
  /** `machine-ir` once instructions are selected. */
  kind: "llvm-ir" | "machine-ir";
  /** What it ran on; null for all of the module. */
  function: string | null;
  seconds: number | null;
  /** The row, from 0, with the code before it; null where none has it. */
  before: number | null;
}

/** Chunk `llvm`. */
export interface LlvmIndex {
  rows: LlvmRow[];
  /** Whether only the most important passes were looked at, as the module is large. */
  partly: boolean;
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
  /** Who unrolled it, in this order; missing in older pages. */
  copies?: Copies[];
}

/** That a line is there several times; of a loop's own line, that its body is. */
export interface Copies {
  by: "trace" | "pass" | "LLVM" | "ptxas";
  /** How many there are from then on, in all. */
  times: number;
  /** Of a loop's own line, the first and the last line of the body. */
  body?: [first: number, last: number];
  /** Position of the pass. */
  step?: number;
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
  /** What spills, by the line and opcode that made it, the most bytes first; missing in older pages. */
  spilled?: SpilledValue[];
}

/** Values that spill, of one line and opcode. */
export interface SpilledValue {
  /** Empty for values of no line. */
  file: string;
  line: number;
  /** Empty for what came into the kernel in a register. */
  opcode: string;
  /** How many instructions made them. */
  values: number;
  stores: number;
  loads: number;
  /** Stored and loaded. */
  bytes: number;
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

/**
 * Chunk `measures`, a list: quantities of instructions or lines, the most telling first. They are told of each instruction of
 * SASS, each line of PTX, or each line of Python; what else has them follows from places.
 */
export interface Measure {
  title: string;
  /** In words. */
  meaning: string;
  /** Who measured, and of which run. */
  source: string;
  unit?: string;
  level?: "sass" | "ptx" | "line";
  /** How values of several instructions are that of a line; of a ratio, both its parts are summed. */
  combine?: "sum" | "max" | "ratio";
  /** More of it is worse, not only more. */
  is_worse?: boolean;
  is_sampled?: boolean;
  /** Of the code, not of a run. */
  is_static?: boolean;
  /** What parts of a value mean, by name. */
  parts?: Record<string, string>;
}

/** Chunk `measure:N`, a list: the values in one file. What is left out is 0. */
export interface Points {
  /** Of a listing; of lines of Python, the source. */
  file: string;
  values: number[];
  /**
   * What each value is of: of SASS the number of the instruction in the listing, from 0, of PTX the line, from 0, of Python the
   * line, from 1. Left out: every instruction of the listing, in order.
   */
  at?: number[] | null;
  /** Of a ratio, what each value is divided by. */
  over?: number[];
  /** What each value is made of, by the name of the part. */
  parts?: Record<string, number[]>;
}

/** Chunk `roofline`: what `cutecc/report/roofline.py` draws. */
export interface Roofline {
  title: string;
  /** All of it in words. */
  description: string;
  width: number;
  height: number;
  shapes: {
    kind: "path" | "text";
    /** `grid`, `axis`, `roof`, `gap`, `memory`, `matrix`, `neither`, `number`, `name`. */
    role: string;
    d?: string;
    x?: number;
    y?: number;
    text?: string;
    anchor?: "start" | "middle" | "end";
    /** Degrees, around its place. */
    turn?: number;
    tip?: string;
  }[];
  points: { number: number; title: string; intensity: number; teraflops: number; percent: number; limit: string }[];
  /** Runs without a place, with why. */
  left_out: string[];
}

/** Chunk `counters` of each of two records: what the emulator counted, by line of the user's. */
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
  picture?: RequestPicture | null;
  /** How bad it is; of an access, how many times as much as needed it takes. */
  grade?: Grade;
  cost?: number;
}

/** One request of a warp; each list has a number for each of 32 threads, -1 for one that accesses nothing. */
export interface WarpRequest {
  /** Bytes from the beginning of the tensor in shared memory, or of the first line of global memory. */
  offsets: number[];
  /** From 0: the wavefront that serves the thread, or its sector among those that are touched. */
  turns: number[];
  /** Of shared memory: words of the thread's bank that it waits for. */
  before: number[];
}

/** The request of an access that takes most, and what a swizzle makes of it. */
export interface RequestPicture {
  space: "global" | "shared";
  /** Bytes that each thread accesses. */
  size: number;
  /** Bytes that `layout` and `swizzle` count in. */
  unit: number;
  /** From the thread to its offset, less the first one's. */
  layout: string | null;
  request: WarpRequest;
  swizzle: string | null;
  swizzled: WarpRequest | null;
}

/** A severity, or that an access costs too much for that. */
export type Grade = "error" | "severe" | "warning" | "remark" | "note";

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
  /** What the pass does, in one sentence; missing in older records, empty where nobody says. */
  summary?: string;
}

/** More about a fact. */
export interface Detail {
  text: string;
  /** The file and line that it is about. */
  line?: [file: string, line: number];
}

/** One thing to know. */
export interface Fact {
  about: "occupancy" | "spills" | "remarks" | "heaviest lines" | "mapping" | "failure" | "resumed" | "status";
  text: string;
  details?: Detail[];
  /** Whether something is wrong. */
  bad?: boolean;
  /** The position of the pass that it is about. */
  step?: number;
}

/** Chunk `verdict`: what to know first, of the whole record and of each kernel. */
export interface Verdict {
  facts: Fact[];
  kernels: { kernel: string; name: string; facts: Fact[] }[];
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
