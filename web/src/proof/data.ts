/** Chunk `proof`, as `cutecc/report/proof_file.py` has it: the proof of each kernel, and what it is about as a picture. */

export interface Proof {
  /** The kernel's, for people. */
  name: string;
  answer: "proved" | "refuted" | "suspicious" | "cannot tell";
  reason: string;
  place: Place | null;
  /** Preconditions, in words. */
  given: string[];
  problems: Problem[];
  /** Of the run that has the problems, in words. */
  sizes: string[];
  /** By the number that has to be larger, what is wrong otherwise. */
  below: Record<string, Problem[]>;
  /** What was run to find a run that shows it. */
  tried: string[];
  /** The command of a run that shows it. */
  reproduce: string | null;
  /** The command that makes a timeline of that run. */
  timeline: string | null;
  /** The page's own of that run: the chunks of what it has. */
  timelines: string[];
  effort: string;
  drawings: Drawing[];
}

export interface Place {
  file: string;
  line: number | null;
}

export interface Problem {
  kind: string;
  text: string;
  location: Place | null;
  other: Place | null;
}

/** Lanes with events, time downwards; coordinates are pixels. */
export interface Drawing {
  title: string;
  description: string;
  width: number;
  height: number;
  heads: Words[];
  tails: Words[];
  boxes: Box[];
  arrows: { d: string; role: "copy" | "arrive" | "barrier" | "before"; tip: string; ends: number[] }[];
  /** Warps without events in it. */
  others: string[];
}

export interface Words {
  x: number;
  y: number;
  text: string;
}

export interface Box {
  lane: number;
  x: number;
  y: number;
  width: number;
  height: number;
  kind: string;
  text: string;
  tip: string;
  file: string;
  /** From 1; 0 where it is not known. */
  line: number;
}
