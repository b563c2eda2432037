import assert from "node:assert/strict";
import { test } from "node:test";
import type { Grade, Remark } from "../src/data";
import { percentOf, shortCount } from "../src/numbers";
import { gradeOf, worstFirst } from "../src/panels/cost";

test("halves of a percent go up, as in the terminal", () => {
  assert.deepEqual([0.625, 0.375, 0.125, 0.75, 1].map(percentOf), [63, 38, 13, 75, 100]);
});

test("counts in four characters", () => {
  assert.deepEqual([7, 999, 1000, 9949, 19_096, 999_499, 999_500, 2_140_000].map(shortCount), [
    "7", "999", "1.0k", "9.9k", "19k", "999k", "1.0M", "2.1M",
  ]);
});

test("the worst remarks come first, of equally bad ones those that cost most", () => {
  const remark = (grade: Grade, cost: number): Remark => ({ severity: "remark", message: `${grade} ${cost}`, grade, cost });
  const sorted = [remark("note", 1), remark("severe", 8), remark("severe", 32), remark("error", 1)].sort(worstFirst);
  assert.deepEqual(sorted.map((each) => each.message), ["error 1", "severe 32", "severe 8", "note 1"]);
  assert.equal(gradeOf({ severity: "warning", message: "" }), "warning");
});
