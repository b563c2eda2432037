/**
 * Two stages side by side: rows of lines that belong together.
 *
 * Which lines are the same follows the rules of `cutecc/report/comparing.py`, so that the page and `cutecc diff` agree.
 * Between them, lines that differ are put beside each other where they look alike; that is for the eye only.
 */

import { Side, type Sided } from "./abstract";
import { align } from "./align";
import { type Correspondence, match } from "./matching";
import { type Registers, codeSide } from "./registers";
import { SLICE, type Sliced } from "./slices";
import { similar } from "./words";

export const SAME = 0;
export const CHANGED = 1;
export const REMOVED = 2;
export const ADDED = 3;

export interface Rows {
  /** For each row the line of the left side, from 0, -1 for none. */
  left: Int32Array;
  right: Int32Array;
  kinds: Uint8Array;
  /** Changed, removed and added rows. */
  changes: number;
  /**
   * What stands for the name number `index` of a line: the same on both sides where names correspond, null for one
   * that nothing corresponds to.
   */
  leftName(line: number, index: number): string | null;
  rightName(line: number, index: number): string | null;
}

/** The longest stretch of lines without counterparts in which pairs are sought by their words. */
const MOST_BY_WORDS = 12;

/**
 * Compares two texts, in slices; `leftModule` and `rightModule` are all lines of the modules that the lines are of. Of code
 * with `registers`, those of both.
 */
export function* comparing(
  left: readonly string[],
  right: readonly string[],
  leftModule: readonly string[] = left,
  rightModule: readonly string[] = right,
  registers: readonly [Registers, Registers] | null = null,
): Sliced<Rows> {
  const before = yield* registers === null ? sideOf(left, leftModule) : codeSide(left, registers[0]);
  const after = yield* registers === null ? sideOf(right, rightModule) : codeSide(right, registers[1]);
  const { counterparts, names } = yield* match(before, after);
  const alike = counterparts.slice();
  const numbers = new Map<string, number>();
  const number = (text: string) => {
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, numbers.size);
    return numbers.size - 1;
  };
  const between = (keyOf: (side: Sided, lines: readonly string[], line: number) => string) =>
    fillGaps(alike, right.length, (a, b, ourEnd, theirEnd) =>
      align(
        Int32Array.from({ length: ourEnd - a }, (_, i) => number(keyOf(before, left, a + i))),
        Int32Array.from({ length: theirEnd - b }, (_, i) => number(keyOf(after, right, b + i))),
      ),
    );
  // First those that differ in operands only, then those of the same operation.
  yield* between((side, _lines, line) => side.lines[line]!.key);
  yield* between((_side, lines, line) => operationOf(lines[line] as string));
  yield* fillGaps(alike, right.length, function* (a, b, ourEnd, theirEnd) {
    const found = new Int32Array(ourEnd - a).fill(-1);
    if (ourEnd - a === theirEnd - b && found.length <= MOST_BY_WORDS)
      for (let i = 0; i < found.length; i++) if (similar(left[a + i] as string, right[b + i] as string)) found[i] = i;
    return found;
  });
  yield;
  pairResults(before, after, counterparts, alike, names);
  yield;
  return {
    ...rowsOf(left.length, right.length, counterparts, alike),
    leftName: (line, index) => {
      const known = names.forward.get(before.resolved[line]?.[index] ?? NaN);
      return known === undefined ? null : String(known);
    },
    rightName: (line, index) => {
      const own = after.resolved[line]?.[index];
      return own !== undefined && names.backward.has(own) ? String(own) : null;
    },
  };
}

/** Of whole modules: the next pass is compared with the same one again. */
const knownSides = new WeakMap<readonly string[], Side>();

function* sideOf(lines: readonly string[], module: readonly string[]): Sliced<Side> {
  const known = lines === module ? knownSides.get(lines) : undefined;
  if (known !== undefined) return known;
  const side = yield* Side.of(lines, module);
  if (lines === module) knownSides.set(lines, side);
  return side;
}

/** What lines define that are put beside each other does not differ for the eye. */
function pairResults(
  before: Sided,
  after: Sided,
  counterparts: Int32Array,
  alike: Int32Array,
  names: Correspondence,
): void {
  alike.forEach((j, i) => {
    if (j < 0 || (counterparts[i] as number) >= 0) return;
    const results = (side: Sided, line: number) =>
      (side.resolved[line] as number[]).filter((_, k) => side.lines[line]!.definitions[k]);
    const ours = results(before, i);
    const theirs = results(after, j);
    if (ours.length !== theirs.length) return;
    ours.forEach((own, k) => {
      const other = theirs[k] as number;
      if (!names.forward.has(own) && !names.backward.has(other)) names.pair(own, other);
    });
  });
}

/** `llvm.add` of `%3 = llvm.add %1, %2 : i32`, `IADD3` of SASS; the whole line where there is no operation. */
function operationOf(line: string): string {
  return /^\s*(?:%[^=]* = )?"?([a-z_]\w*\.[\w.]+)/.exec(line)?.[1] ?? SASS.exec(line)?.[1] ?? line.trim();
}

const SASS = /^\s*(?:@!?U?P\w+ +)?([A-Z][A-Z\d_]+[\w.]*) .*;\s*$/;

/** Look for counterparts in each stretch without any between two that have some. */
function* fillGaps(
  counterparts: Int32Array,
  rightLength: number,
  find: (a: number, b: number, ourEnd: number, theirEnd: number) => Sliced<Int32Array>,
): Sliced<void> {
  let nextLeft = 0;
  let nextRight = 0;
  let looked = 0;
  for (let i = 0; i <= counterparts.length; i++) {
    const j = i < counterparts.length ? (counterparts[i] as number) : rightLength;
    if (j < 0) continue;
    if (i > nextLeft && j > nextRight) {
      const from = nextRight;
      const found = yield* find(nextLeft, from, i, j);
      for (let k = 0; k < found.length; k++) if (found[k]! >= 0) counterparts[nextLeft + k] = from + found[k]!;
      looked += found.length + 1;
      if (looked >= SLICE) {
        looked = 0;
        yield;
      }
    }
    nextLeft = i + 1;
    nextRight = j + 1;
  }
}

function rowsOf(leftLength: number, rightLength: number, counterparts: Int32Array, alike: Int32Array) {
  const paired = alike.reduce((count, to) => count + (to >= 0 ? 1 : 0), 0);
  const total = leftLength + rightLength - paired;
  const left = new Int32Array(total);
  const right = new Int32Array(total);
  const kinds = new Uint8Array(total);
  let row = 0;
  let changes = 0;
  const add = (a: number, b: number, kind: number) => {
    left[row] = a;
    right[row] = b;
    kinds[row++] = kind;
    if (kind !== SAME) changes++;
  };
  let theirs = 0;
  for (let i = 0; i < leftLength; i++) {
    const j = alike[i] as number;
    if (j < 0) {
      add(i, -1, REMOVED);
      continue;
    }
    while (theirs < j) add(-1, theirs++, ADDED);
    theirs = j + 1;
    add(i, j, counterparts[i] === j ? SAME : CHANGED);
  }
  while (theirs < rightLength) add(-1, theirs++, ADDED);
  return { left, right, kinds, changes };
}
