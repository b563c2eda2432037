import assert from "node:assert/strict";
import { test } from "node:test";
import type { Document } from "../src/documents";
import { foldsOf } from "../src/editor/types";
import { stretchesOf } from "../src/editor/unchanged";
import { functionsOf } from "../src/functions";
import { MOST_HITS, linesMatching, patternOf } from "../src/matching-lines";
import { defaultBase, stopsOf } from "../src/stops";
import type { Manifest, Step } from "../src/data";

/** The line as it is shown. */
function folded(line: string): string {
  let text = "";
  let position = 0;
  for (const { from, to, short } of foldsOf(line)) {
    text += line.slice(position, from) + short;
    position = to;
  }
  return text + line.slice(position);
}

test("long types fold, short ones stay", () => {
  const line = '%0 = cute.f(%a, %b) : (!cute.memref<f16, gmem, align<16>, "(?,8):(1,?)">, !cute.layout<"32:1">) -> !llvm.ptr';
  assert.equal(folded(line), '%0 = cute.f(%a, %b) : (!cute.memref<…>, !cute.layout<"32:1">) -> !llvm.ptr');
});

test("a type ends where its brackets do: strings, arrows and types within are its own", () => {
  const inner = '!cute.tiled_copy<!cute_nvgpu.atom.x<"a>b", (i32) -> i32>, tiler = <"[128:1]">>';
  assert.equal(folded(`f : ${inner} {a = 1}`), "f : !cute.tiled_copy<…> {a = 1}");
});

test("a type that is not closed, as in a text that was cut off, stays", () => {
  const line = 'f : !cute.memref<f16, gmem, "(8,8):(1';
  assert.equal(folded(line), line);
});

test("long strings and symbols show their ends", () => {
  assert.match(folded(`g = "${"x".repeat(1000)}" : i8`), /^g = "x{16}…984 characters…" : i8$/);
  assert.match(folded(`call @${"kernel_".repeat(20)}end() : i8`), /^call @kernel_[a-z_]*…[a-z_]+end\(\) : i8$/);
});

test("unchanged lines fold but for three around a change", () => {
  const changed = new Uint8Array(40);
  changed[20] = 1;
  assert.deepEqual(stretchesOf(changed), [
    { first: 1, last: 17 },
    { first: 25, last: 40 },
  ]);
  assert.deepEqual(stretchesOf(new Uint8Array(5)), []);
  changed[28] = 1;
  assert.deepEqual(stretchesOf(changed)[1], { first: 33, last: 40 });
});

test("functions are found with their ends, declarations are not functions to show", () => {
  const text = `module {
  gpu.module @kernels {
    cuda.kernel @k(%arg0: i32) {
      scf.if %c {
      }
    }
    llvm.func @printf(!llvm.ptr, ...) -> i32
  }
  func.func private @"a b"(%x: i32) -> i32 {
    return %x : i32
  }
}`;
  const document: Document = { stop: "0", kind: "mlir", lines: text.split("\n"), places: [], table: [], listing: null };
  assert.deepEqual(
    functionsOf(document).map(({ name, first, last, kernel }) => [name, first, last, kernel]),
    [
      ["k", 2, 5, true],
      ["a b", 8, 10, false],
    ],
  );
});

test("a search counts lines, and tells where the first ones are", () => {
  const text = "a add add\nb\n  c Add\n";
  const find = (typed: string, regex = false, sensitive = false) =>
    linesMatching(text, patternOf(typed, regex, sensitive) as RegExp);
  assert.deepEqual(find("add").hits.map((hit) => hit.line), [0, 2]);
  assert.equal(find("add", false, true).count, 1);
  assert.deepEqual(find("^b$", true).hits.map((hit) => hit.line), [1]);
  assert.equal(find("a.d").count, 0);
  assert.equal(find("a.d", true).count, 2);
  assert.deepEqual(find("c add").hits[0], { line: 2, before: "", match: "c Add", after: "" });
  assert.throws(() => find("(", true), SyntaxError);
  assert.equal(patternOf("", true, true), null);
});

test("a pattern that matches nothing but emptiness ends", () => {
  assert.equal(linesMatching("a\nb\nc", patternOf("x*", true, false) as RegExp).count, 3);
});

test("of many matches all are counted", () => {
  const { count, hits } = linesMatching("x\n".repeat(5000), /x/gim);
  assert.equal(count, 5000);
  assert.equal(hits.length, MOST_HITS);
});

const step = (index: number, changed: boolean, status: "ok" | "failed" = "ok") =>
  ({ index, name: `pass-${index}`, changed, status }) as Step;

test("a pass that changed nothing shows the module before it; one that the page lacks shows none", () => {
  const manifest = { steps: [step(1, true), step(2, false), step(3, true), step(4, false)], artifacts: [] };
  const stops = stopsOf(manifest as unknown as Manifest, ["manifest", "stage:0", "stage:1", "listing:k.ptx"]);
  assert.deepEqual(
    stops.map(({ id, chunk }) => [id, chunk]),
    [
      ["0", "stage:0"],
      ["1", "stage:1"],
      ["2", "stage:1"],
      ["3", null],
      ["4", null],
      ["listing:k.ptx", "listing:k.ptx"],
    ],
  );
  assert.equal(defaultBase(stops, "2")?.id, "1");
  assert.equal(defaultBase(stops, "listing:k.ptx"), null);
});

test("a page without a manifest lists the texts that it has", () => {
  assert.deepEqual(
    stopsOf(null, ["stage:0", "stage:8", "listing:k.sass"]).map((stop) => stop.title),
    ["traced module", "pass 8", "SASS"],
  );
});
