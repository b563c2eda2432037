/** Call chains of places: how the trace came from the kernel to the line that built an operation. */

import type { CallFrame, Place, UserLines } from "../data";

export type LineKey = string;

/** Names a line of a file, as the keys of maps. */
export function lineKey(file: string, line: number): LineKey {
  return `${file}:${line}`;
}

export function parseLineKey(key: LineKey): { file: string; line: number } {
  const colon = key.lastIndexOf(":");
  return { file: key.slice(0, colon), line: Number(key.slice(colon + 1)) };
}

/** The line of the user's that a place stands for: its last frame. */
export function userLineOf(place: Place): { file: string; line: number } | null {
  const frame = place[place.length - 1];
  return frame === undefined ? null : { file: frame[0], line: frame[1] };
}

/** Chains by the line of their innermost frame. */
export class Chains {
  private readonly byLine = new Map<LineKey, CallFrame[][]>();

  constructor(userLines: UserLines | null) {
    for (const chain of userLines?.chains ?? []) {
      const first = chain[0];
      if (first === undefined) continue;
      const key = lineKey(first[0], first[1]);
      const known = this.byLine.get(key);
      if (known === undefined) this.byLine.set(key, [chain]);
      else known.push(chain);
    }
  }

  /** The ways from the kernel to a place, innermost frame first; a place that has none is its own, without functions. */
  of(place: Place): CallFrame[][] {
    const first = place[0];
    const last = place[place.length - 1];
    if (first === undefined || last === undefined) return [];
    const candidates = this.byLine.get(lineKey(first[0], first[1])) ?? [];
    const found = candidates.filter(
      (chain) =>
        (first[2] === 0 || chain[0]?.[2] === 0 || chain[0]?.[2] === first[2]) &&
        chain.some((frame) => frame[0] === last[0] && frame[1] === last[1]),
    );
    // Those that differ in columns only are one way to people.
    const distinct = new Map(found.map((chain) => [chain.map((frame) => `${frame[0]}:${frame[1]} ${frame[3]}`).join("\n"), chain]));
    return distinct.size > 0 ? [...distinct.values()] : [place.map(([file, line, column]) => [file, line, column, ""])];
  }
}
