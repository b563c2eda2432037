import assert from "node:assert/strict";
import { test } from "node:test";
import type { Remark } from "../src/data";
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

test("what costs much is severe, and comes before what costs less", () => {
  const remark = (unit: string, taken: number, needed: number, severity: Remark["severity"] = "remark"): Remark => ({
    severity,
    message: `${taken}`,
    numbers: { [`${unit} a request`]: taken, [`ideal ${unit} a request`]: needed },
  });
  assert.equal(gradeOf(remark("wavefronts", 32, 1)), "severe");
  assert.equal(gradeOf(remark("wavefronts", 7, 1)), "remark");
  assert.equal(gradeOf(remark("sectors", 16, 4)), "severe");
  assert.equal(gradeOf(remark("sectors", 32, 16)), "remark");
  assert.equal(gradeOf({ severity: "warning", message: "" }), "warning");
  const sorted = [remark("sectors", 8, 4), remark("wavefronts", 8, 1), remark("wavefronts", 32, 1)].sort(worstFirst);
  assert.deepEqual(sorted.map((each) => each.message), ["32", "8", "8"]);
  assert.equal(gradeOf(sorted[2]!), "remark");
});
