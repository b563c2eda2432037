import assert from "node:assert/strict";
import { test } from "node:test";
import { controlWords } from "../src/sass/control";
import { DefUse, relationWords } from "../src/sass/flow";
import { instructionOf, operandWith, operandsOf } from "../src/sass/instruction";
import { type Code, SassRows, outerLoops } from "../src/sass/rows";
import type { Document } from "../src/documents";
import type { SassTable } from "../src/sass/table";

test("an instruction in its parts", () => {
  assert.deepEqual(instructionOf("        /*0bc0*/              @!P0 BRA `(.L_x_4) ;"), { address: "0bc0", guard: "@!P0", opcode: "BRA", operands: ".L_x_4" });
  assert.deepEqual(instructionOf("        /*0be0*/                   WARPGROUP.ARRIVE ;"), { address: "0be0", guard: "", opcode: "WARPGROUP.ARRIVE", operands: "" });
  const spill = instructionOf('        /*0080*/                   STL [R1+0x158], R0                   (*"SpillRefill"*) ;');
  assert.equal(spill.operands, "[R1+0x158], R0");
});

test("registers in a text, and which of them are results", () => {
  const text = "@P0 IADD3 R2, P1, PT, R2, R4.64, c[0x0][0x10]  // R9";
  const found = operandsOf(text, text.indexOf("R2"), 3).map(({ name, written }) => `${name}${written ? "=" : ""}`);
  assert.deepEqual(found, ["P0", "R2=", "P1=", "R2", "R4"]);
  const load = operandsOf("LDG.E.128 R4, desc[UR4][R2.64+0x10]", 10, 1);
  assert.equal(operandWith(load.filter(({ written }) => written), "R6")?.name, "R4");
  assert.equal(operandWith(load.filter(({ written }) => !written), "R3")?.name, "R2");
  assert.equal(operandWith(load.filter(({ written }) => !written), "UR5")?.name, "UR4");
  assert.equal(operandWith(load.filter(({ written }) => !written), "P0"), null);
});

test("control codes in words", () => {
  assert.deepEqual(controlWords("B------:R-:W-:-:S01", []), ["stalls 1 cycle: the warp's next instruction waits so long"]);
  assert.deepEqual(controlWords("B0-2---:R3:W1:Y:S04", ["R4"]), [
    "waits for barriers 0, 2",
    "barrier 3 tells when its operands are read",
    "barrier 1 tells when its results are written",
    "the scheduler had better go on with another warp",
    "stalls 4 cycles: the warp's next instruction waits so long",
    "keeps R4 at hand for the next instruction (reuse)",
  ]);
  assert.deepEqual(controlWords("what is this", []), []);
});

test("loops around what stands above an instruction", () => {
  assert.deepEqual(["", "┌▸", "│ ", "│ ┌▸", "│ └─", "─▸"].map(outerLoops), [0, 0, 1, 1, 2, 0]);
});

const TEXT = [
  ".text.k:",
  '\t//## File "/k.py", line 3',
  "        /*0000*/                   MOV R2, RZ ;",
  ".L_x_1:",
  '\t//## File "/k.py", line 4',
  "        /*0010*/                   STL [R1], R2 ;",
  "        /*0020*/                   FADD R2, R2, R2 ;",
  "        /*0030*/              @P0 BRA `(.L_x_1) ;",
  "        /*0040*/                   EXIT ;",
];
const TABLE: SassTable = {
  control_names: [],
  loop_names: ["", "┌▸", "│ ", "└─"],
  registers: ["R2", "[R1+0x0]"],
  functions: [
    {
      name: "k",
      title: "k",
      registers: 8,
      lines: [2, 5, 6, 7, 8],
      live: [1, 2, 2, 1, 0],
      controls: [],
      loops: [0, 1, 2, 3, 0],
      written: [1, 0, 1, 0, 0],
      sources: [[], [0, 1, 0, -1], [0, 2, 0, 0], [], []],
      blocks: [0, 1, 4],
      labels: [[1, ".L_x_1", 3]],
      targets: [[3, 1]],
      spills: [[1, 0, 2]],
    },
  ],
};
const DOCUMENT: Document = {
  stop: "listing:k.sass",
  kind: "sass",
  lines: TEXT,
  places: [-1, -1, 0, -1, -1, 1, 1, 1, -1],
  table: [[["/k.py", 3, 0]], [["/k.py", 4, 0]]],
  listing: { kind: "sass", file: "k.sass", text: "", table: [], places: [], classes: [], class_names: [], functions: [{ name: "k", first: 0, last: 8 }] },
};
const SOURCES = { nameOf: (file: string) => file.slice(1), textOf: (_file: string, line: number) => (line === 4 ? "    x += x" : null) };

test("rows: functions, labels, lines of the source, instructions by their loops", () => {
  const { rows, map } = new SassRows(DOCUMENT, TABLE, SOURCES);
  assert.deepEqual(
    rows.map(({ text }) => text),
    [
      "k:  5 instructions, 8 registers, 1 spill, 2 live at most, at 0010",
      "k.py:3",
      "      MOV              R2, RZ",
      ".L_x_1:  loop of 3 instructions  from 0030",
      "k.py:4  x += x",
      "        STL              [R1], R2  // spill of 0000 MOV, k.py:3 and 1 more",
      "        FADD             R2, R2, R2",
      "  @P0   BRA              .L_x_1",
      "no line of the source",
      "      EXIT",
    ],
  );
  // Lines of the listing that are no rows lead to the next one.
  assert.deepEqual(TEXT.map((_, line) => map.editorLine(line)), [1, 2, 3, 4, 5, 6, 7, 8, 10]);
  assert.deepEqual(rows.map((_, at) => map.documentLine(at + 1)), [0, 1, 2, 3, 4, 5, 6, 7, -1, 8]);
  assert.deepEqual(rows.filter(({ begins }) => begins).map(({ text }) => text), ["no line of the source"]);
  const links = rows.flatMap(({ text, links }) => links.map(({ from, to, instruction }) => `${text.slice(from, to)} ${instruction}`));
  assert.deepEqual(links, ["0010 1", "0030 3", "0000 0", ".L_x_1 1"]);
});

test("without lines of the source, and of another function", () => {
  const plain = new SassRows(DOCUMENT, TABLE, SOURCES, [0, 8], false);
  assert.deepEqual(plain.rows.map(({ kind }) => kind), ["function", "code", "label", "code", "code", "code", "code"]);
  assert.equal(new SassRows(DOCUMENT, TABLE, SOURCES, [1, 8]).rows.length, 0);
});

test("definitions and uses of an operand, and of an instruction", () => {
  const rows = new SassRows(DOCUMENT, TABLE, SOURCES);
  const flow = new DefUse(rows);
  const add = rows.rows[6] as Code;
  const at = (column: number) => {
    const { name, definitions, uses } = flow.at(add, column);
    return [name, [...definitions.keys()], [...uses.keys()]];
  };
  const [result, operand] = [add.text.indexOf("R2"), add.text.lastIndexOf("R2")];
  assert.deepEqual(at(result), ["R2", [], [1, 2]]);
  assert.deepEqual(at(operand), ["R2", [0, 2], []]);
  assert.deepEqual(at(add.text.indexOf("R2", result + 1)), ["R2", [0, 2], []]);
  assert.deepEqual(at(0), ["FADD", [0, 2], [1, 2]]);
  assert.deepEqual(relationWords(rows, add, flow.at(add, 0)), [
    "FADD reads what is written at 0000 MOV (k.py:3), 0020 FADD (k.py:4)",
    "FADD is read at 0010 STL (k.py:4), 0020 FADD (k.py:4)",
  ]);
});
