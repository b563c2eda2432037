import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallFrame, Place } from "../src/data";
import type { Document } from "../src/documents";
import { type Counts, callTrees } from "../src/panels/call-tree";
import { Chains } from "../src/panels/chains";

const USER = "/home/me/kernel.py";
const LIBRARY = "/lib/tools.py";
const inTile = (line: number): CallFrame => [USER, line, 5, "tile"];
const inKernel = (line: number): CallFrame => [USER, line, 9, "kernel"];
const HELPER: CallFrame = [LIBRARY, 7, 3, "helper"];

/** `helper` is called from two lines of `tile`, and `tile` from two of the kernel. */
const chains = new Chains({
  sources: {},
  chains: [
    [HELPER, inTile(20), inKernel(30)],
    [HELPER, inTile(21), inKernel(31)],
    [inTile(20), inKernel(30)],
    [inTile(20), inKernel(31)],
    [inKernel(30)],
  ],
});

const table: Place[] = [
  [[USER, 30, 9]],
  [[LIBRARY, 7, 3], [USER, 20, 5]],
  [[LIBRARY, 7, 3], [USER, 21, 5]],
  [[USER, 20, 5]],
  [[USER, 99, 1]],
];

function documentOf(kind: "ptx" | "sass", places: number[], functions: { name: string; first: number; last: number }[]): Document {
  const lines = places.map((_, at) => `${at}`);
  const classes = places.map((place) => (place === -2 ? -1 : 0));
  const listing = { kind, file: `k.${kind}`, text: "", table, places, classes, reasons: classes, class_names: ["integer"], functions };
  return { stop: `listing:k.${kind}`, kind, lines, places, table, listing };
}

const said = ({ ptx, sass }: Counts) => [ptx, sass];

test("each function has its own instructions and those of what it calls, each call site those that came by it", () => {
  // -2 is no instruction, -1 one of no line.
  const sass = documentOf("sass", [-2, 0, 1, 1, 2, -1], [{ name: "k", first: 0, last: 5 }]);
  const ptx = documentOf("ptx", [1, 0, -2], [{ name: "k", first: 0, last: 2 }]);
  const [tree, ...others] = callTrees([sass, ptx], chains);
  assert.equal(others.length, 0);
  assert.deepEqual([tree!.kernel, said(tree!.all), said(tree!.unplaced)], ["k", [2, 5], [0, 1]]);
  const rows = tree!.functions.map((each) => [each.name, each.line, said(each.self), said(each.all)]);
  assert.deepEqual(rows, [
    ["kernel", 30, [1, 1], [2, 4]],
    ["tile", 20, [0, 0], [1, 3]],
    ["helper", 7, [1, 3], [1, 3]],
  ]);
  const sites = Object.fromEntries(
    tree!.functions.map((each) => [each.name, each.sites.map((site) => [site.line, site.caller, ...said(site.all)])]),
  );
  assert.deepEqual(sites, {
    kernel: [],
    helper: [[20, "tile", 1, 2], [21, "tile", 0, 1]],
    tile: [[30, "kernel", 1, 2], [31, "kernel", 0, 1]],
  });
});

test("code to which two calls lead counts for both, and once for the function", () => {
  const [tree] = callTrees([documentOf("sass", [3, 3], [{ name: "k", first: 0, last: 1 }])], chains);
  const tile = tree!.functions.find((each) => each.name === "tile")!;
  assert.deepEqual([said(tile.self), said(tile.all)], [[0, 2], [0, 2]]);
  assert.deepEqual(tile.sites.map((each) => [each.line, each.all.sass]), [[30, 2], [31, 2]]);
});

test("kernels are apart, and a place without a chain has no function's name", () => {
  const functions = [{ name: "a", first: 0, last: 0 }, { name: "b", first: 1, last: 2 }];
  const [a, b] = callTrees([documentOf("sass", [0, 4, 4], functions)], chains);
  assert.deepEqual([a!.all.sass, b!.all.sass], [1, 2]);
  assert.deepEqual(b!.functions.map((each) => [each.name, each.file, each.line, each.self.sass]), [["", USER, 99, 2]]);
});
