/** Timelines without a browser: folding a period, windows, axes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { folded, spanAt, type Row } from "../src/timeline/rows";
import { panned, ticks, zoomed } from "../src/timeline/state";

const waits = (starts: number[], lengths: number[]) => ({
  spans: { sites: starts.map((_, i) => i), starts, lengths },
  ended: starts.map(() => 0 as const),
  ended_by: starts.map(() => null),
});

test("what goes on beyond the end of a period is at its beginning", () => {
  const { spans, from } = folded(waits([10, 80, 130], [20, 40, 0]), 100);
  assert.deepEqual(spans.starts, [0, 10, 30, 80]);
  assert.deepEqual(spans.lengths, [20, 20, 0, 20]);
  assert.deepEqual(from, [1, 0, 2, 1]);
});

test("what takes longer than a period takes all of it", () => {
  const { spans } = folded(waits([50], [250]), 100);
  assert.deepEqual([spans.starts, spans.lengths], [[0, 50], [50, 50]]);
});

test("of what is at a time an instant goes before the span around it", () => {
  const row = { spans: { sites: [0, 1, 2], starts: [0, 20, 60], lengths: [50, 0, 10] } } as Row;
  assert.equal(spanAt(row, 10, 2), 0);
  assert.equal(spanAt(row, 21, 2), 1);
  assert.equal(spanAt(row, 55, 2), -1);
  assert.equal(spanAt(row, 55, Infinity), 2);
});

test("windows stay within the whole", () => {
  const whole = { start: 0, end: 1000 };
  assert.deepEqual(zoomed(whole, whole, 0.5, 200), { start: 100, end: 600 });
  assert.deepEqual(zoomed({ start: 0, end: 100 }, whole, 100, 50), whole);
  assert.deepEqual(panned({ start: 800, end: 900 }, whole, 500), { start: 900, end: 1000 });
  const least = zoomed({ start: 0, end: 0.01 }, whole, 0.001, 0);
  assert.ok(least.end - least.start >= 0.0099);
});

test("axes have round steps", () => {
  assert.deepEqual(ticks({ start: 0, end: 100 }, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks({ start: 130, end: 380 }, 3), [200, 300]);
  assert.deepEqual(ticks({ start: 5, end: 5 }, 5), []);
});
