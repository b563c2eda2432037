import assert from "node:assert/strict";
import { test } from "node:test";
import { chainOf, rowsOf, saidOf } from "../src/following/chain";
import { Linked, type Links } from "../src/following/links";

/** Lines 0 to 9 move down by 2, but 4, which is merged into 3; 10 and 11 become 13, 14 and 15 together. */
const LINKS: Links = {
  kept: [0, 2, 4, 1, 0, 5],
  changed: [1, 1],
  moved: [2],
  gone: { merged: [4], rewritten: [10, 1] },
  became: [[[10, 1], [13, 1, 1]]],
  elsewhere: [[[4], [5]]],
};

test("lines go both ways through a pass", () => {
  const linked = new Linked(LINKS);
  assert.deepEqual(linked.after([0, 3, 5, 9]), [2, 5, 6, 10]);
  assert.deepEqual(linked.after([12]), [], "it is gone");
  assert.deepEqual(linked.before([2, 10]), [0, 9]);
  assert.deepEqual(linked.before([0, 11]), [], "these are new");
  assert.deepEqual(linked.after([10]), [13, 14, 15]);
  assert.deepEqual(linked.before([14]), [10, 11]);
  assert.equal(linked.others([10]), 1);
  assert.equal(linked.others([10, 11]), 0);
});

test("what is of another line is followed if nothing else is left", () => {
  const linked = new Linked(LINKS);
  assert.deepEqual(linked.after([4]), [5]);
  assert.deepEqual(linked.after([0, 4]), [2]);
  assert.deepEqual(linked.before([5]), [3]);
});

test("what happened is counted", () => {
  const linked = new Linked(LINKS);
  assert.deepEqual(linked.happened([0]), [{ kind: "unchanged", count: 1 }]);
  assert.deepEqual(linked.happened([2, 10, 11]), [{ kind: "rewritten", count: 2 }, { kind: "changed", count: 1 }]);
});

test("operations in another order are found", () => {
  const linked = new Linked({ kept: [0, 3, 2, 0, -5, 3] });
  assert.deepEqual(linked.after([0, 1, 2, 3, 4]), [0, 1, 2, 3, 4]);
  assert.deepEqual([0, 1, 2, 3, 4].map((line) => linked.after([line])[0]), [3, 4, 0, 1, 2]);
  assert.deepEqual([0, 1, 2, 3, 4].map((line) => linked.before([line])[0]), [2, 3, 4, 0, 1]);
});

test("copies are linked to what they are copies of", () => {
  const linked = new Linked({ kept: [0, 0, 2], copies: [[[1], [4, 2]]], unrolled: true });
  assert.deepEqual(linked.after([1]), [1, 4, 6]);
  assert.deepEqual(linked.before([6]), [1]);
  assert.equal(saidOf({ step: 1, before: [1], after: [1, 4, 6], happened: linked.happened([1]), others: 0 }), "unrolled ×3");
});

test("a chain goes to both ends, and unchanged passes are one row", () => {
  const same = new Linked({ kept: [0, 0, 20] });
  const steps: Record<number, Linked> = { 2: same, 3: same, 5: new Linked(LINKS), 6: new Linked({ kept: [0, 0, 5], gone: { removed: [6] } }) };
  const found = chainOf([0, 2, 3, 5, 6], 3, 4, (step) => steps[step] ?? null);
  assert.deepEqual([...found.lines].sort(([a], [b]) => a - b), [[0, [4]], [2, [4]], [3, [4]], [5, [5]], [6, []]]);
  assert.deepEqual(rowsOf(found.links).map((links) => links.map((link) => link.step)), [[2, 3], [5], [6]]);
  const [, merged, gone] = rowsOf(found.links).map((links) => saidOf(links[0]!));
  assert.equal(merged, "merged into an equal one");
  assert.equal(gone, "unchanged", "of a line that no list has, nothing is known");
});

test("a chain ends where the page holds no more", () => {
  const found = chainOf([0, 2, 4], 2, 1, (step) => (step === 2 ? new Linked({ kept: [0, 0, 3] }) : null));
  assert.deepEqual([...found.lines.keys()].sort(), [0, 2]);
  assert.equal(chainOf([0, 2], 9, 0, () => null).links.length, 0);
});

test("it is said of how many it is not known", () => {
  const link = { step: 1, before: [1], after: [4, 5], happened: [{ kind: "rewritten" as const, count: 1 }], others: 2 };
  assert.equal(saidOf(link), "rewritten 1 → 2, together with 2 others of its line");
});
