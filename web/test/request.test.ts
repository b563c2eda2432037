import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestPicture, WarpRequest } from "../src/data";
import { aboutThread, bankText, commandOf, figureOf, unitOf } from "../src/pictures/request";

const threads = (of: (thread: number) => number): number[] => Array.from({ length: 32 }, (_, thread) => of(thread));
const picture = (space: "shared" | "global", size: number, request: WarpRequest): RequestPicture => ({
  space, size, unit: size, layout: null, request, swizzle: null, swizzled: null,
});

test("wide accesses cover several banks, served by quarters of the warp", () => {
  const request = { offsets: threads((thread) => 16 * thread), turns: threads((thread) => thread >> 3), before: threads(() => 0) };
  const figure = figureOf(picture("shared", 16, request), request);
  assert.equal(figure.taken, 4);
  assert.deepEqual(figure.marks[9], { thread: 9, column: 4, columns: 4, turn: 2, costs: false });
  // Each bank in each wavefront.
  assert.deepEqual(figure.feet, threads(() => 4));
  assert.equal(bankText(144, 16), "banks 4–7");
  assert.equal(bankText(6, 2), "bank 1");
});

test("threads that access nothing are not drawn", () => {
  const request = { offsets: threads((thread) => (thread ? -1 : 8)), turns: threads((thread) => (thread ? -1 : 0)), before: threads((thread) => (thread ? -1 : 0)) };
  const figure = figureOf(picture("shared", 4, request), request);
  assert.equal(figure.marks.length, 1);
  assert.equal(figure.feet.reduce((sum, each) => sum + each), 1);
  assert.equal(unitOf(picture("shared", 4, request), figure.taken), "1 wavefront");
  assert.equal(aboutThread(picture("shared", 4, request), request, 1), "accesses nothing");
});

test("sectors that are not used up are marked", () => {
  // Side by side, but 4 bytes into a sector: the last has one element, the first lacks one.
  const request = { offsets: threads((thread) => 4 + 4 * thread), turns: threads((thread) => (4 + 4 * thread) >> 5), before: [] };
  const figure = figureOf(picture("global", 4, request), request);
  assert.equal(figure.taken, 5);
  assert.deepEqual(figure.feet, [28, 32, 32, 32, 4]);
  assert.deepEqual(figure.lines, [4]);
  assert.deepEqual(figure.marks.filter((mark) => mark.costs).map((mark) => mark.thread), [0, 1, 2, 3, 4, 5, 6, 31]);
});

test("the command that draws it in a terminal", () => {
  const request = { offsets: threads(() => 0), turns: threads(() => 0), before: threads(() => 0) };
  const conflict = { ...picture("shared", 4, request), layout: "32:32" };
  assert.equal(commandOf(conflict), "cutecc layout '32:32' --banks --element-bits 32");
  assert.equal(commandOf({ ...conflict, swizzle: "S<5,0,5>" }), "cutecc layout '32:32' --swizzle 5,0,5 --banks --element-bits 32");
  assert.equal(commandOf({ ...conflict, space: "global" }), "");
});
