/** Going from event to event of a proof's picture. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Box } from "../src/proof/data";
import { nextBox } from "../src/proof/walking";

const box = (lane: number, x: number, y: number): Box => ({ lane, x, y, width: 10, height: 10, kind: "wait", text: "", tip: "", file: "", line: 0 });
/** The second lane stands to the right of the third. */
const BOXES = [box(0, 0, 0), box(0, 0, 20), box(0, 0, 40), box(1, 200, 0), box(2, 100, 10), box(2, 100, 40)];

test("up and down stay in a lane", () => {
  assert.equal(nextBox(BOXES, 0, "ArrowDown"), 1);
  assert.equal(nextBox(BOXES, 2, "ArrowDown"), 2);
  assert.equal(nextBox(BOXES, 0, "ArrowUp"), 0);
  assert.equal(nextBox(BOXES, 1, "End"), 2);
  assert.equal(nextBox(BOXES, 1, "Home"), 0);
});

test("left and right go to the nearest of the next lane", () => {
  assert.equal(nextBox(BOXES, 2, "ArrowRight"), 5);
  assert.equal(nextBox(BOXES, 4, "ArrowRight"), 3);
  assert.equal(nextBox(BOXES, 3, "ArrowRight"), 3);
  assert.equal(nextBox(BOXES, 5, "ArrowLeft"), 2);
});

test("other keys lead nowhere", () => {
  assert.equal(nextBox(BOXES, 0, "j"), null);
  assert.equal(nextBox([], 0, "ArrowDown"), null);
});
