/** What a pass made of each operation: the chunk `links:N`, from lines of the module before to lines of that after. */

import type { EventKind } from "../data";

/**
 * Chunk `links:N`: what pass N did, as `cutecc.report.following` writes it. Lists of lines count from 0, each number is the
 * difference from the one before it. What is left out is empty.
 */
export interface Links {
  /** Runs of lines that are there before and after: lines between it and the run before, before and after, and its length. */
  kept?: number[];
  changed?: number[];
  moved?: number[];
  gone?: Partial<Record<EventKind, number[]>>;
  /** Operations that are gone, and those that they became together. */
  became?: [before: number[], after: number[]][];
  /** The same, of one that is of another line, or of none. */
  elsewhere?: [before: number[], after: number[]][];
  /** One operation each, and its copies. */
  copies?: [before: number[], after: number[]][];
  unrolled?: boolean;
}

/** What happened to an operation, or to several. */
export interface Happened {
  kind: EventKind | "unchanged";
  /** To how many. */
  count: number;
}

interface Run {
  before: number;
  after: number;
  length: number;
}

/** Lines before, and what they became. */
class Relation {
  private readonly forward = new Map<number, number[]>();
  private readonly backward = new Map<number, number[]>();

  /** What is copied and rewritten is added twice. */
  add(before: readonly number[], after: readonly number[]): void {
    for (const line of before) this.forward.set(line, [...this.after(line), ...after]);
    for (const line of after) this.backward.set(line, [...this.before(line), ...before]);
  }

  after(line: number): readonly number[] {
    return this.forward.get(line) ?? [];
  }

  before(line: number): readonly number[] {
    return this.backward.get(line) ?? [];
  }
}

/** `Links`, to be asked. */
export class Linked {
  private readonly runs: Run[] = [];
  private readonly fates = new Map<number, EventKind>();
  private readonly changes = new Map<number, EventKind>();
  private readonly own = new Relation();
  /** Followed only where nothing else is left of the value. */
  private readonly elsewhere = new Relation();
  /** Those that became something together with others. */
  private readonly together = new Map<number, number[]>();
  private readonly copied: EventKind;

  constructor(links: Links) {
    this.copied = links.unrolled === true ? "unrolled" : "copied";
    let [before, after] = [0, 0];
    const kept = links.kept ?? [];
    for (let i = 0; i + 2 < kept.length; i += 3) {
      const [here, there, length] = kept.slice(i, i + 3) as [number, number, number];
      this.runs.push({ before: before + here, after: after + there, length });
      [before, after] = [before + here + length, after + there + length];
    }
    for (const [kind, lines] of Object.entries(links.gone ?? {})) for (const line of summed(lines)) this.fates.set(line, kind as EventKind);
    for (const line of summed(links.moved ?? [])) this.changes.set(line, "moved");
    for (const line of summed(links.changed ?? [])) this.changes.set(line, "changed");
    for (const [before, after] of links.elsewhere ?? []) this.elsewhere.add(summed(before), summed(after));
    for (const group of [...(links.became ?? []), ...(links.copies ?? [])]) {
      const lines = summed(group[0]);
      this.own.add(lines, summed(group[1]));
      if (lines.length > 1) for (const line of lines) this.together.set(line, lines);
    }
    for (const [line] of links.copies ?? []) this.fates.set(line[0] as number, this.copied);
  }

  /** Lines after the pass that operations before it became, ascending. */
  after(lines: readonly number[]): number[] {
    const found = lines.flatMap((line) => [...this.match(line, "before", "after"), ...this.own.after(line)]);
    return distinct(found.length > 0 ? found : lines.flatMap((line) => this.elsewhere.after(line)));
  }

  /** Lines before the pass of what became operations after it, ascending. */
  before(lines: readonly number[]): number[] {
    const found = lines.flatMap((line) => [...this.match(line, "after", "before"), ...this.own.before(line)]);
    return distinct(found.length > 0 ? found : lines.flatMap((line) => this.elsewhere.before(line)));
  }

  /** What happened to operations before the pass, the most first. */
  happened(lines: readonly number[]): Happened[] {
    const counts = new Map<Happened["kind"], number>();
    for (const line of lines) {
      const kind = this.fates.get(line) ?? this.changes.get(line) ?? "unchanged";
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    return [...counts].map(([kind, count]) => ({ kind, count })).sort((a, b) => b.count - a.count);
  }

  /** Of how many operations besides these it is not known which of them became what. */
  others(lines: readonly number[]): number {
    const own = new Set(lines);
    return distinct(lines.flatMap((line) => this.together.get(line) ?? [])).filter((line) => !own.has(line)).length;
  }

  /** The line, if it is kept, on the other side. */
  private match(line: number, from: "before" | "after", to: "before" | "after"): number[] {
    let [low, high] = [0, this.runs.length];
    const sorted = from === "before" ? this.runs : this.byAfter;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[middle] as Run)[from] <= line) low = middle + 1;
      else high = middle;
    }
    const run = sorted[low - 1];
    return run !== undefined && line < run[from] + run.length ? [run[to] + line - run[from]] : [];
  }

  private sortedByAfter: Run[] | null = null;

  /** Operations may be in another order after the pass. */
  private get byAfter(): Run[] {
    this.sortedByAfter ??= [...this.runs].sort((a, b) => a.after - b.after);
    return this.sortedByAfter;
  }
}

function summed(differences: readonly number[]): number[] {
  let sum = 0;
  return differences.map((each) => (sum += each));
}

function distinct(lines: readonly number[]): number[] {
  return [...new Set(lines)].sort((a, b) => a - b);
}
