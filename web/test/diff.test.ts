import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { align } from "../src/diff/align";
import { ADDED, CHANGED, REMOVED, SAME, type Rows, comparing } from "../src/diff/rows";
import { atOnce, inTurns } from "../src/diff/slices";
import { wordMarks } from "../src/diff/words";

interface Case {
  name: string;
  before: string[];
  after: string[];
  edits: [tag: string, before: number, beforeEnd: number, after: number, afterEnd: number][];
}

const CASES = (JSON.parse(readFileSync("../test/inputs/diff-cases.json", "utf8")) as { cases: Case[] }).cases;

const compare = (before: string[], after: string[]): Rows => atOnce(comparing(before, after));

/** The pairs of lines that are the same. */
function samePairs(rows: Rows): [number, number][] {
  const pairs: [number, number][] = [];
  rows.kinds.forEach((kind, row) => {
    if (kind === SAME) pairs.push([rows.left[row] as number, rows.right[row] as number]);
  });
  return pairs;
}

for (const { name, before, after, edits } of CASES)
  test(`as in the terminal: ${name}`, () => {
    const expected = edits.flatMap(([tag, from, end, to]) =>
      tag === "equal" ? Array.from({ length: end - from }, (_, i): [number, number] => [from + i, to + i]) : [],
    );
    assert.deepEqual(samePairs(compare(before, after)), expected);
  });

for (const { name, before, after } of CASES)
  test(`every line has its row, in order: ${name}`, () => {
    const rows = compare(before, after);
    assert.deepEqual([...rows.left].filter((line) => line >= 0), [...before.keys()]);
    assert.deepEqual([...rows.right].filter((line) => line >= 0), [...after.keys()]);
    rows.kinds.forEach((kind, row) => {
      assert.equal(rows.left[row] === -1, kind === ADDED);
      assert.equal(rows.right[row] === -1, kind === REMOVED);
    });
    assert.equal(rows.changes, rows.kinds.filter((kind) => kind !== SAME).length);
  });

test("an operation that became another one of as many words stands beside it", () => {
  const rows = compare(["%0 = arith.addi %a, %b : i32"], ["%7 = llvm.add %a, %b : i32"]);
  assert.deepEqual([...rows.kinds], [CHANGED]);
  const marks = marksOf(rows, "%0 = arith.addi %a, %b : i32", "%7 = llvm.add %a, %b : i32");
  assert.deepEqual(marks, [["arith.addi"], ["llvm.add"]]);
});

test("only the operand that changed is marked, not those that have another name", () => {
  const before = ["%0 = a.one", "%1 = a.two", "%2 = a.add %0, %1"];
  const after = ["%5 = a.new", "%6 = a.one", "%7 = a.two", "%8 = a.add %6, %6"];
  const rows = compare(before, after);
  assert.deepEqual([...rows.kinds], [ADDED, SAME, SAME, CHANGED]);
  assert.deepEqual(marksOf(rows, before[2] as string, after[3] as string), [["%1"], ["%6"]]);
});

test("alignments are common subsequences, the longest ones where sequences are short", () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
  for (let round = 0; round < 300; round++) {
    const make = () => Int32Array.from({ length: random(14) }, () => random(4));
    const [a, b] = [make(), make()];
    const found = atOnce(align(a, b));
    const pairs = [...found.entries()].filter(([, j]) => j >= 0);
    pairs.forEach(([i, j], k) => {
      assert.equal(a[i], b[j]);
      if (k > 0) assert.ok(j > (pairs[k - 1] as [number, number])[1]);
    });
    assert.equal(pairs.length, longest(a, b), `${[...a]} against ${[...b]}`);
  }
});

test("a comparison in turns gives what it gives at once, and ends when nobody waits for it", async () => {
  const before = Array.from({ length: 9000 }, (_, i) => `%${i} = a.op${i % 700} %${Math.max(0, i - 3)}`);
  const after = before.filter((_, i) => i % 11 !== 0);
  let slices = 0;
  const rows = await inTurns(comparing(before, after), () => true, () => slices++);
  assert.deepEqual(rows?.kinds, compare(before, after).kinds);
  assert.ok(slices > 4);
  const since = performance.now();
  const busy = () => {
    while (performance.now() - since < 40);
  };
  assert.equal(await inTurns(comparing([...before], [...after]), () => false, busy), undefined);
});

function longest(a: Int32Array, b: Int32Array): number {
  const table = Array.from({ length: a.length + 1 }, () => new Int32Array(b.length + 1));
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++)
      table[i]![j] =
        a[i - 1] === b[j - 1] ? table[i - 1]![j - 1]! + 1 : Math.max(table[i - 1]![j]!, table[i]![j - 1]!);
  return table[a.length]![b.length]!;
}

function marksOf(rows: Rows, left: string, right: string): [string[], string[]] {
  const row = rows.kinds.lastIndexOf(CHANGED);
  const [ours, theirs] = wordMarks(
    left,
    right,
    (index) => rows.leftName(rows.left[row] as number, index),
    (index) => rows.rightName(rows.right[row] as number, index),
  );
  return [ours.map(([a, b]) => left.slice(a, b)), theirs.map(([a, b]) => right.slice(a, b))];
}
