/** From lines of the user's to lines of one document, and how many each has. */

import type { Place } from "../data";
import { type Chains, type LineKey, lineKey, userLineOf } from "./chains";

/** The lines of the user's that lead to a place: that to which it belongs, and those that it came about through. */
export function keysOf(place: Place, chains: Chains): { own: LineKey; through: LineKey[] } | null {
  const user = userLineOf(place);
  if (user === null) return null;
  const own = lineKey(user.file, user.line);
  const others = new Set<LineKey>();
  for (const frame of place) others.add(lineKey(frame[0], frame[1]));
  for (const chain of chains.of(place)) for (const frame of chain) others.add(lineKey(frame[0], frame[1]));
  others.delete(own);
  return { own, through: [...others] };
}

/** Lines of a document, from 0, ascending. */
const NONE = new Int32Array(0);

export class LineIndex {
  /** Of each key the lines whose own line of the user's it is. */
  private readonly own: Map<LineKey, Int32Array>;
  /** Of each key the lines that have it elsewhere in their chain. */
  private readonly through: Map<LineKey, Int32Array>;

  /**
   * `places` are one for each line of the document, indices into `table`, -1 for none. Lines that `counts` refuses, as
   * directives in a listing, are left out.
   */
  constructor(places: ArrayLike<number>, table: readonly Place[], chains: Chains, counts: (line: number) => boolean = () => true) {
    // By place the keys that lead to it: few places, many lines.
    const uses = new Int32Array(table.length);
    for (let line = 0; line < places.length; line++) {
      const place = places[line] as number;
      if (place >= 0 && counts(line)) uses[place]!++;
    }
    const ownKeys: (LineKey | null)[] = [];
    const throughKeys: LineKey[][] = [];
    const ownCounts = new Map<LineKey, number>();
    const throughCounts = new Map<LineKey, number>();
    for (let at = 0; at < table.length; at++) {
      const used = uses[at] as number;
      const keys = used > 0 ? keysOf(table[at] as Place, chains) : null;
      if (keys !== null) {
        ownCounts.set(keys.own, (ownCounts.get(keys.own) ?? 0) + used);
        for (const other of keys.through) throughCounts.set(other, (throughCounts.get(other) ?? 0) + used);
      }
      ownKeys.push(keys?.own ?? null);
      throughKeys.push(keys?.through ?? []);
    }
    const room = (sizes: Map<LineKey, number>) => new Map([...sizes].map(([key, size]) => [key, new Int32Array(size)]));
    this.own = room(ownCounts);
    this.through = room(throughCounts);
    const ends = new Map<Int32Array, number>();
    const add = (lines: Int32Array, line: number) => {
      const end = ends.get(lines) ?? 0;
      lines[end] = line;
      ends.set(lines, end + 1);
    };
    for (let line = 0; line < places.length; line++) {
      const place = places[line] as number;
      const key = place >= 0 && counts(line) ? ownKeys[place] : null;
      if (key === null || key === undefined) continue;
      add(this.own.get(key) as Int32Array, line);
      for (const other of throughKeys[place] as LineKey[]) add(this.through.get(other) as Int32Array, line);
    }
  }

  /** Lines whose operation or instruction belongs to a line of the user's. */
  ownLines(file: string, line: number): Int32Array {
    return this.own.get(lineKey(file, line)) ?? NONE;
  }

  /** Lines that came about through a call in a line of the user's. */
  linesThrough(file: string, line: number): Int32Array {
    return this.through.get(lineKey(file, line)) ?? NONE;
  }

  /** Both, ascending. */
  lines(file: string, line: number): Int32Array {
    const own = this.ownLines(file, line);
    const through = this.linesThrough(file, line);
    if (through.length === 0) return own;
    if (own.length === 0) return through;
    const both = new Int32Array(own.length + through.length);
    both.set(own);
    both.set(through, own.length);
    return both.sort();
  }

  /** How many lines a line of the user's has, through calls too. */
  count(file: string, line: number): number {
    return this.ownLines(file, line).length + this.linesThrough(file, line).length;
  }
}
