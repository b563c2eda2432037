import assert from "node:assert/strict";
import { test } from "node:test";
import type { Registers } from "../src/diff/registers";
import { SAME, comparing } from "../src/diff/rows";
import { atOnce } from "../src/diff/slices";

/** Lines that differ between two listings. */
function changed(kind: Registers["kind"], before: string[], after: string[], values: [number[][], number[][]] = [[], []]): number {
  const [ours, theirs] = values.map((each): Registers => ({ kind, values: each })) as [Registers, Registers];
  return atOnce(comparing(before, after, before, after, [ours, theirs])).kinds.filter((each) => each !== SAME).length;
}

const PTX = ["\t.reg .b32 \t%r<9>;", "$L__BB0_1:", "\tadd.s32 \t%r1, %r2, %tid.x;", "\tmul.lo.s32 \t%r3, %r1, %r2;", "\tbra \t$L__BB0_1;"];

test("virtual registers, their number and labels are no difference where they are renamed", () => {
  const renamed = PTX.map((line) => line.replaceAll("%r1", "%r7").replaceAll("BB0_1", "BB0_4").replace("<9>", "<12>"));
  assert.equal(changed("ptx", PTX, renamed), 0);
});

test("another operand, another kind of register, a special register and another label are", () => {
  const replaced = (from: string, to: string) => changed("ptx", PTX, PTX.map((line, i) => (i === 3 ? line.replace(from, to) : line)));
  assert.equal(replaced("%r2", "%r1"), 1);
  assert.equal(replaced("%r3", "%rd3"), 1);
  assert.equal(changed("ptx", PTX, PTX.map((line) => line.replace("%tid.x", "%tid.y"))), 1);
  assert.equal(changed("ptx", [...PTX, "$L__BB0_2:"], [...PTX.slice(0, 4), "\tbra \t$L__BB0_2;", "$L__BB0_2:"]), 1);
});

test("each function of PTX has registers of its own", () => {
  const second = PTX.map((line) => line.replaceAll("BB0", "BB1"));
  const renamed = second.map((line) => line.replaceAll("%r1", "%r5"));
  assert.equal(changed("ptx", [...PTX, "}", ...second], [...PTX, "}", ...renamed]), 0);
});

/** Written operands, registers read, then the values. */
const SASS = ["MOV R1, 0x1 ;", "@P0 MOV R2, R1 ;", ".L_x_1:", "FADD R2, R2, R1 ;", "BSYNC B0 ;", "BRA `(.L_x_1) ;"];
const VALUES = [[1, 0, 0], [1, 2, 9, 0, 1], [], [1, 2, 1, 0, 1], [0, 0], [0, 0]];

test("registers of SASS, predicates, barriers and labels are no difference where the values are the same", () => {
  const other = ["MOV R9, 0x1 ;", "@P3 MOV R7, R9 ;", ".L_x_5:", "FADD R7, R7, R9 ;", "BSYNC B2 ;", "BRA `(.L_x_5) ;"];
  const renumbered = VALUES.map((each) => [...each.slice(0, 2), ...each.slice(2).map((value) => value + 20)]);
  assert.equal(changed("sass", SASS, other, [VALUES, renumbered]), 0);
});

test("a register that holds another value is one", () => {
  // The sum goes to a register that nobody reads.
  const other = SASS.map((line) => line.replace("FADD R2,", "FADD R3,"));
  const values = VALUES.map((each, i) => (i === 3 ? [1, 2, 1, 0, 5] : each));
  assert.equal(changed("sass", SASS, other, [VALUES, values]), 1);
});

test("so is one operand twice, a constant, and another sign", () => {
  const replaced = (from: string, to: string, values: number[]) =>
    changed("sass", SASS, SASS.map((line, i) => (i === 3 ? line.replace(from, to) : line)), [VALUES, VALUES.map((each, i) => (i === 3 ? values : each))]);
  assert.equal(replaced("R2, R1", "R2, R2", [1, 1, 1, 1]), 1);
  assert.equal(replaced("R1 ;", "-R1 ;", [1, 2, 1, 0, 1]), 1);
  assert.equal(replaced("R1 ;", "0x2 ;", [1, 1, 1, 1]), 1);
});
