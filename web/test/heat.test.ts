import assert from "node:assert/strict";
import { test } from "node:test";
import type { Measure, Place, Points } from "../src/data";
import { Chains } from "../src/panels/chains";
import { sorted, type Row } from "../src/heat/hottest";
import { Values, shownNumber } from "../src/heat/values";
import { amountLines, fullNumber, heatOf, shortNumber, stepOf } from "../src/heat/words";

const USER = "/home/me/kernel.py";
const LIBRARY = "/lib/tools.py";

const chains = new Chains({
  sources: {},
  chains: [
    [[LIBRARY, 7, 3, "helper"], [USER, 20, 5, "tile"], [USER, 30, 9, "kernel"]],
    [[USER, 25, 3, "tile"], [USER, 30, 9, "kernel"]],
  ],
});
const TABLE: Place[] = [[[LIBRARY, 7, 3], [USER, 20, 5]], [[USER, 25, 3]], [[USER, 30, 1]]];
// Instructions stand at lines 1, 3, 4 and 5.
const LISTING = { file: "k.sass", places: [-1, 0, -1, 1, 2, -1], table: TABLE, classes: [-1, 0, -1, 0, 1, 0] };
const PTX = { file: "k.ptx", places: [-1, 0, 1], table: TABLE, classes: [] };
const measure = (more: Partial<Measure> = {}): Measure => ({ title: "samples", meaning: "", source: "", unit: "samples", ...more });

function values(more: Partial<Measure>, ...points: Points[]): Values {
  return new Values(measure(more), points, [LISTING, PTX], chains);
}

/** The numbers of a line: its own, and with what it calls. */
function numbers(found: Values, line: number, file = USER): (number | null)[] {
  const { self, inclusive } = found.ofLine(file, line) ?? { self: null, inclusive: null };
  return [self, inclusive].map((each) => (each === null ? null : shownNumber(found.measure, each)));
}

test("an instruction belongs to one line, and is in those that it came about through", () => {
  const found = values({}, { file: "k.sass", values: [5, 7, 1, 2], at: [0, 1, 2, 3] });
  assert.equal(found.atLine("k.sass", 3)?.value, 7);
  assert.equal(found.atLine("k.sass", 2), null);
  assert.deepEqual(numbers(found, 20), [5, 5]);
  assert.deepEqual(numbers(found, 30), [1, 13]);
  assert.deepEqual(numbers(found, 7, LIBRARY), [null, 5]);
  assert.deepEqual(numbers(found, 31), [null, null]);
  // What has no line counts as well.
  assert.equal(found.total, 15);
  assert.deepEqual(found.highest, { instruction: 7, self: 7, inclusive: 13 });
});

test("values without places of their own are of every instruction in order", () => {
  const found = values({ combine: "max" }, { file: "k.sass", values: [3, 9, 4, 1] });
  assert.deepEqual([1, 3, 4, 5].map((line) => found.atLine("k.sass", line)?.value), [3, 9, 4, 1]);
  assert.deepEqual(numbers(found, 30), [4, 9]);
});

test("both parts of a ratio are summed", () => {
  const found = values({ level: "ptx", combine: "ratio" }, { file: "k.ptx", values: [8, 8], over: [8, 2], at: [1, 2] });
  assert.deepEqual(numbers(found, 25), [4, 4]);
  assert.deepEqual(numbers(found, 30), [null, 1.6]);
});

test("parts are summed, and told by their size", () => {
  const reasons = { wait: "waits a fixed time", long_sb: "waits for memory" };
  const found = values({ parts: reasons }, { file: "k.sass", at: [0, 1], values: [4, 4], parts: { wait: [1, 0], long_sb: [3, 4] } });
  const { inclusive } = found.ofLine(USER, 30)!;
  assert.deepEqual(amountLines(found.measure, "inclusive", inclusive!, found.total), [
    "inclusive: 8 samples, 100.0 %",
    "  87.5 % long_sb: waits for memory",
    "  12.5 % wait: waits a fixed time",
  ]);
  // The instruction's own parts are as before.
  assert.deepEqual([...found.atLine("k.sass", 1)!.parts], [["wait", 1], ["long_sb", 3]]);
});

test("of an earlier record lines have their own values alone, and a listing that the page lacks has none", () => {
  assert.deepEqual(numbers(values({ level: "line" }, { file: USER, values: [6], at: [20] }), 20), [6, null]);
  const found = values({}, { file: "other.sass", values: [1], at: [0] });
  assert.equal(found.lines.size, 0);
  assert.equal(values({}, { file: "k.sass", values: [1], at: [99] }).linesOf("k.sass")?.size, 0);
});

test("numbers fit a column, and say their unit where there is room", () => {
  const short = [0, 7, 999, 1234, 19096, 2_100_000, 0.25, 12.345, -3].map((each) => shortNumber(measure(), each));
  assert.deepEqual(short, ["0", "7", "999", "1.2k", "19k", "2.1M", "0.25", "12.3", "−3"]);
  assert.equal(shortNumber(measure({ combine: "ratio" }), 2.25), "2.25×");
  assert.equal(fullNumber(measure(), 19096), "19,096 samples");
});

test("colours go by the share of the highest, those of a ratio from 1 on", () => {
  assert.deepEqual([0, 0.01, 0.2, 0.21, 1].map(stepOf), [0, 1, 1, 2, 5]);
  assert.equal(heatOf(measure(), 5, 20), 0.25);
  assert.equal(heatOf(measure({ combine: "ratio" }), 1, 3), 0);
  assert.equal(heatOf(measure({ combine: "ratio" }), 2, 3), 0.5);
  assert.equal(heatOf(measure(), 0, 0), 0);
});

test("rows are sorted by a column; what has no number is the least", () => {
  const row = (order: number, self: number | null, inclusive: number | null): Row => ({
    place: { file: USER, line: order },
    order,
    self,
    inclusive,
    amount: { value: 0, over: 0, parts: new Map() },
  });
  const rows = [row(1, 2, 9), row(2, null, 5), row(3, 7, 7), row(4, 2, 1)];
  const orders = (...by: [Parameters<typeof sorted>[1], boolean]) => sorted(rows, ...by).map(({ order }) => order);
  assert.deepEqual(orders("self", true), [3, 1, 4, 2]);
  assert.deepEqual(orders("self", false), [2, 1, 4, 3]);
  assert.deepEqual(orders("inclusive", true), [1, 3, 2, 4]);
  assert.deepEqual(orders("place", true), [4, 3, 2, 1]);
});
