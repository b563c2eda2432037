/** Which elements of two sequences belong together: the greedy algorithm of Myers (1986) in linear space. */

import { SLICE, type Sliced } from "./slices";

/**
 * After as many steps in search of one middle, the furthest point found so far is taken. Only sequences that have little in
 * common get there; their alignment is then not the shortest.
 */
const MOST_STEPS = 700;

/** For each element of `a` the index of its counterpart in `b`, -1 where it has none. Counterparts are equal and in order. */
export function* align(a: Int32Array, b: Int32Array): Sliced<Int32Array> {
  const counterparts = new Int32Array(a.length).fill(-1);
  // Elements that the other side lacks only make it slow.
  const [ours, ourPositions] = common(a, b);
  const [theirs, theirPositions] = common(b, a);
  yield* new Search(ours, theirs, (i, j) => {
    counterparts[ourPositions[i] as number] = theirPositions[j] as number;
  }).run();
  return counterparts;
}

function common(of: Int32Array, other: Int32Array): [Int32Array, Int32Array] {
  const known = new Set(other);
  const positions = Int32Array.from(of.keys()).filter((i) => known.has(of[i] as number));
  return [positions.map((i) => of[i] as number), positions];
}

class Search {
  private readonly forward: Int32Array;
  private readonly backward: Int32Array;
  private readonly zero: number;

  constructor(
    private readonly a: Int32Array,
    private readonly b: Int32Array,
    private readonly found: (i: number, j: number) => void,
  ) {
    this.zero = b.length + 1;
    this.forward = new Int32Array(a.length + b.length + 3);
    this.backward = new Int32Array(a.length + b.length + 3);
  }

  *run(): Sliced<void> {
    const { a, b } = this;
    let looked = 0;
    const open: [number, number, number, number][] = [[0, a.length, 0, b.length]];
    for (let box = open.pop(); box !== undefined; box = open.pop()) {
      let [left, right, top, bottom] = box;
      while (left < right && top < bottom && a[left] === b[top]) this.found(left++, top++);
      while (left < right && top < bottom && a[right - 1] === b[bottom - 1]) this.found(--right, --bottom);
      if (left === right || top === bottom) continue;
      // Looking for a middle takes about as many steps as the box is large.
      looked += right - left + bottom - top;
      if (looked >= SLICE) {
        looked = 0;
        yield;
      }
      const [x, y] = this.middle(left, right, top, bottom);
      if ((x === left && y === top) || (x === right && y === bottom)) continue;
      open.push([left, x, top, y], [x, right, y, bottom]);
    }
  }

  /** A point of a short way from the box's corner to the other one. */
  private middle(left: number, right: number, top: number, bottom: number): [number, number] {
    const { a, b, forward, backward, zero } = this;
    const low = left - bottom;
    const high = right - top;
    const start = left - top;
    const end = right - bottom;
    const odd = ((start - end) & 1) !== 0;
    let [fromLow, fromHigh, toLow, toHigh] = [start, start, end, end];
    forward[zero + start] = left;
    backward[zero + end] = right;
    for (let step = 1; ; step++) {
      // Forwards: by diagonal the largest x that `step` edits reach.
      if (fromLow > low) forward[zero + --fromLow - 1] = -1;
      else fromLow++;
      if (fromHigh < high) forward[zero + ++fromHigh + 1] = -1;
      else fromHigh--;
      for (let k = fromHigh; k >= fromLow; k -= 2) {
        const below = forward[zero + k - 1] as number;
        const above = forward[zero + k + 1] as number;
        let x = below < above ? above : below + 1;
        while (x < right && x - k < bottom && a[x] === b[x - k]) x++;
        forward[zero + k] = x;
        if (odd && k >= toLow && k <= toHigh && (backward[zero + k] as number) <= x) return [x, x - k];
      }
      // Backwards: the smallest x.
      if (toLow > low) backward[zero + --toLow - 1] = 0x7fffffff;
      else toLow++;
      if (toHigh < high) backward[zero + ++toHigh + 1] = 0x7fffffff;
      else toHigh--;
      for (let k = toHigh; k >= toLow; k -= 2) {
        const below = backward[zero + k - 1] as number;
        const above = backward[zero + k + 1] as number;
        let x = below < above ? below : above - 1;
        while (x > left && x - k > top && a[x - 1] === b[x - k - 1]) x--;
        backward[zero + k] = x;
        if (!odd && k >= fromLow && k <= fromHigh && x <= (forward[zero + k] as number)) return [x, x - k];
      }
      if (step >= MOST_STEPS) return this.furthest(fromLow, fromHigh, toLow, toHigh, [left, right, top, bottom]);
    }
  }

  private furthest(
    fromLow: number,
    fromHigh: number,
    toLow: number,
    toHigh: number,
    [left, right, top, bottom]: [number, number, number, number],
  ): [number, number] {
    let best: [number, number] = [left, top];
    let most = 0;
    for (let k = fromHigh; k >= fromLow; k -= 2) {
      const x = Math.min(this.forward[this.zero + k] as number, right);
      const y = x - k;
      if (y >= top && y <= bottom && x - left + (y - top) > most) {
        most = x - left + (y - top);
        best = [x, y];
      }
    }
    for (let k = toHigh; k >= toLow; k -= 2) {
      const x = Math.max(this.backward[this.zero + k] as number, left);
      const y = x - k;
      if (y >= top && y <= bottom && right - x + (bottom - y) > most) {
        most = right - x + (bottom - y);
        best = [x, y];
      }
    }
    return best;
  }
}
