/** One value through all passes: what it is in each module. */

import type { Happened, Linked } from "./links";

/** What a pass did to the value. */
export interface Link {
  /** The pass. */
  step: number;
  /** Lines of the module before it and after it, from 0. */
  before: number[];
  after: number[];
  happened: Happened[];
  /** Of so many other operations of its line it is not known which of them became what. */
  others: number;
}

export interface Chain {
  /** Lines in each module that some pass left, by the pass's number, 0 of the traced one. */
  lines: Map<number, number[]>;
  /** One for each pass that changed the module, from the value's first to its last. */
  links: Link[];
}

/**
 * The operation in `line` of the module after pass `stage`, followed to both ends. `stages` are the passes that changed the
 * module, ascending; `linked` is what a pass did, null where the page does not hold it.
 */
export function chainOf(stages: readonly number[], stage: number, line: number, linked: (step: number) => Linked | null): Chain {
  const start = stages.indexOf(stage);
  const lines = new Map([[stage, [line]]]);
  const links: Link[] = [];
  const add = (step: number, before: number[], after: number[], by: Linked): Link => ({
    step,
    before,
    after,
    happened: by.happened(before),
    others: by.others(before),
  });
  let current = [line];
  for (let at = start; at > 0 && current.length > 0; at--) {
    const by = linked(stages[at] as number);
    const before = by?.before(current) ?? [];
    if (by === null || before.length === 0) break;
    links.unshift(add(stages[at] as number, before, current, by));
    lines.set(stages[at - 1] as number, before);
    current = before;
  }
  current = [line];
  for (const step of start < 0 ? [] : stages.slice(start + 1)) {
    const by = current.length > 0 ? linked(step) : null;
    if (by === null) break;
    const after = by.after(current);
    links.push(add(step, current, after, by));
    lines.set(step, after);
    current = after;
  }
  return { lines, links };
}

/** Passes that left the value as it was, together; the others each alone. */
export function rowsOf(links: readonly Link[]): Link[][] {
  const rows: Link[][] = [];
  let isQuiet = false;
  for (const link of links) {
    const quiet = link.happened.every((each) => each.kind === "unchanged");
    if (quiet && isQuiet) (rows.at(-1) as Link[]).push(link);
    else rows.push([link]);
    isQuiet = quiet;
  }
  return rows;
}

const PLAIN: Partial<Record<string, string>> = { merged: "merged into an equal one", folded: "folded: its users take another value" };

/** `rewritten 1 → 3`, `unrolled ×4`, in words for people. */
export function saidOf({ before, after, happened, others }: Link): string {
  const parts = happened.map(({ kind, count }) => {
    if (kind === "rewritten") return happened.length === 1 ? `rewritten ${before.length} → ${after.length}` : `${count} rewritten`;
    const isAll = count === before.length;
    if (isAll && (kind === "unrolled" || kind === "copied") && after.length % before.length === 0)
      return `${kind} ×${after.length / before.length}`;
    const words = before.length === 1 ? (PLAIN[kind] ?? kind) : kind;
    return isAll ? words : `${count} ${words}`;
  });
  const unsure = others > 0 ? `, together with ${others.toLocaleString("en")} other${others === 1 ? "" : "s"} of its line` : "";
  return parts.join(", ") + unsure;
}
