/** Chunk `timeline:N`, as `cutecc/report/timeline_picture.py` has it: what warps did when. */

export type Kind = "wait" | "barrier" | "arrive" | "copy" | "product" | "mark";

export interface Site {
  kind: Kind;
  name: string;
  barrier: string | null;
  file: string;
  /** From 1; 0 where it is not known. */
  line: number;
}

/** Of a lane, arrays of one length. */
export interface Spans {
  sites: number[];
  starts: number[];
  lengths: number[];
}

/** What a wait ended by: 0 itself, 1 a copy that landed, 2 products, 3 another warp, 4 something else, 5 nothing. */
export type Ended = 0 | 1 | 2 | 3 | 4 | 5;

/** Of the spans of a lane. */
export interface Waits {
  spans: Spans;
  ended: Ended[];
  /** Who began what ended it, and at which site: of a block's lane a warp, of a period's an index of its lanes. */
  ended_by: ([who: number, site: number] | null)[];
}

export interface Group {
  role: "producer" | "consumer" | "epilogue" | "warp";
  warps: number[];
  title: string;
}

export interface Lane extends Waits {
  warp: number;
  role: Group["role"];
  start: number;
  end: number;
  /** The times of which spans are kept. */
  kept: [start: number, end: number][];
}

export type Cause = "instructions" | "memory" | "tensor cores" | "signal" | "elsewhere" | "never";

/** A part of a critical path: lanes by their index; site -1 before the first one. */
export type PathPart = [lane: number, start: number, end: number, cause: Cause, site: number];

export interface Share {
  cause: Cause;
  file: string;
  line: number;
  time: number;
  share: number;
}

export interface Block {
  kernel: string;
  launch: number;
  block: number;
  /** -1 on the emulator. */
  processor: number;
  why: string[];
  start: number;
  end: number;
  groups: Group[];
  lanes: Lane[];
  path: PathPart[];
  shares: Share[];
}

export interface FoldedLane extends Group, Waits {
  turns: number;
}

export interface Steady {
  period: number;
  periods: number;
  blocks: number;
  left_out: string[];
  lanes: FoldedLane[];
  path: PathPart[];
  shares: Share[];
}

export interface Timeline {
  title: string;
  unit: "ns" | "instructions";
  device: string;
  /** In microseconds. */
  slowdown: { recorded: number; idle: number; plain: number | null } | null;
  notes: string[];
  lost: number;
  recorded_blocks: number;
  sites: Site[];
  /** Which part of the time of all warps they were at the sites of a line. */
  lines: { file: string; line: number; share: number }[];
  blocks: Block[];
  steady: Steady | null;
  why_no_steady: string;
  /** Of a run that came to one: why nobody could go on, then who waited where, and for what. */
  deadlock: string[];
}
