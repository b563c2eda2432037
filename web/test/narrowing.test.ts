import assert from "node:assert/strict";
import { test } from "node:test";
import type { Document } from "../src/documents";
import { belonging, total } from "../src/editor/narrowing";
import { othersThan } from "../src/editor/unchanged";

const document = (stop: string) => ({ stop }) as Document;

test("rows of a diff belong to a line if one of their sides does", () => {
  const [left, right] = [document("1"), document("2")];
  const lines: Record<string, number[]> = { "1": [10, 12], "2": [21] };
  const mine = belonging(5, [[left, [10, 11, 12, -1, -1]], [right, [20, 20, -1, 21, 22]]], ({ stop }) => lines[stop] ?? []);
  assert.deepEqual([...mine], [1, 0, 1, 1, 0]);
  assert.equal(total(mine), 3);
});

test("all the rest is folded, each stretch of it alone", () => {
  const folded = (mine: number[]) => othersThan(Uint8Array.from(mine)).map(({ first, last }) => [first, last]);
  assert.deepEqual(folded([1, 0, 0, 1, 0]), [[2, 3], [5, 5]]);
  assert.deepEqual(folded([0, 0]), [[1, 2]]);
  assert.deepEqual(folded([1, 1]), []);
});
