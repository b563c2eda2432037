/** A made-up kernel with something for every panel, whose numbers are known. */

import { execFileSync } from "node:child_process";
import path from "node:path";
import type { Frame, Measure, Place, Points } from "../src/data";
import { CUTECC, REPOSITORY, listing, madeUp, manifest, stage } from "./pages";

export function python(code: string, ...args: string[]): string {
  return execFileSync(path.join(path.dirname(CUTECC), "python"), ["-c", code, ...args], { encoding: "utf8", cwd: REPOSITORY });
}

const MEMREF = '!cute.memref<f16, smem, align<128>, S<3,4,3>, "(16,64):(64,1)">';
const COPY =
  '!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((8,4),(4,2)):((64,2),(16,1))">, tiler_mn = <"[16:1;32:1]">>';
export const HOSTILE = "<img src=x onerror=alert(1)>";

const SOURCE = [
  "import cutlass.cute as cute",
  "",
  "@cute.kernel",
  "def kernel(a, b):",
  "    n = 4 * 8",
  "    x = load(a)",
  "    y = x + 1  # " + HOSTILE,
  "    store(b, y)",
  "",
  "def load(a):",
  "    return a[0]",
].join("\n");
const FILE = "/home/me/made_up.py";
const LIBRARY = "/usr/lib/python3/tools.py";
const at = (line: number, file = FILE): Frame => [file, line, 5];

/** Places: 0 the folded line, 1 a load in a function, 2 the sum, 3 a store in a library. */
const PLACES: Place[] = [[at(5)], [at(11)], [at(7)], [at(3, LIBRARY), at(8)]];

/** Of a run on the emulator by lines of PTX, of a profiler by instructions of SASS, and of the code. */
const MEASURES: { measure: Measure; points: Points[] }[] = [
  {
    measure: { title: "warp instructions", meaning: "What warps executed.", source: "2 blocks on the CPU emulator", unit: "warp instructions", level: "ptx" },
    points: [{ file: "k.ptx", at: [2, 3, 4], values: [64, 19096, 4] }],
  },
  {
    measure: {
      title: "samples",
      meaning: "How often a warp was seen there.",
      source: `PC sampling ${HOSTILE}`,
      unit: "samples",
      is_worse: true,
      is_sampled: true,
      parts: { long_sb: "waits for data of global memory", wait: "waits a fixed time" },
    },
    points: [{ file: "k.sass", at: [0, 1, 2], values: [70, 20, 10], parts: { long_sb: [60, 0, 10], wait: [10, 20, 0] } }],
  },
  {
    measure: { title: "sectors over needed", meaning: "1 where accesses stand side by side.", source: "2 blocks on the CPU emulator", unit: "×", level: "ptx", combine: "ratio", is_worse: true },
    points: [{ file: "k.ptx", at: [2, 4], values: [16, 8], over: [8, 8] }],
  },
  {
    measure: { title: "live registers", meaning: "That hold a value.", source: "data flow of the SASS", unit: "registers", combine: "max", is_static: true },
    points: [{ file: "k.sass", values: [3, 12, 2, 0] }],
  },
];

export function build(name: string): string {
  const traced = [
    `!memref_smem_f16 = ${MEMREF}`,
    "module {",
    "  func.func @kernel() {",
    '    %c = arith.constant 32 : i32',
    "    %0 = test.load : !memref_smem_f16",
    `    %1 = test.copy : ${COPY}`,
    '    %2 = test.view : !cute.layout<"((2,4),8):((1,16),2)">',
    "    test.store %2 : () -> ()",
    "  }",
    "}",
  ];
  const lowered = [...traced.slice(0, 3), ...traced.slice(4)];
  const sass = [".text.kernel:", "  /*0000*/ LDG.E R2, [R4.64] ;", "  /*0010*/ IADD3 R2, R2, 0x1, RZ ;", "  /*0020*/ STG.E [R6.64], R2 ;", "  /*0030*/ EXIT ;"];
  const ptx = [".visible .entry kernel()", "{", "  ld.global.u32 %r1, [%rd1];", "  add.s32 %r2, %r1, 1;", "  st.global.u32 [%rd2], %r2;", "}"];
  const layouts = python(
    "import sys, msgspec; from cutecc.report.pictures import layout_pictures; print(msgspec.json.encode(layout_pictures(sys.argv[1:])).decode())",
    traced.join("\n"),
  );
  const line = (number: number, traced: number, events: object[], ptx: number, sass: number) => ({ file: FILE, line: number, traced, events, ptx, sass });
  return madeUp(name, {
    manifest: manifest([{ name: "cute-desugar", changed: false, summary: "spells out what is short" }, { name: "cute-fold-static" }], {
      source: FILE,
      artifacts: [{ kind: "ptx", file: "k.ptx" }, { kind: "sass", file: "k.sass" }],
      analyses: [
        {
          name: "check-access-width",
          after: 0,
          seconds: 0,
          failure: null,
          remarks: [
            { severity: "remark", message: `loads 32 bits at a time ${HOSTILE}`, location: `${FILE}:11:5`, analysis: "check-access-width", numbers: { bits: 32, possible_bits: 128 } },
          ],
        },
        {
          name: "check-bank-conflicts",
          after: 0,
          seconds: 0,
          failure: null,
          remarks: [
            {
              severity: "remark",
              message: "a store takes 32 wavefronts",
              location: `${FILE}:7:5`,
              analysis: "check-bank-conflicts",
              numbers: { "wavefronts a request": 32, "ideal wavefronts a request": 1 },
              grade: "severe",
              cost: 32,
            },
          ],
        },
        {
          name: "check-divergent-barriers",
          after: 0,
          seconds: 0,
          failure: null,
          remarks: [{ severity: "warning", message: "a barrier in a divergent branch", location: `${FILE}:8:5`, analysis: "check-divergent-barriers" }],
        },
      ],
      resources: [
        {
          kernel: "kernel",
          registers: 40,
          stack_bytes: 0,
          spill_store_bytes: 8,
          spill_load_bytes: 16,
          shared_static_bytes: 2048,
          shared_dynamic_bytes: 0,
          constant_bytes: 352,
          barriers: 1,
          occupancy: { block_threads: 128, blocks_per_sm: 10, warps_per_sm: 40, fraction: 0.625, limited_by: ["registers"] },
        },
      ],
    }),
    verdict: {
      facts: [
        {
          about: "remarks",
          text: "◆ 1 severe, ▲ 1 warning, ● 1 remark",
          bad: true,
          details: [{ text: `◆ a store takes 32 wavefronts ${HOSTILE}`, line: [FILE, 7] }, { text: "▲ a barrier in a divergent branch", line: [FILE, 8] }],
        },
      ],
      kernels: [
        {
          kernel: "kernel",
          name: "kernel",
          facts: [
            {
              about: "occupancy",
              text: "63%",
              details: [{ text: "10 blocks of 128 threads an SM, limited by registers" }, { text: "at most 32 registers (now 40): 16 blocks, 100%" }],
            },
            { about: "spills", text: "24 B", bad: true, details: [{ text: "8 B stored, 16 B loaded; 40 registers a thread" }, { text: "2 accesses", line: [FILE, 11] }] },
            { about: "heaviest lines", text: "self", details: [{ text: "1 SASS, 25%", line: [FILE, 7] }] },
            { about: "mapping", text: "75.0%", details: [{ text: "of 4 SASS instructions belong to a line of the source" }] },
          ],
        },
      ],
    },
    "user-lines": {
      sources: { [LIBRARY]: "def save(b, y):\n    # a library's\n    b[0] = y\n", [FILE]: SOURCE, "/home/me/other.py": "pass\n" },
      library: [LIBRARY],
      chains: [[[...at(11), "load"], [...at(6), "kernel"]], [[...at(3, LIBRARY), "save"], [...at(8), "kernel"]]],
    },
    "places:0": PLACES,
    "stage:0": stage(0, traced, [-1, -1, -1, 0, 1, 2, 2, 3, -1, -1]),
    "stage:2": stage(2, lowered, [-1, -1, -1, 1, 2, 2, 3, -1, -1]),
    "listing:k.ptx": listing("ptx", "k.ptx", ptx, { table: PLACES, places: [-1, -1, 1, 2, 3, -1], functions: [{ name: "kernel", first: 0, last: 5 }] }),
    "listing:k.sass": listing("sass", "k.sass", sass, { table: PLACES, places: [-1, 1, 2, 3, -1], classes: [-1, 0, 1, 0, 2], class_names: ["global 32", "integer", "control"], functions: [{ name: "kernel", first: 0, last: 4 }] }),
    history: {
      lines: [
        line(5, 1, [{ step: 2, kind: "removed", before: 1, after: 0, counts: { removed: 1 } }], 0, 0),
        line(11, 1, [{ step: 2, kind: "changed", before: 1, after: 1, counts: { changed: 1 } }], 1, 1),
        line(6, 0, [], 1, 1),
        line(7, 2, [], 1, 1),
        line(8, 1, [], 1, 1),
        { ...line(3, 1, [], 9, 9), file: LIBRARY },
      ],
    },
    mix: {
      line_info: false,
      kernels: [
        {
          kernel: "kernel",
          instructions: 4,
          mapped: 3,
          own: 2,
          classes: { "global 32": 2, integer: 1, control: 1 },
          lines: [
            { file: FILE, line: 7, classes: { integer: 1 } },
            { file: LIBRARY, line: 3, classes: { "global 32": 1 } },
          ],
          spilled: [
            { file: FILE, line: 7, opcode: "MUFU.EX2", values: 2, stores: 2, loads: 4, bytes: 24 },
            { file: "", line: 0, opcode: "", values: 0, stores: 1, loads: 0, bytes: 4 },
          ],
        },
      ],
    },
    layouts: JSON.parse(layouts) as unknown,
    measures: MEASURES.map(({ measure }) => measure),
    ...Object.fromEntries(MEASURES.map(({ points }, number) => [`measure:${number}`, points])),
  });
}
