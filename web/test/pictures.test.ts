import assert from "node:assert/strict";
import { test } from "node:test";
import type { Grid, Layouts, Picture } from "../src/data";
import { Holders, bankOf, coordinateAt, indexAt, nested, offsetAt, rangeOf, sizeOf, swizzled, unfolded } from "../src/pictures/cells";
import { aliasesOf, linksOf, whyNoPicture } from "../src/pictures/texts";

const plain: Grid = {
  name: "",
  axes: [
    { shape: "(2,3)", modes: [[2, 1], [3, 10]] },
    { shape: "4", modes: [[4, 100]] },
  ],
};

test("offsets of a layout", () => {
  assert.equal(offsetAt(plain, [0, 0]), 0);
  // Row 3 is (1,1).
  assert.equal(offsetAt(plain, [3, 2]), 1 + 10 + 200);
  assert.equal(sizeOf(plain.axes[0]!), 6);
  assert.equal(indexAt(plain, [3, 2]), 3 + 6 * 2);
  assert.equal(nested(plain.axes[0]!, 3), "(1,1)");
  assert.deepEqual(rangeOf(plain), [0, 1 + 20 + 300]);
});

test("a swizzle flips what CuTe's does, beyond 31 bits too, and undoes itself", () => {
  const flip = (offset: number) => offset ^ ((offset & (7 << 7)) >> 3);
  for (const offset of [0, 1, 16, 128, 129, 511, 640, 1023, 4095]) assert.equal(swizzled(offset, [3, 4, 3]), flip(offset));
  assert.equal(swizzled(16, [1, 3, -1]), 16);
  assert.equal(swizzled(8, [1, 3, -1]), 8 + 16);
  for (const offset of [12345, 2 ** 33 + 640]) assert.equal(swizzled(swizzled(offset, [3, 4, 3]), [3, 4, 3]), offset);
});

test("offsets go through what a composed layout says, in order", () => {
  const through: Grid = { ...plain, through: [{ add: 128 }, { swizzle: [3, 4, 3] }] };
  assert.equal(offsetAt(through, [0, 0]), 128 + 16);
  assert.equal(offsetAt({ ...plain, through: [{ modes: [[4, 1], [100, 8]] }] }, [1, 0]), 1);
  assert.equal(offsetAt({ ...plain, through: [{ modes: [[4, 1], [100, 8]] }] }, [2, 0]), 2 + 16);
});

test("coordinates", () => {
  const identity: Grid = { name: "", axes: [{ shape: "4", modes: [[4, 1, "0"]] }, { shape: "8", modes: [[8, 2, "1"]] }] };
  assert.equal(coordinateAt(identity, [3, 5]), "(3,10)");
  const deep: Grid = { name: "", axes: [{ shape: "4", modes: [[4, 1, "0.1"]] }, { shape: "8", modes: [[8, 2, "1"]] }] };
  assert.equal(coordinateAt(deep, [3, 5]), "3@1@0+10@1");
});

test("banks", () => {
  assert.equal(bankOf(1, 16, 32, 32), 0);
  assert.equal(bankOf(2, 16, 32, 32), 1);
  assert.equal(bankOf(33, 32, 32, 32), 1);
  assert.equal(bankOf(3, 64, 32, 32), 6);
});

test("who holds a cell", () => {
  const tv: Grid = {
    name: "",
    axes: [{ shape: "4", modes: [[4, 1]] }, { shape: "4", modes: [[4, 1]] }],
    threads: [[4, 4], [2, 0]],
    values: [[2, 1]],
  };
  const holders = new Holders(tv);
  assert.equal(holders.threads, 8);
  assert.deepEqual(holders.at(5), { thread: 1, value: 1, more: 1 });
  assert.deepEqual(holders.all(5, 9), ["T1 V1", "T5 V1"]);
  assert.equal(holders.at(2), null);
});

test("the first mode's own modes as sides keep every index and offset", () => {
  const tall: Grid = { name: "", axes: [{ shape: "((2,3),4)", modes: [[2, 1], [3, 5], [4, 50]] }, { shape: "2", modes: [[2, 1000]] }] };
  const other = unfolded(tall)!;
  assert.deepEqual(other.axes.map((axis) => axis.shape), ["(2,3)", "4", "2"]);
  for (let row = 0; row < 24; row++)
    for (let column = 0; column < 2; column++) {
      const at = [row % 6, Math.floor(row / 6), column];
      assert.equal(offsetAt(other, at), offsetAt(tall, [row, column]));
      assert.equal(indexAt(other, at), indexAt(tall, [row, column]));
    }
  assert.equal(unfolded({ name: "", axes: [{ shape: "(8,1)", modes: [[8, 1], [1, 0]] }, tall.axes[1]!] }), null);
});

const picture: Picture = { title: "", kind: "layout", grids: [] };
const MEMREF = '!cute.memref<f16, smem, align<128>, S<3,4,3>, "(8,64):(64,1)">';
const pictures: Layouts["pictures"] = { "(8,64):(64,1)": picture, [MEMREF]: picture, "(4,2):(2,1)": picture, constructor: picture };

test("layouts in a line, whole types before what is in them", () => {
  const line = `  %0 = test.op %1 : ${MEMREF} to !cute.layout<"(4,2):(2,1)">, !cute.layout<"(9,9):(1,9)">`;
  const found = linksOf(line, new Map(), pictures);
  assert.deepEqual(found.map((each) => each.text), [MEMREF, "(4,2):(2,1)"]);
  assert.equal(line.slice(found[1]!.from, found[1]!.to), "(4,2):(2,1)");
  assert.deepEqual(linksOf('%0 = "__proto__" : !x<"toString">', new Map(), pictures), []);
});

test("a layout without a picture is no link; why is known", () => {
  const without: Layouts["pictures"] = { "(?):(1)": { reason: "its shape is dynamic" } };
  const line = '  test.op : !cute.layout<"(?):(1)">';
  assert.deepEqual(linksOf(line, new Map(), without), []);
  assert.equal(whyNoPicture(line, without), "its shape is dynamic");
  assert.equal(whyNoPicture("  test.op", without), "");
});

test("names of types lead to what they stand for", () => {
  const head = [`!memref_smem_f16 = ${MEMREF}`, '!layout = !cute.layout<"(?):(1)">', "#loop = #llvm.x", "module {", "!late = !x"];
  const aliases = aliasesOf(head);
  assert.deepEqual([...aliases.keys()], ["!memref_smem_f16", "!layout"]);
  const found = linksOf("  test.op : !memref_smem_f16, !layout, !memref_smem_f16_1", aliases, pictures);
  assert.deepEqual(found, [{ from: 12, to: 28, text: MEMREF }]);
  assert.deepEqual(linksOf(head[0]!, aliases, pictures).map((each) => each.text), [MEMREF]);
});
