import assert from "node:assert/strict";
import { test } from "node:test";
import { changeSign, changeText, rowWith, rowsOfSource, shownLines } from "../src/pair/source-rows";

test("rows go through both versions, lines of one alone between those of both", () => {
  const rows = rowsOfSource([[1, 1, 1, true], [3, 2, 1, false], [4, 4, 1, true]], 5, 4);
  assert.deepEqual(rows, [
    { a: 1, b: 1, same: true },
    { a: 2, b: null, same: false },
    { a: 3, b: 2, same: false },
    { a: null, b: 3, same: false },
    { a: 4, b: 4, same: true },
    { a: 5, b: null, same: false },
  ]);
  assert.equal(rowWith(rows, "a", 3), rows[2]);
  assert.equal(rowWith(rows, "b", 3), rows[3]);
  assert.equal(rowWith(rows, "b", 9), undefined);
  assert.deepEqual(rowsOfSource([], 1, 0), [{ a: 1, b: null, same: false }]);
});

test("of a line with two forms both are shown, and the second one counts", () => {
  const rows = rowsOfSource([[1, 1, 1, true], [2, 2, 1, false], [3, 3, 2, true]], 5, 4);
  const shown = shownLines(rows, (row) => !row.same || row.a === 4);
  assert.deepEqual(
    shown.map(({ row, sign, counts, gap }) => [row.a, row.b, sign, counts, gap]),
    [
      [2, 2, "−", false, true],
      [2, 2, "+", true, false],
      [4, 4, " ", true, true],
      [5, null, "−", true, false],
    ],
  );
});

test("a change is told by an arrow and a sign, what is the same by one number", () => {
  const told = (a: number | null, b: number | null) => [changeText({ a, b }), changeSign({ a, b })];
  assert.deepEqual(told(1548, 12), ["1,548 → 12", "▼"]);
  assert.deepEqual(told(0, 7), ["0 → 7", "▲"]);
  assert.deepEqual(told(7, null), ["7 → 0", "▼"]);
  assert.deepEqual(told(7, 7), ["7", ""]);
  assert.deepEqual(told(0, null), ["", ""]);
});
