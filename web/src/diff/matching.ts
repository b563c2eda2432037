/** Which lines of two texts are the same: the rules 2 and 4 of `cutecc/report/comparing.py`. */

import type { Sided } from "./abstract";
import { SLICE, type Sliced } from "./slices";

/** Numbers that stand for definitions of one side, by those of the other. */
export class Correspondence {
  readonly forward = new Map<number, number>();
  readonly backward = new Map<number, number>();

  pair(before: number, after: number): void {
    this.forward.set(before, after);
    this.backward.set(after, before);
  }

  /** Whether they stand for each other; two that stand for nothing yet do from now on. */
  holds(before: number, after: number): boolean {
    const known = this.forward.get(before);
    if (known !== undefined) return known === after;
    if (this.backward.has(after)) return false;
    this.pair(before, after);
    return true;
  }
}

export interface Matching {
  /** For each line before its counterpart after, -1 for none. */
  counterparts: Int32Array;
  names: Correspondence;
}

export function* match(before: Sided, after: Sided): Sliced<Matching> {
  const numbers = new Map<string, number>();
  const number = (key: string): number => {
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, numbers.size);
    return numbers.size - 1;
  };
  const ours = Int32Array.from(before.lines, (line) => number(line.key));
  yield;
  const theirs = Int32Array.from(after.lines, (line) => number(line.key));
  yield;
  return yield* checked(before, after, yield* byKey(ours, theirs, numbers.size));
}

function* byKey(before: Int32Array, after: Int32Array, keys: number): Sliced<Int32Array> {
  const counterparts = new Int32Array(before.length).fill(-1);
  const counts = new Counts(keys);
  let looked = 0;
  const open: [number, number, number, number][] = [[0, before.length, 0, after.length]];
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    let [start, end, first, last] = range;
    looked += end - start + last - first;
    if (looked >= SLICE) {
      looked = 0;
      yield;
    }
    while (start < end && first < last && before[start] === after[first]) counterparts[start++] = first++;
    while (start < end && first < last && before[end - 1] === after[last - 1]) counterparts[--end] = --last;
    if (start === end || first === last) continue;
    const [is, js] = rising(...counts.pairs(before, start, end, after, first, last));
    if (is.length === 0) continue;
    is.forEach((i, k) => {
      const j = js[k] as number;
      counterparts[i] = j;
      if (i > start && j > first) open.push([start, i, first, j]);
      start = i + 1;
      first = j + 1;
    });
    if (end > start && last > first) open.push([start, end, first, last]);
  }
  return counterparts;
}

/** What may match between two ranges. The tables are of all keys, and are cleared behind each range. */
class Counts {
  private readonly here: Int32Array;
  private readonly there: Int32Array;
  private readonly positions: number[][] = [];

  constructor(keys: number) {
    this.here = new Int32Array(keys);
    this.there = new Int32Array(keys);
  }

  /** By the position before: of keys that occur once, else equally often, else of all. */
  pairs(
    before: Int32Array,
    start: number,
    end: number,
    after: Int32Array,
    first: number,
    last: number,
  ): [number[], number[]] {
    const { here, there, positions } = this;
    for (let i = start; i < end; i++) here[before[i] as number]!++;
    for (let j = first; j < last; j++) there[after[j] as number]!++;
    let best = 0;
    for (let i = start; i < end && best < 3; i++) best = Math.max(best, this.rank(before[i] as number));
    const is: number[] = [];
    const js: number[] = [];
    if (best > 0) {
      for (let j = last - 1; j >= first; j--) {
        const key = after[j] as number;
        if (this.rank(key) === best || best === 1 && this.rank(key) > 0) (positions[key] ??= []).push(j);
      }
      for (let i = start; i < end; i++) {
        const j = positions[before[i] as number]?.pop();
        if (j === undefined) continue;
        is.push(i);
        js.push(j);
      }
    }
    for (let i = start; i < end; i++) here[before[i] as number] = 0;
    for (let j = first; j < last; j++) {
      const key = after[j] as number;
      there[key] = 0;
      const left = positions[key];
      if (left !== undefined) left.length = 0;
    }
    return [is, js];
  }

  /** 3: once in both, 2: equally often (more than once), 1: in both. */
  private rank(key: number): number {
    const [a, b] = [this.here[key] as number, this.there[key] as number];
    return a === 0 || b === 0 ? 0 : a === b ? (a === 1 ? 3 : 2) : 1;
  }
}

/** The longest run of pairs in which the second numbers rise too. */
function rising(is: number[], js: number[]): [number[], number[]] {
  const tails: number[] = [];
  const ends: number[] = [];
  const previous = new Int32Array(js.length);
  js.forEach((j, index) => {
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((tails[middle] as number) < j) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? (ends[low - 1] as number) : -1;
    tails[low] = j;
    ends[low] = index;
  });
  const run: number[] = [];
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index] as number) run.push(index);
  run.reverse();
  return [run.map((index) => is[index] as number), run.map((index) => js[index] as number)];
}

/** The counterparts whose operands correspond. */
function* checked(before: Sided, after: Sided, counterparts: Int32Array): Sliced<Matching> {
  const names = new Correspondence();
  for (let i = 0; i < counterparts.length; i++) {
    const j = counterparts[i] as number;
    if (j >= 0) pairDefinitions(before, after, i, j, names);
    if (i % SLICE === SLICE - 1) yield;
  }
  const kept = new Int32Array(counterparts.length).fill(-1);
  for (let i = 0; i < counterparts.length; i++) {
    if (i % SLICE === SLICE - 1) yield;
    const j = counterparts[i] as number;
    if (j < 0) continue;
    const ours = before.resolved[i] as number[];
    const theirs = after.resolved[j] as number[];
    let holds = ours.length === theirs.length;
    for (let k = 0; k < ours.length; k++) if (!names.holds(ours[k] as number, theirs[k] as number)) holds = false;
    if (holds) kept[i] = j;
  }
  return { counterparts: kept, names };
}

/** What two lines define stands for each other, if they define as much. */
export function pairDefinitions(before: Sided, after: Sided, i: number, j: number, names: Correspondence): void {
  const { definitions } = before.lines[i] as { definitions: boolean[] };
  const ours = before.resolved[i] as number[];
  const theirs = after.resolved[j] as number[];
  for (let k = 0; k < definitions.length; k++)
    if (definitions[k]) names.pair(ours[k] as number, theirs[k] as number);
}
