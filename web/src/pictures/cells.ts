/** What the cells of a grid hold: the rules of `data.ts` worked out. The same arithmetic as CuTe's, and as `cutecc.layout`. */

import type { Axis, Grid, Leaf } from "../data";

/** A plain offset has the empty name; coordinates have one for each mode. */
type Sum = Map<string, number>;

function add(sum: Sum, index: number, modes: readonly Leaf[]): void {
  for (let at = 0; at < modes.length; at++) {
    const [size, stride, to = ""] = modes[at] as Leaf;
    // The last one takes what is left.
    const part = at === modes.length - 1 ? index : index % size;
    index = Math.floor(index / size);
    sum.set(to, (sum.get(to) ?? 0) + part * stride);
  }
}

function along(index: number, modes: readonly Leaf[]): number {
  let sum = 0;
  for (let at = 0; at < modes.length; at++) {
    const [size, stride] = modes[at] as Leaf;
    sum += (at === modes.length - 1 ? index : index % size) * stride;
    index = Math.floor(index / size);
  }
  return sum;
}

export function sizeOf(axis: Axis): number {
  return axis.modes.reduce((product, [size]) => product * size, 1);
}

/** Whether cells hold coordinates, not offsets. */
export function leadsToCoordinates(grid: Grid): boolean {
  return grid.axes.some((axis) => axis.modes.some((mode) => mode[2] !== undefined));
}

/** The offset in a cell; `at` has an index for each axis. */
export function offsetAt(grid: Grid, at: readonly number[]): number {
  let offset = 0;
  for (let axis = 0; axis < grid.axes.length; axis++) offset += along(at[axis] ?? 0, (grid.axes[axis] as Axis).modes);
  for (const step of grid.through ?? []) {
    offset += step.add ?? 0;
    if (step.modes) offset = along(offset, step.modes);
    if (step.swizzle) offset = swizzled(offset, step.swizzle);
  }
  return offset;
}

/** Bits of an offset flipped by others; offsets may be beyond 2^31, where `^` would cut them off. */
export function swizzled(offset: number, [bits, base, shift]: readonly [number, number, number]): number {
  const window = 2 ** bits;
  const low = 2 ** base;
  const high = 2 ** (base + Math.abs(shift));
  const [from, to] = shift >= 0 ? [high, low] : [low, high];
  const flips = mod(Math.floor(offset / from), window);
  const before = mod(Math.floor(offset / to), window);
  return offset + ((before ^ flips) - before) * to;
}

function mod(value: number, by: number): number {
  return ((value % by) + by) % by;
}

/** The coordinate in a cell, `(3,0)`, one number for each mode that is led to. */
export function coordinateAt(grid: Grid, at: readonly number[]): string {
  const sum: Sum = new Map();
  grid.axes.forEach((axis, index) => add(sum, at[index] ?? 0, axis.modes));
  const most = Math.max(0, ...grid.axes.flatMap((axis) => axis.modes.map((mode) => Number((mode[2] ?? "0").split(".")[0]))));
  if ([...sum.keys()].some((name) => name.includes("."))) {
    const named = [...sum].filter(([name]) => name !== "").sort(([a], [b]) => (a < b ? -1 : 1));
    return named.map(([name, value]) => `${value}@${name.split(".").reverse().join("@")}`).join("+") || "0";
  }
  return `(${Array.from({ length: most + 1 }, (_, mode) => sum.get(String(mode)) ?? 0).join(",")})`;
}

/** The index of a cell, the first axis fastest. */
export function indexAt(grid: Grid, at: readonly number[]): number {
  let index = 0;
  let step = 1;
  grid.axes.forEach((axis, number) => {
    index += (at[number] ?? 0) * step;
    step *= sizeOf(axis);
  });
  return index;
}

/** An index within an axis as CuTe spells the coordinate, `(3,(0,1))`: `shape` with its sizes replaced. */
export function nested(axis: Axis, index: number): string {
  const sizes = [...axis.shape.matchAll(/\d+/g)].map((match) => Number(match[0]));
  let at = 0;
  return axis.shape.replace(/\d+/g, () => {
    const size = sizes[at] as number;
    const part = at === sizes.length - 1 ? index : index % size;
    index = Math.floor(index / size);
    at++;
    return String(part);
  });
}

/** The bank that an element begins in. */
export function bankOf(offset: number, elementBits: number, bankBits: number, count: number): number {
  return mod(Math.floor((offset * elementBits) / bankBits), count);
}

/** Who holds each cell of a thread-value layout. */
export class Holders {
  readonly threads: number;
  readonly values: number;
  private readonly first: Int32Array;
  private readonly counts: Uint32Array;

  constructor(private readonly grid: Grid) {
    const size = (modes: readonly Leaf[]) => modes.reduce((product, [each]) => product * each, 1);
    this.threads = size(grid.threads ?? []);
    this.values = size(grid.values ?? []);
    const cells = grid.axes.reduce((product, axis) => product * sizeOf(axis), 1);
    this.first = new Int32Array(cells).fill(-1);
    this.counts = new Uint32Array(cells);
    const ofThreads = Int32Array.from({ length: this.threads }, (_, thread) => along(thread, grid.threads ?? []));
    for (let value = 0; value < this.values; value++) {
      const begin = along(value, grid.values ?? []);
      for (let thread = 0; thread < this.threads; thread++) {
        const index = begin + (ofThreads[thread] as number);
        if (index < 0 || index >= cells) continue;
        if (this.counts[index]! === 0) this.first[index] = value * this.threads + thread;
        this.counts[index]!++;
      }
    }
  }

  /** Thread and value of a cell, and how many more have it; null where nobody does. */
  at(index: number): { thread: number; value: number; more: number } | null {
    const number = this.first[index] ?? -1;
    if (number < 0) return null;
    return {
      thread: number % this.threads,
      value: Math.floor(number / this.threads),
      more: (this.counts[index] as number) - 1,
    };
  }

  /** The first `most` threads and values of a cell. */
  all(index: number, most: number): string[] {
    const found: string[] = [];
    for (let value = 0; value < this.values && found.length < most; value++) {
      const begin = along(value, this.grid.values ?? []);
      for (let thread = 0; thread < this.threads && found.length < most; thread++)
        if (begin + along(thread, this.grid.threads ?? []) === index) found.push(`T${thread} V${value}`);
    }
    return found;
  }
}

/** The lowest and the highest offset of a grid, before a swizzle moves some within their blocks. */
export function rangeOf(grid: Grid): [number, number] {
  let [low, high] = [0, 0];
  for (const axis of grid.axes)
    for (const [size, stride] of axis.modes) {
      if (stride > 0) high += (size - 1) * stride;
      else low += (size - 1) * stride;
    }
  for (const step of grid.through ?? []) {
    low += step.add ?? 0;
    high += step.add ?? 0;
    if (step.modes) [low, high] = [0, step.modes.reduce((sum, [size, stride]) => sum + (size - 1) * Math.max(0, stride), 0)];
    if (step.swizzle) {
      const [bits, base, shift] = step.swizzle;
      // Flips stay within a block of this size.
      const block = 2 ** (base + bits + Math.max(0, -shift));
      [low, high] = [Math.floor(low / block) * block, Math.ceil((high + 1) / block) * block - 1];
    }
  }
  return [low, high];
}

/** The modes at the top of an axis, each as an axis: `((8,16),(64,1))` is `(8,16)` and `(64,1)`. */
export function partsOf(axis: Axis): Axis[] {
  if (!axis.shape.startsWith("(")) return [axis];
  const texts: string[] = [];
  let depth = 0;
  let begin = 1;
  for (let at = 0; at < axis.shape.length; at++) {
    const char = axis.shape[at];
    if (char === "(") depth++;
    else if (char === ")") depth--;
    if ((char === "," && depth === 1) || (char === ")" && depth === 0)) {
      texts.push(axis.shape.slice(begin, at));
      begin = at + 1;
    }
  }
  let mode = 0;
  return texts.map((shape) => {
    const count = shape.match(/\d+/g)?.length ?? 0;
    mode += count;
    return { shape, modes: axis.modes.slice(mode - count, mode) };
  });
}

/**
 * The grid with the first axis's own modes as rows and columns, and all others as slices; null where that says nothing
 * new. Indices stay the same.
 */
export function unfolded(grid: Grid): Grid | null {
  const [rows, ...rest] = grid.axes as [Axis, ...Axis[]];
  const parts = partsOf(rows);
  // A thread-value layout's axes are the tile's sides, each one number.
  if (grid.threads !== undefined || parts.filter((part) => sizeOf(part) > 1).length < 2) return null;
  return { ...grid, axes: [...parts, ...rest] };
}
