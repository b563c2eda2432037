import assert from "node:assert/strict";
import { test } from "node:test";
import type { Place } from "../src/data";
import { Chains, lineKey, parseLineKey, userLineOf } from "../src/panels/chains";
import { counterpart } from "../src/panels/counterpart";
import { fateOf } from "../src/panels/fate";
import { LineIndex } from "../src/panels/line-index";

const USER = "/home/me/kernel.py";
const LIBRARY = "/lib/tools.py";

const chains = new Chains({
  sources: {},
  chains: [
    [[LIBRARY, 7, 3, "helper"], [USER, 20, 5, "tile"], [USER, 30, 9, "kernel"]],
    [[LIBRARY, 7, 3, "helper"], [USER, 21, 5, "tile"], [USER, 31, 9, "kernel"]],
    [[LIBRARY, 7, 8, "helper"], [USER, 20, 5, "tile"], [USER, 30, 9, "kernel"]],
  ],
});

const table: Place[] = [
  [[USER, 30, 1]],
  [[LIBRARY, 7, 3], [USER, 20, 5]],
  [[LIBRARY, 7, 3], [USER, 21, 5]],
  [[USER, 99, 1]],
];

test("the user's line is the last frame", () => {
  assert.deepEqual(userLineOf(table[1] as Place), { file: USER, line: 20 });
  assert.equal(userLineOf([]), null);
  assert.deepEqual(parseLineKey(lineKey("C:\\a:b.py", 3)), { file: "C:\\a:b.py", line: 3 });
});

test("a place has the chains that begin and pass where it says", () => {
  const lines = (place: Place) => chains.of(place).map((chain) => chain.map((frame) => frame[1]));
  assert.deepEqual(lines(table[1] as Place), [[7, 20, 30]]);
  assert.deepEqual(lines(table[2] as Place), [[7, 21, 31]]);
  // Without a column, chains that differ in nothing else are one.
  assert.deepEqual(lines([[LIBRARY, 7, 0], [USER, 20, 0]]), [[7, 20, 30]]);
  assert.deepEqual(chains.of(table[3] as Place), [[[USER, 99, 1, ""]]]);
});

test("lines of a document by the user's line, and by every frame of the chain", () => {
  const index = new LineIndex([-1, 0, 1, 2, 1, -1, 3], table, chains);
  const own = (line: number, file = USER) => [...index.ownLines(file, line)];
  assert.deepEqual(own(30), [1]);
  assert.deepEqual(own(20), [2, 4]);
  assert.deepEqual(own(21), [3]);
  assert.deepEqual(own(7, LIBRARY), []);
  assert.deepEqual([...index.linesThrough(LIBRARY, 7)], [2, 3, 4]);
  assert.deepEqual([...index.linesThrough(USER, 30)], [2, 4]);
  assert.deepEqual([...index.lines(USER, 30)], [1, 2, 4]);
  assert.equal(index.count(USER, 30), 3);
  assert.equal(index.count(USER, 31), 1);
  assert.equal(index.count(USER, 5), 0);
});

test("lines that hold no instruction are left out", () => {
  const index = new LineIndex([0, 0, 0], table, chains, (line) => line !== 1);
  assert.deepEqual([...index.ownLines(USER, 30)], [0, 2]);
});

test("every line with a place is found again by its own line, and by no other, at a hundred thousand lines", () => {
  const many: Place[] = Array.from({ length: 300 }, (_, line) => [[USER, line + 1, 0]]);
  const places = Int32Array.from({ length: 100_000 }, (_, line) => (line % 7 === 0 ? -1 : (line * 31) % 300));
  const index = new LineIndex(places, many, new Chains(null));
  let found = 0;
  for (let line = 1; line <= 300; line++)
    for (const each of index.ownLines(USER, line)) {
      assert.equal(places[each], line - 1);
      found++;
    }
  assert.equal(found, places.filter((place) => place >= 0).length);
});

test("what became of a line that has nothing", () => {
  const name = (step: number) => ["trace", "cute-desugar", "cute-fold-static", "canonicalize"][step] ?? "?";
  const line = { file: USER, line: 3, traced: 2, ptx: 0, sass: 0 };
  const removed = { ...line, events: [{ step: 2, kind: "removed" as const, before: 2, after: 0, counts: { removed: 2 } }] };
  assert.equal(fateOf(removed, 3, name), "removed by cute-fold-static");
  assert.equal(fateOf(removed, null, name), "removed by cute-fold-static");
  assert.equal(fateOf(removed, 1, name), "");
  const merged = { ...line, events: [{ step: 3, kind: "merged" as const, before: 2, after: 0, counts: { merged: 2 } }] };
  assert.equal(fateOf(merged, 3, name), "merged into other operations by canonicalize");
  const back = { ...line, events: [...removed.events, { step: 3, kind: "appeared" as const, before: 0, after: 1, counts: { appeared: 1 } }] };
  assert.equal(fateOf(back, 3, name), "");
  assert.equal(fateOf(back, null, name), "its operations became no instructions of their own");
  const code = { ...removed, ptx: 1, sass: 1 };
  assert.equal(fateOf(code, 3, name), "turned into code by cute-fold-static");
  const late = { ...line, traced: 0, events: [{ step: 3, kind: "appeared" as const, before: 0, after: 1, counts: { appeared: 1 } }] };
  assert.equal(fateOf(late, 1, name), "comes with canonicalize");
  assert.equal(fateOf(null, 1, name), "");
});

test("where something was that is gone", () => {
  const before = ["module {", "  %0 = arith.constant 1", "  %1 = test.gone %0", "  %2 = test.kept %1", "}"];
  const after = ["module {", "  %c1 = arith.constant 1", "  %0 = test.kept %c1", "}"];
  assert.equal(counterpart(before, 2, after), 1);
  assert.equal(counterpart(["x", "y"], 1, ["a"]), 0);
});
