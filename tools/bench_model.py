"""Measure the constants of `cutecc estimate` on the GPU at hand, and write the table of the device.

    python tools/bench_model.py --raw raw.json                    # on a machine with a GPU; no DSL
    python tools/bench_model.py --raw raw.json --write h200       # the table of that device in cutecc/estimating
    python tools/bench_model.py --document                        # the tables of docs/model.md

Each measurement is a kernel in PTX that the driver compiles. What is measured within one multiprocessor is read from
its clock, in cycles; what all of them do together is timed by events. `docs/model.md` says what each constant is for.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cutecc.runtime.cuda_bindings import load_bindings
from cutecc.runtime.workspace import Workspace

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "cutecc" / "estimating" / "devices"
DOCUMENT = ROOT / "docs" / "model.md"
MARKS = ("<!-- constants: begin -->", "<!-- constants: end -->")
USED = {
    "latency/fma.f32": "cycles of a chain of one warp, an instruction (`chains`)",
    "latency/fma.f64": "the same",
    "latency/ex2.f32": "the same; of all approximations",
    "latency/popc.b32": "the same",
    "latency/cvt.s32.f32": "the same, there and back",
    "latency/shfl": "the same",
    "latency/mma.f16": "the same, `m16n8k16`",
    "latency/ld.shared": "a chain of loads, each of the address for the next (`latencies`)",
    "latency/ldmatrix": "the same",
    "latency/global.l1": "the same, in a ring that the L1 cache holds",
    "latency/global.l2": "in one that the L2 cache holds",
    "latency/global.dram": "in one of 512 MiB, after the L2 cache was flushed",
    "rate/fma.f32": "warp instructions a cycle, 32 warps with four chains each",
    "rate/fma.f64": "the same",
    "rate/ex2.f32": "the same; of all approximations",
    "rate/cvt.f64.f32": "the same, there and back",
    "rate/mma.f16": "the same with 16 warps, `m16n8k16`; tf32 and s8 alike",
    "rate/ld.shared.128": "bytes a cycle: one wavefront of 128 (`shared_rates`)",
    "cycles/wgmma.f16.n128": "two warpgroups that take turns, 32 products between waits (`warpgroup_products`)",
    "cycles/wgmma.f16.n128.wait1": "one product, committed and waited for",
    "cycles/bar.sync.4": "four warps, one barrier after the other (`barriers`)",
    "cycles/mbarrier.there_and_back": "two warps, each arriving and waiting for the other",
    "cycles/bulk.l2.128": "a bulk copy of 128 bytes from issue to who waits for it (`bulk_copies`)",
    "cycles/bulk.dram.128": "the same, after the L2 cache was flushed",
    "cycles/bulk.store.1024": "a bulk store until its source is read",
    "rate/tensor.l2.1sm.8192": "bytes a cycle of tensor copies of 8 KiB, 16 in flight",
    "gbps/l2.read": "all multiprocessors read 8 MiB (`bandwidths`)",
    "gbps/l2.write": "the same, written",
    "gbps/l2.write.partial": "the same, half of each sector (`partial_writes`)",
    "gbps/dram.read": "all multiprocessors read 1 GiB",
    "gbps/dram.write": "the same, written",
    "gbps/dram.copy.kernel": "copied, bytes of both ways",
    "loaded/crowding": "how much later DRAM answers at half of its rate, of its latency (`loaded_latencies`)",
    "mhz/fma.f32": "the clock of arithmetic without tensor cores (`clocks`)",
    "mhz/mma.4": "with `mma.sync`",
    "mhz/wgmma.f16.n256": "with the tensor cores busy all the time, on random numbers",
    "mhz/dram": "of a kernel that reads DRAM",
    "us/launch.events": "an empty kernel between events (`launches`)",
    "us/launch.128.0.512": "512 empty blocks of 128 threads a multiprocessor; less that of one: between blocks",
    "us/launch.384.204800.512": "of 200 KiB, so that one comes after the other: from an end to the next beginning",
}
"""Of what is measured, what the model uses, and how it is measured."""
WARP = 32
UNROLLED = 32
"""Times that a measured instruction stands in the loop."""
TURNS = 64
BIG = 1 << 30
"""Bytes of a buffer that no cache holds."""
SMALL = 8 << 20
"""Bytes of one that the L2 cache holds."""

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
"""
TIMED = (
    HEAD
    + """
.visible .entry bench(.param .u64 p_out, .param .u64 p_data, .param .u32 p_turns, .param .align 64 .b8 p_map[128])
{{
  .reg .b64 %t0, %t1, %out, %data, %at;
  .reg .b32 %turns, %i, %thread, %lane, %warp, %block, %base;
  .reg .pred %p, %q, %first;
  {declarations}
  ld.param.u64 %out, [p_out];
  ld.param.u64 %data, [p_data];
  ld.param.u32 %turns, [p_turns];
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  and.b32 %lane, %thread, 31;
  shr.u32 %warp, %thread, 5;
  setp.eq.u32 %first, %thread, 0;
  mov.u32 %base, smem;
  {setup}
  bar.sync 0;
  mov.u64 %t0, %clock64;
  mov.u32 %i, 0;
LOOP:
  {body}
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %turns;
  @%p bra LOOP;
  {after}
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  mul.wide.u32 %at, %block, 8;
  add.u64 %at, %out, %at;
  @%first st.global.u64 [%at], %t1;
  {sink}
}}
"""
)
"""A loop between two readings of the clock; the first thread of each block writes the cycles."""


@dataclass(frozen=True)
class Body:
    """What stands in the loop."""

    body: str
    declarations: str = ""
    setup: str = ""
    after: str = ""
    sink: str = ""

    def text(self) -> str:
        return TIMED.format(**vars(self))


class Gpu:
    """Loads and launches PTX."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace, self.driver = workspace, load_bindings()
        self.out = workspace.allocate(1 << 20)
        self.big = workspace.allocate(BIG)
        self.other = workspace.allocate(BIG)
        generator = np.random.default_rng(0)
        noise = generator.standard_normal(1 << 22, dtype=np.float32).astype(np.float16)
        for at in range(0, BIG, noise.nbytes):
            workspace.upload(self.big + at, noise)

    def do(self, name: str, *arguments: Any) -> Any:
        status, *values = getattr(self.driver, name)(*arguments)
        if int(status):
            raise RuntimeError(f"{name}: {status}")
        return values[0] if len(values) == 1 else values

    def function(self, text: str, shared: int = 0) -> Any:
        module = self.do("cuModuleLoadData", text.encode() + b"\0")
        found = self.do("cuModuleGetFunction", module, b"bench")
        if shared:
            attribute = self.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.do("cuFuncSetAttribute", found, attribute, shared)
        return found

    def launcher(
        self, function: Any, grid: int, block: int, shared: int, data: int, turns: int, tensor_map: bytes = bytes(128)
    ) -> Callable[[], None]:
        """What launches a kernel of the four parameters."""
        held = (
            ctypes.c_uint64(self.out),
            ctypes.c_uint64(data),
            ctypes.c_uint32(turns),
            (ctypes.c_uint64 * 16).from_buffer_copy(tensor_map),
        )
        pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(each) for each in held))

        def launch() -> None:
            stream = self.workspace.stream
            self.do("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, shared, stream, ctypes.addressof(pointers), 0)

        launch.held = held, pointers  # type: ignore[attr-defined]
        return launch

    def cycles(
        self, body: Body, *, grid: int = 1, block: int = WARP, shared: int = 0, data: int | None = None,
        turns: int = TURNS, tensor_map: bytes = bytes(128), cold: bool = False,
    ) -> float:  # fmt: skip
        """Cycles of a turn of the loop: the median over blocks, of the second of two launches.

        What the first one read is in the L2 cache then, unless it is to be `cold`."""
        launch = self.launcher(
            self.function(body.text(), shared),
            grid,
            block,
            shared,
            self.big if data is None else data,
            turns,
            tensor_map,
        )
        launch()
        if cold:
            self.workspace.flush_l2()
        launch()
        found = np.zeros(grid, np.uint64)
        self.workspace.download(found, self.out)
        return float(np.median(found)) / turns

    def microseconds(self, launch: Callable[[], None], rounds: int = 7, calls: int = 4) -> float:
        """Of one launch, the median of rounds."""
        launch()
        times: list[float] = []
        for _ in range(rounds):
            start = self.workspace.record()
            for _ in range(calls):
                launch()
            stop = self.workspace.record()
            self.workspace.synchronize()
            times.append(self.workspace.elapsed(start, stop) / calls)
        return statistics.median(times)


# Arithmetic: latencies of a chain, and how many a multiprocessor issues.

F32 = ".reg .f32 %x, %y;", "mov.f32 %x, 0f3F800001; mov.f32 %y, 0f33000000;"
ARITHMETIC: dict[str, tuple[str, str, str]] = {
    # name: the type of registers, the instruction with r for its register, and what sets constants up
    "fma.f32": ("f32", "fma.rn.f32 {r}, {r}, %x, %y;", ""),
    "add.f32": ("f32", "add.rn.f32 {r}, {r}, %y;", ""),
    "mul.f32": ("f32", "mul.rn.f32 {r}, {r}, %x;", ""),
    "max.f32": ("f32", "max.f32 {r}, {r}, %x; add.rn.f32 {r}, {r}, %y;", ""),
    "ex2.f32": ("f32", "ex2.approx.ftz.f32 {r}, {r};", ""),
    "lg2.f32": ("f32", "lg2.approx.ftz.f32 {r}, {r};", ""),
    "rcp.f32": ("f32", "rcp.approx.ftz.f32 {r}, {r}; add.rn.f32 {r}, {r}, %y;", ""),
    "rsqrt.f32": ("f32", "rsqrt.approx.ftz.f32 {r}, {r};", ""),
    "sin.f32": ("f32", "sin.approx.ftz.f32 {r}, {r};", ""),
    "tanh.f32": ("f32", "tanh.approx.f32 {r}, {r};", ""),
    "fma.f64": ("f64", "fma.rn.f64 {r}, {r}, %dx, %dy;", ""),
    "fma.f16x2": ("b32", "fma.rn.f16x2 {r}, {r}, %u, %v;", ""),
    "mad.s32": ("b32", "mad.lo.s32 {r}, {r}, %u, %v;", ""),
    "add.s32": ("b32", "xor.b32 {r}, {r}, %u; add.s32 {r}, {r}, %v;", ""),
    "shf.b32": ("b32", "shf.l.wrap.b32 {r}, {r}, %u, %v;", ""),
    "mul.wide": ("b64", "cvt.u32.u64 %w, {r}; mul.wide.u32 {r}, %w, %u;", ""),
    "popc.b32": ("b32", "popc.b32 {r}, {r};", ""),
    "cvt.f16.f32": ("f32", "cvt.rn.f16.f32 %h, {r}; cvt.f32.f16 {r}, %h;", ""),
    "cvt.s32.f32": ("f32", "cvt.rzi.s32.f32 %w, {r}; cvt.rn.f32.s32 {r}, %w;", ""),
    "cvt.f64.f32": ("f32", "cvt.f64.f32 %dz, {r}; cvt.rn.f32.f64 {r}, %dz;", ""),
    "cvt.e4m3x2": ("f32", "cvt.rn.satfinite.e4m3x2.f32 %h16, {r}, %x; cvt.u32.u16 %w, %h16; mov.b32 {r}, %w;", ""),
    "div.f32": ("f32", "div.rn.f32 {r}, %x, {r};", ""),
    "sqrt.f32": ("f32", "sqrt.rn.f32 {r}, {r};", ""),
    "shfl": ("b32", "shfl.sync.bfly.b32 {r}, {r}, 1, 31, -1;", ""),
    "vote": ("b32", "setp.ne.u32 %q, {r}, %v; vote.sync.ballot.b32 {r}, %q, -1;", ""),
    "redux": ("b32", "redux.sync.add.u32 {r}, {r}, -1;", ""),
    "setp.selp": ("b32", "setp.lt.s32 %q, {r}, %u; selp.b32 {r}, %v, %u, %q;", ""),
}  # fmt: skip
CONSTANTS = (
    ".reg .f32 %x, %y; .reg .f64 %dx, %dy, %dz; .reg .b32 %u, %v, %w; .reg .b16 %h, %h16;",
    """mov.f32 %x, 0f3F800001; ld.global.f32 %y, [%data]; mul.f32 %y, %y, 0f00800000;
    cvt.f64.f32 %dx, %x; cvt.f64.f32 %dy, %y;
    ld.global.b32 %u, [%data+64]; or.b32 %u, %u, 3; ld.global.b32 %v, [%data+128];""",
)


def chains(kind: str, instruction: str, count: int, repeats: int) -> Body:
    """So many independent chains, each of so many of the instruction."""
    names = [f"%r{index}" for index in range(count)]
    start = {
        "f32": "cvt.rn.f32.u32 {r}, %thread;",
        "f64": "cvt.rn.f64.u32 {r}, %thread;",
        "b32": "mov.b32 {r}, %thread;",
    }
    start["b64"] = "cvt.u64.u32 {r}, %thread;"
    lines = [instruction.format(r=name) for _ in range(repeats) for name in names]
    width = {"f32": "b32", "b32": "b32", "f64": "b64", "b64": "b64"}[kind]
    shown = "".join(f"st.global.{width} [%data+{16 * index}], {name};" for index, name in enumerate(names))
    return Body(
        "\n  ".join(lines),
        f"{CONSTANTS[0]} .reg .{kind} {', '.join(names)};",
        CONSTANTS[1] + " ".join(start[kind].format(r=name) for name in names),
        after="bar.sync 0;",
        # Never true, which nobody but the GPU knows.
        sink=f"setp.eq.u64 %q, %t1, 1; @!%q bra DONE; {shown}\nDONE: ret;",
    )


def arithmetic(gpu: Gpu) -> Iterator[tuple[str, float]]:
    for name, (kind, instruction, _) in ARITHMETIC.items():
        yield f"latency/{name}", gpu.cycles(chains(kind, instruction, 1, UNROLLED)) / UNROLLED
        body, warps = chains(kind, instruction, 4, UNROLLED // 4), 32
        yield f"rate/{name}", warps * UNROLLED / gpu.cycles(body, block=warps * WARP)


MMA = {
    "mma.f16": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 2, "f32"),
    "mma.f16.f16": ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 4, 2, "b32"),
    "mma.tf32": ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, "f32"),
    "mma.s8": ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 4, 2, "b32"),
    "mma.f64": ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 1, 1, "f64"),
}


def mma_body(name: str, count: int) -> Body:
    """So many independent chains of an `mma.sync`."""
    opcode, of_a, of_b, kind = MMA[name]
    operand = "f64" if kind == "f64" else "b32"
    results = 2 if name in ("mma.f16.f16", "mma.f64") else 4
    sums = [[f"%c{index}_{part}" for part in range(results)] for index in range(count)]
    a, b = [f"%a{part}" for part in range(of_a)], [f"%b{part}" for part in range(of_b)]
    registers = [each for group in sums for each in group]
    lines = [
        f"{opcode} {{{', '.join(each)}}}, {{{', '.join(a)}}}, {{{', '.join(b)}}}, {{{', '.join(each)}}};"
        for _ in range(UNROLLED // count)
        for each in sums
    ]
    zero = "0d0000000000000000" if kind == "f64" else "0f00000000" if kind == "f32" else "0"
    size = "64" if kind == "f64" else "32"
    return Body(
        "\n  ".join(lines),
        f".reg .{operand} {', '.join([*a, *b])}; .reg .{kind} {', '.join(registers)};",
        "".join(f"mov.{kind} {each}, {zero};" for each in registers)
        + "".join(f"ld.global.{operand} {each}, [%data+{64 * n}];" for n, each in enumerate([*a, *b])),
        after="bar.sync 0;",
        sink="setp.eq.u64 %q, %t1, 1; @!%q bra DONE;"
        + "".join(f"st.global.b{size} [%data+{16 * n}], {each};" for n, each in enumerate(registers))
        + "\nDONE: ret;",
    )


def products(gpu: Gpu) -> Iterator[tuple[str, float]]:
    """`mma.sync`: cycles of a chain, and warp instructions that a multiprocessor starts in a cycle."""
    for name in MMA:
        yield f"latency/{name}", gpu.cycles(mma_body(name, 1)) / UNROLLED
        yield f"rate/{name}", 16 * UNROLLED / gpu.cycles(mma_body(name, 4), block=16 * WARP)


# Memory.


def ring(gpu: Gpu, address: int, size: int, step: int) -> None:
    """Pointers at each multiple of `step`, each to another, in one ring over `size` bytes."""
    count = size // step
    order = np.random.default_rng(1).permutation(count)
    words = np.zeros(size // 8, np.uint64)
    words[order * (step // 8)] = np.roll(order, -1).astype(np.uint64) * np.uint64(step) + np.uint64(address)
    gpu.workspace.upload(address, words)


def latencies(gpu: Gpu) -> Iterator[tuple[str, float]]:
    """Cycles of a load whose address the load before it gives."""
    for name, opcode, size, turns in (
        ("global.l1", "ld.global.ca.u64", 16 << 10, 8192),
        ("global.l2", "ld.global.cg.u64", SMALL, 4096),
        ("global.dram", "ld.global.cg.u64", 512 << 20, 2048),
    ):
        ring(gpu, gpu.other, size, 128 if size < SMALL else 256)
        body = Body(f"{opcode} %a, [%a];", ".reg .b64 %a;", "mov.u64 %a, %data;", sink="st.global.u64 [%data+8], %a;")
        cycles = gpu.cycles(body, block=1, data=gpu.other, turns=turns, cold=name == "global.dram")
        yield f"latency/{name}", cycles
    shared = Body(
        "ld.shared.u32 %a, [%a];\n" * UNROLLED,
        ".reg .b32 %a;",
        "mov.u32 %a, %base; st.shared.u32 [%a], %a;",
        sink="st.global.u32 [%data+8], %a;",
    )
    yield "latency/ld.shared", gpu.cycles(shared, shared=1024) / UNROLLED
    matrix = Body(
        # Every word holds the address of the first row, which all lanes then read.
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a, %b, %c, %d}, [%a];\n" * UNROLLED,
        ".reg .b32 %a, %b, %c, %d;",
        "mad.lo.u32 %a, %lane, 16, %base; st.shared.v4.b32 [%a], {%base, %base, %base, %base};",
        sink="st.global.u32 [%data+8], %a;",
    )
    yield "latency/ldmatrix", gpu.cycles(matrix, shared=4096) / UNROLLED
    atom = Body(
        "atom.shared.add.u32 %a, [%base], %a;\n" * UNROLLED,
        ".reg .b32 %a;",
        "mov.u32 %a, 1; st.shared.u32 [%base], %a;",
        sink="st.global.u32 [%data+8], %a;",
    )
    yield "latency/atom.shared", gpu.cycles(atom, block=1, shared=1024) / UNROLLED
    copied = Body(
        "cp.async.cg.shared.global [%s], [%g], 16; cp.async.commit_group; cp.async.wait_group 0;\n" * 8,
        ".reg .b32 %s; .reg .b64 %g, %o;",
        "mad.lo.u32 %s, %lane, 16, %base; mul.wide.u32 %o, %lane, 16; add.u64 %g, %data, %o;",
    )
    yield "latency/cp.async", gpu.cycles(copied, shared=4096) / 8


def shared_rates(gpu: Gpu) -> Iterator[tuple[str, float]]:
    """Bytes in a cycle of a multiprocessor, by warps that access consecutive words."""
    block, times = 256, 16
    for name, opcode, size in (
        ("ld.shared.32", "ld.shared.b32 %a, [%s+{at}]; xor.b32 %e, %e, %a;", 4),
        (
            "ld.shared.128",
            "ld.shared.v4.b32 {{%a, %b, %c, %d}}, [%s+{at}]; xor.b32 %e, %e, %a; xor.b32 %b, %b, %c;"
            "xor.b32 %e, %e, %b; xor.b32 %e, %e, %d;",
            16,
        ),
        ("st.shared.32", "st.volatile.shared.b32 [%s+{at}], %e;", 4),
        ("st.shared.128", "st.volatile.shared.v4.b32 [%s+{at}], {{%e, %e, %e, %e}};", 16),
        (
            "ldmatrix",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%a, %b, %c, %d}}, [%s+{at}]; xor.b32 %e, %e, %a;",
            16,
        ),
        ("atom.shared", "atom.shared.add.u32 %a, [%s+{at}], 1; xor.b32 %e, %e, %a;", 4),
    ):
        body = Body(
            "\n".join(opcode.format(at=n * block * size) for n in range(times)) + f"\nxor.b32 %s, %s, {32 * size};",
            ".reg .b32 %a, %b, %c, %d, %e, %s;",
            f"mad.lo.u32 %s, %thread, {size}, %base; mov.b32 %e, 0;",
            after="bar.sync 0;",
            sink="st.global.b32 [%data+8], %e;",
        )
        # Four such blocks are as many warps as hide what each of them waits for.
        cycles = gpu.cycles(body, block=block, shared=block * size * times)
        yield f"rate/{name}", block * size * times / cycles


STREAM = (
    HEAD
    + """
.visible .entry bench(.param .u64 p_out, .param .u64 p_data, .param .u32 p_turns, .param .align 64 .b8 p_map[128])
{{
  .reg .b64 %out, %data, %at, %o, %step, %to;
  .reg .b32 %turns, %i, %n, %sum, %r<{count}>, %threads, %blocks, %block, %thread;
  .reg .pred %p, %q;
  ld.param.u64 %out, [p_out];
  ld.param.u64 %data, [p_data];
  ld.param.u32 %turns, [p_turns];
  mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %threads, %ntid.x; mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %n, %block, %threads, %thread;
  mul.wide.u32 %o, %n, 16;
  add.u64 %at, %data, %o;
  mul.lo.u32 %n, %blocks, %threads;
  mul.wide.u32 %step, %n, 16;
  mov.u32 %i, 0; mov.u32 %sum, 0;
  {setup}
LOOP:
  {body}
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %turns;
  @%p bra LOOP;
  setp.eq.u32 %q, %sum, 12345;
  @%q st.global.u32 [%out], %sum;
}}
"""
)


def stream(mode: str, ways: int, wrap: int = 0) -> str:
    """Each thread reads, writes or copies 16 bytes `ways` times a turn, all threads side by side."""
    lines: list[str] = []
    values = [", ".join(f"%r{4 * way + part}" for part in range(4)) for way in range(ways)]
    onwards = "add.u64 %at{way}, %at{way}, %step;"
    if wrap:
        onwards += f"sub.u64 %o, %at{{way}}, %data; and.b64 %o, %o, {wrap - 1}; add.u64 %at{{way}}, %data, %o;"
    if mode != "write":
        lines += [f"ld.global.cg.v4.b32 {{{each}}}, [%at{way}];" for way, each in enumerate(values)]
    if mode != "read":
        offset = BIG // 2 if mode == "copy" else 0
        lines += [f"st.global.v4.b32 [%at{way}+{offset}], {{{each}}};" for way, each in enumerate(values)]
    if mode == "read":
        lines += [f"xor.b32 %sum, %sum, %r{index};" for index in range(4 * ways)]
    lines += [onwards.format(way=way) for way in range(ways)]
    places = ", ".join(f"%at{way}" for way in range(ways))
    setup = f".reg .b64 {places}; mov.u64 %at0, %at;"
    setup += "".join(f"add.u64 %at{way}, %at{way - 1}, %step;" for way in range(1, ways))
    setup += f"mul.lo.u64 %step, %step, {ways};" + "".join(f"mov.u32 %r{index}, %thread;" for index in range(4 * ways))
    return STREAM.format(count=4 * ways, body="\n  ".join(lines), setup=setup)


def bandwidths(gpu: Gpu, processors: int) -> Iterator[tuple[str, float]]:
    """GB/s: of DRAM, of the L2 cache, and of a few multiprocessors alone."""
    for mode in ("read", "write"):
        blocks, block, ways = 2 * processors, 1024, 4
        turns = BIG // (blocks * block * 16 * ways)
        launch = gpu.launcher(gpu.function(stream(mode, ways)), blocks, block, 0, gpu.big, turns)
        moved = blocks * block * 16 * ways * turns
        yield f"gbps/dram.{mode}", moved / gpu.microseconds(launch) / 1e3
        launch = gpu.launcher(gpu.function(stream(mode, ways, SMALL)), blocks, block, 0, gpu.big, turns)
        yield f"gbps/l2.{mode}", moved / gpu.microseconds(launch) / 1e3
    for count in (1, 8, 33, 66, processors):
        block, ways, turns = 1024, 4, 256
        moved = count * block * 16 * ways * turns
        for name, wrap in (("dram", 0), ("l2", 2 << 20)):
            if not wrap and moved > BIG:
                turns = BIG // (count * block * 16 * ways)
                moved = count * block * 16 * ways * turns
            launch = gpu.launcher(gpu.function(stream("read", ways, wrap)), count, block, 0, gpu.big, turns)
            yield f"gbps/{name}.read.{count}sm", moved / gpu.microseconds(launch) / 1e3
    turns = BIG // 2 // (2 * processors * 1024 * 64)
    launch = gpu.launcher(gpu.function(stream("copy", 4)), 2 * processors, 1024, 0, gpu.big, turns)
    yield "gbps/dram.copy.kernel", 2 * processors * 1024 * 128 * turns * 2 / 2 / gpu.microseconds(launch) / 1e3
    half = BIG // 2
    time = gpu.microseconds(lambda: gpu.workspace.copy(gpu.big + half, gpu.big, half))
    yield "gbps/dram.copy", 2 * half / time / 1e3


def partial_writes(gpu: Gpu, processors: int) -> Iterator[tuple[str, float]]:
    """GB/s of sectors of the L2 cache of which threads write a half."""
    blocks, block, ways = 2 * processors, 1024, 4
    turns = BIG // (blocks * block * 16 * ways)
    text = stream("write", ways, SMALL).replace("st.global.v4.b32", "st.global.v2.b32")
    for way in range(ways):
        whole = ", ".join(f"%r{4 * way + part}" for part in range(4))
        text = text.replace(f"{{{whole}}}", f"{{%r{4 * way}, %r{4 * way + 1}}}")
    moved = blocks * block * 16 * ways * turns
    launch = gpu.launcher(gpu.function(text), blocks, block, 0, gpu.big, turns)
    yield "gbps/l2.write.partial", moved / gpu.microseconds(launch) / 1e3


CLOCK = 1850.0
"""MHz of a kernel that reads DRAM, about."""


def crowding(found: dict[int, tuple[float, float]], most: float) -> float:
    """How much later DRAM answers at half of its rate, as a part of its latency.

    `found` are cycles of a load, and bytes that others read in a cycle meanwhile, of which `most` are possible; by the
    number of warps that read.
    """
    alone = found[1][0]
    loads = {warps: min(0.95, bytes_ / most) for warps, (_, bytes_) in found.items() if warps >= 12}
    return statistics.mean((found[warps][0] / alone - 1) * (1 - load) / load for warps, load in loads.items())


def loaded_latencies(gpu: Gpu, processors: int) -> Iterator[tuple[str, float]]:
    """Cycles of a load from DRAM while other warps read, and the bytes that these read in a cycle."""
    ring(gpu, gpu.other, 512 << 20, 256)
    body = Body(
        "@!%chaser bra STREAM;\nld.global.cg.u64 %a, [%a];\nbra NEXT;\n"
        "STREAM: ld.global.cg.v4.b32 {%r0, %r1, %r2, %r3}, [%g]; xor.b32 %sum, %sum, %r0;"
        "add.u64 %g, %g, %step; sub.u64 %o, %g, %from; and.b64 %o, %o, 1073741823; add.u64 %g, %from, %o;"
        "xor.b32 %sum, %sum, %r3; setp.eq.u32 %q, %sum, 12345; @%q st.shared.u32 [%base+4], %sum;"
        "ld.volatile.shared.u32 %f, [%base]; setp.ne.u32 %q, %f, 0; @%q mov.u32 %turns, 0;\nNEXT:",
        ".reg .b64 %a, %g, %o, %step, %from; .reg .b32 %r0, %r1, %r2, %r3, %sum, %f, %n; .reg .pred %chaser;",
        "mov.u64 %a, %data; setp.eq.u32 %chaser, %warp, 0;"
        "@!%chaser mov.u32 %turns, 2147483647; mov.u32 %f, 0; @%first st.shared.u32 [%base], %f; mov.u32 %sum, 0;"
        "ld.global.u64 %from, [%out+524288];"
        "mov.u32 %n, %ntid.x; mad.lo.u32 %n, %block, %n, %thread; mul.wide.u32 %g, %n, 16; add.u64 %g, %g, %from;"
        f"mov.u32 %n, %ntid.x; mul.lo.u32 %n, %n, {16 * processors}; cvt.u64.u32 %step, %n;",
        after="@%first st.volatile.shared.u32 [%base], 1; @%chaser bra DONE; setp.eq.u32 %q, %lane, 0;"
        "cvt.u64.u32 %o, %i; @%q red.global.add.u64 [%out+262144], %o;\nDONE:",
        sink="st.global.u64 [%data+8], %a;",
    )
    function = gpu.function(body.text(), 1024)
    turns = 512
    found: dict[int, tuple[float, float]] = {}
    gpu.workspace.upload(gpu.out + 524288, np.array([gpu.big], np.uint64))
    for warps in (1, 2, 3, 5, 9, 13, 17, 25, 32):
        launch = gpu.launcher(function, processors, warps * WARP, 1024, gpu.other, turns)
        gpu.workspace.flush_l2()
        gpu.workspace.upload(gpu.out + 262144, np.zeros(1, np.uint64))
        launch()
        cycles, count = np.zeros(processors, np.uint64), np.zeros(1, np.uint64)
        gpu.workspace.download(cycles, gpu.out)
        gpu.workspace.download(count, gpu.out + 262144)
        whole = max(1.0, float(np.median(cycles)))
        found[warps - 1] = whole / turns, float(count[0]) * 512 / processors / whole
        yield f"loaded/{warps - 1}.cycles", found[warps - 1][0]
        yield f"loaded/{warps - 1}.bytes", found[warps - 1][1]
    launch = gpu.launcher(gpu.function(stream("read", 4)), 2 * processors, 1024, 0, gpu.big, BIG // (processors << 17))
    most = (BIG // (processors << 17) * processors << 17) / gpu.microseconds(launch) / CLOCK / processors
    yield "loaded/crowding", crowding(found, most)


# Barriers.


def barriers(gpu: Gpu) -> Iterator[tuple[str, float]]:
    """Cycles of `bar.sync` by warps, and of an mbarrier from an arrival to who waits for it."""
    for warps in (1, 4, 8, 12, 16, 32):
        body = Body("bar.sync 1;\n" * 16)
        yield f"cycles/bar.sync.{warps}", gpu.cycles(body, block=warps * WARP) / 16
    wait = "W{n}: mbarrier.try_wait.parity.shared.b64 %q, [{at}], %f; @!%q bra W{n};"
    alone = Body(
        "mbarrier.arrive.shared.b64 _, [%base];\n" + wait.format(n=0, at="%base") + "xor.b32 %f, %f, 1;",
        ".reg .b32 %f;",
        "mov.u32 %f, 0; @%first mbarrier.init.shared.b64 [%base], 1;",
    )
    yield "cycles/mbarrier.alone", gpu.cycles(alone, block=1, shared=1024)
    pair = Body(
        "setp.eq.u32 %r, %warp, 0; @!%r bra OTHER;\n"
        "mbarrier.arrive.shared.b64 _, [%base];\n" + wait.format(n=0, at="%base+8") + "bra NEXT;\n"
        "OTHER: " + wait.format(n=1, at="%base") + "\nmbarrier.arrive.shared.b64 _, [%base+8];\n"
        "NEXT: xor.b32 %f, %f, 1;",
        ".reg .b32 %f; .reg .pred %r;",
        "mov.u32 %f, 0; @%first mbarrier.init.shared.b64 [%base], 32; @%first mbarrier.init.shared.b64 [%base+8], 32;",
    )
    yield "cycles/mbarrier.there_and_back", gpu.cycles(pair, block=64, shared=1024)


# wgmma.

WGMMA = {
    # operands, depth, bytes of an element, registers of a result, what follows the predicate: with A in shared memory
    "f16": ("f32.f16.f16", 16, "f32", "1, 1, 0, 0"),
    "bf16": ("f32.bf16.bf16", 16, "f32", "1, 1, 0, 0"),
    "tf32": ("f32.tf32.tf32", 8, "f32", "1, 1"),
    "e4m3": ("f32.e4m3.e4m3", 32, "f32", "1, 1"),
    "s8": ("s32.s8.s8", 32, "b32", ""),
}


def wgmma(kind: str, columns: int, *, from_registers: bool = False, together: int = 32, wait: int = 0) -> Body:
    """`together` products of a warpgroup into one accumulator, then a wait."""
    types, depth, register, tail = WGMMA[kind]
    sums = [f"%c{index}" for index in range(columns // 2)]
    if from_registers and kind in ("f16", "bf16"):
        tail = "1, 1, 0"
    a = "{%a0, %a1, %a2, %a3}" if from_registers else "%da"
    parts = ", ".join(each for each in ("%on", tail) if each)
    one = f"wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{types} {{{', '.join(sums)}}}, {a}, %db, {parts};"
    zero = "0f00000000" if register == "f32" else "0"
    return Body(
        "wgmma.fence.sync.aligned;\n" + f"{one}\n" * together
        + f"wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned {wait};",
        ".reg .b64 %da, %db, %g; .reg .b32 %a0, %a1, %a2, %a3, %s, %n; .reg .pred %on;"
        f".reg .{register} {', '.join(sums)};",
        # Random operands, of 64 and of `columns` rows of 128 bytes; then descriptors of swizzled rows.
        "mov.u32 %n, %thread;\nFILL: mul.wide.u32 %g, %n, 16; add.u64 %g, %g, %data;"
        "ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%g]; mad.lo.u32 %s, %n, 16, %base;"
        "st.shared.v4.b32 [%s], {%a0, %a1, %a2, %a3}; mov.u32 %s, %ntid.x; add.u32 %n, %n, %s;"
        f"setp.lt.u32 %q, %n, {(64 + columns) * 8}; @%q bra FILL;"
        "fence.proxy.async;"
        "setp.eq.u32 %on, 0, 0; shr.u32 %s, %base, 4; cvt.u64.u32 %da, %s; or.b64 %da, %da, 0x4000004000010000;"
        "add.u32 %s, %s, 512; cvt.u64.u32 %db, %s; or.b64 %db, %db, 0x4000004000010000;"
        + "".join(f"mov.{register} {each}, {zero};" for each in sums),
        after="wgmma.wait_group.sync.aligned 0;",
        sink="setp.eq.u64 %q, %t1, 1; @!%q bra DONE;"
        + "".join(f"st.global.b32 [%data+{4 * n}], {each};" for n, each in enumerate(sums))
        + "\nDONE: ret;",
    )  # fmt: skip


SHARED_OF_PRODUCTS = 8192 + 256 * 128


def warpgroup_products(gpu: Gpu, processors: int) -> Iterator[tuple[str, float]]:
    """Cycles of a product of a warpgroup where two of them take turns, alone from start to end, and all day long."""
    shared = SHARED_OF_PRODUCTS
    for kind in WGMMA:
        for columns in (64, 128, 192, 256) if kind in ("f16", "e4m3") else (128,):
            body = wgmma(kind, columns)
            yield f"cycles/wgmma.{kind}.n{columns}", gpu.cycles(body, block=256, shared=shared) / 64
            if columns in (64, 128):
                body = wgmma(kind, columns, from_registers=True)
                yield f"cycles/wgmma.{kind}.n{columns}.registers", gpu.cycles(body, block=256, shared=shared) / 64
    for columns in (64, 128, 256):
        for together in (1, 2, 4, 8):
            body = wgmma("f16", columns, together=together)
            yield f"cycles/wgmma.f16.n{columns}.wait{together}", gpu.cycles(body, block=128, shared=shared)
        body = wgmma("f16", columns, together=4, wait=1)
        yield f"cycles/wgmma.f16.n{columns}.ahead4", gpu.cycles(body, block=128, shared=shared)


def sustained(gpu: Gpu, body: Body, processors: int, block: int, shared: int, turns: int) -> tuple[float, float]:
    """Microseconds of a kernel on all multiprocessors that takes long enough for power to decide, and MHz meanwhile."""
    launch = gpu.launcher(gpu.function(body.text(), shared), processors, block, shared, gpu.big, turns)
    time = gpu.microseconds(launch, rounds=3, calls=2)
    cycles = np.zeros(processors, np.uint64)
    gpu.workspace.download(cycles, gpu.out)
    return time, float(np.median(cycles)) / time


def clocks(gpu: Gpu, processors: int) -> Iterator[tuple[str, float]]:
    """MHz of the multiprocessors while they do something else than products."""
    shared = SHARED_OF_PRODUCTS
    for kind, columns in (("f16", 256), ("f16", 128), ("e4m3", 256)):
        turns = 20_000
        time, clock = sustained(gpu, wgmma(kind, columns), processors, 256, shared, turns)
        flops = processors * 2 * 32 * turns * 2 * 64 * columns * WGMMA[kind][1]
        yield f"tflops/wgmma.{kind}.n{columns}", flops / time / 1e6
        yield f"mhz/wgmma.{kind}.n{columns}", clock
    for together in (1, 2, 4, 8):
        # One warpgroup, whose tensor cores are idle while it waits.
        body = wgmma("f16", 256, together=together)
        yield f"mhz/wgmma.wait{together}", sustained(gpu, body, processors, 128, shared, 400_000 // together)[1]
    for warps in (1, 2, 4, 16):
        yield f"mhz/mma.{warps}", sustained(gpu, mma_body("mma.f16", 4), processors, warps * WARP, 0, 100_000)[1]
    kind, instruction, _ = ARITHMETIC["fma.f32"]
    body = chains(kind, instruction, 4, UNROLLED // 4)
    yield "mhz/fma.f32", sustained(gpu, body, processors, 1024, 0, 100_000)[1]
    kind, instruction, _ = ARITHMETIC["fma.f64"]
    body = chains(kind, instruction, 4, UNROLLED // 4)
    yield "mhz/fma.f64", sustained(gpu, body, processors, 1024, 0, 50_000)[1]
    cycles = np.zeros(processors, np.uint64)
    sm = Body(
        "ld.volatile.global.v4.b32 {%a, %b, %c, %d}, [%g]; add.u64 %g, %g, %o;\n" * 4,
        ".reg .b32 %a, %b, %c, %d, %n; .reg .b64 %g, %o;",
        "mov.u32 %n, %ntid.x; mad.lo.u32 %n, %block, %n, %thread; mul.wide.u32 %o, %n, 16; add.u64 %g, %data, %o;"
        f"mov.u64 %o, {processors * 1024 * 16};",
        after="bar.sync 0;",
    )
    turns = BIG // (processors * 1024 * 64)
    launch = gpu.launcher(gpu.function(sm.text()), processors, 1024, 0, gpu.big, turns)
    gpu.microseconds(launch, rounds=20, calls=10)
    time = gpu.microseconds(launch)
    gpu.workspace.download(cycles, gpu.out)
    yield "mhz/dram", float(np.median(cycles)) / time


# TMA.


def bulk(stages: int, size: int, stride: int, *, tensor: bool, wrap: int) -> Body:
    """One thread keeps `stages` copies of `size` bytes into shared memory in flight, waiting for the oldest."""
    if tensor:
        copy = (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [{to}], [%map, {{%x, %row}}], [{bar}];"
        )
        following = f"add.u32 %row, %row, {size // 128}; rem.u32 %row, %row, {wrap // 128};"
    else:
        copy = (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [%from], "
            + f"{size}, [{{bar}}];"
        )
        following = (
            f"add.u64 %from, %from, {stride}; sub.u64 %o, %from, %data; and.b64 %o, %o, {wrap - 1};"
            " add.u64 %from, %data, %o;"
        )

    def issue(stage: int) -> str:
        bar, to = f"%base+{8 * stage}", f"%base+{1024 + stage * size}"
        arrive = f"mbarrier.arrive.expect_tx.shared.b64 _, [{bar}], {size};"
        return f"{arrive}\n{copy.format(to=to, bar=bar)}\n{following}\n"

    body = "".join(
        f"W{stage}: mbarrier.try_wait.parity.shared.b64 %q, [%base+{8 * stage}], %f; @!%q bra W{stage};\n{issue(stage)}"
        for stage in range(stages)
    )
    init = "".join(f"mbarrier.init.shared.b64 [%base+{8 * stage}], 1;" for stage in range(stages))
    first = f"mad.lo.u32 %row, %block, {size // 128}, 0; mov.u32 %x, 0;" if tensor else ""
    start = f"mul.wide.u32 %o, %block, {size}; add.u64 %from, %data, %o;"
    return Body(
        body + "xor.b32 %f, %f, 1;",
        ".reg .b32 %f, %row, %x; .reg .b64 %from, %o, %map;",
        f"mov.u32 %f, 0; mov.u64 %map, p_map; cvta.param.u64 %map, %map; {first} {start} {init}"
        "fence.mbarrier_init.release.cluster;" + "".join(issue(stage) for stage in range(stages)),
        after="".join(
            f"X{stage}: mbarrier.try_wait.parity.shared.b64 %q, [%base+{8 * stage}], %f; @!%q bra X{stage};\n"
            for stage in range(stages)
        ),
    )


def tiles(stages: int, size: int) -> Body:
    """The same, of the pieces of two streams in turn; the streams of a grid of 8 by 16 blocks."""
    plain = bulk(stages, size, size, tensor=False, wrap=BIG)
    both = "add.u64 %from, %from, {size}; mov.u64 %o, %from; mov.u64 %from, %other; mov.u64 %other, %o;"
    old = plain.body[plain.body.index("add.u64 %from") : plain.body.index("add.u64 %from, %data, %o;")]
    old += "add.u64 %from, %data, %o;"
    swap = both.format(size=size)
    setup = plain.setup.replace(old, swap)
    start = (
        f"and.b32 %row, %block, 7; mul.wide.u32 %o, %row, {size * TURNS * 16}; add.u64 %from, %data, %o;"
        f"shr.u32 %row, %block, 3; add.u32 %row, %row, 8; mul.wide.u32 %o, %row, {size * TURNS * 16};"
        "add.u64 %other, %data, %o;"
    )
    at = setup.index(f"mul.wide.u32 %o, %block, {size};")
    end = setup.index("mbarrier.init")
    return Body(
        plain.body.replace(old, swap), plain.declarations + ".reg .b64 %other;", setup[:at] + start + setup[end:],
        plain.after,
    )  # fmt: skip


def tensor_map(gpu: Gpu, rows: int, box_rows: int) -> bytes:
    """Of `rows` rows of 64 f16, in boxes of `box_rows` with a swizzle of 128 bytes."""
    driver = gpu.driver
    found = gpu.do(
        "cuTensorMapEncodeTiled",
        driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        2,
        gpu.big,
        [driver.cuuint64_t(64), driver.cuuint64_t(rows)],
        [driver.cuuint64_t(128)],
        [driver.cuuint32_t(64), driver.cuuint32_t(box_rows)],
        [driver.cuuint32_t(1), driver.cuuint32_t(1)],
        driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    return ctypes.string_at(found.getPtr(), 128)


def bulk_copies(gpu: Gpu, processors: int) -> Iterator[tuple[str, float]]:
    """TMA: cycles from the issue of one copy to who waits for it, and bytes in a cycle of a multiprocessor."""
    for place, wrap in (("l2", 4 << 20), ("dram", BIG)):
        for size in (128, 1024, 4096, 16384, 32768):
            body = bulk(1, size, processors * size, tensor=False, wrap=wrap)
            cold = place == "dram"
            yield f"cycles/bulk.{place}.{size}", gpu.cycles(body, block=1, shared=1024 + size, cold=cold)
            if 1024 <= size <= 16384:
                body = bulk(1, size, 0, tensor=True, wrap=wrap)
                encoded = tensor_map(gpu, wrap // 128, size // 128)
                cycles = gpu.cycles(body, block=1, shared=1024 + size, tensor_map=encoded, cold=cold)
                yield f"cycles/tensor.{place}.{size}", cycles
        for grid in (1, processors):
            for size, stages in ((1024, 16), (8192, 16), (16384, 8)):
                body = bulk(stages, size, grid * size, tensor=False, wrap=wrap)
                cycles = gpu.cycles(body, grid=grid, block=1, shared=1024 + stages * size, cold=place == "dram")
                yield f"rate/bulk.{place}.{grid}sm.{size}", stages * size / cycles
    for size, stages in ((8192, 16), (16384, 12)):
        # As blocks of a product of matrices do: each slice of an operand is read by 8 or 16 of them.
        cycles = gpu.cycles(tiles(stages, size), grid=128, block=1, shared=1024 + stages * size)
        yield f"rate/bulk.tiles.{size}", stages * size / cycles
    encoded = tensor_map(gpu, (4 << 20) // 128, 64)
    body = bulk(16, 8192, 0, tensor=True, wrap=4 << 20)
    for grid in (1, processors):
        cycles = gpu.cycles(body, grid=grid, block=1, shared=1024 + 16 * 8192, tensor_map=encoded)
        yield f"rate/tensor.l2.{grid}sm.8192", 16 * 8192 / cycles
    for size in (1024, 8192, 16384):
        stored = Body(
            f"cp.async.bulk.global.shared::cta.bulk_group [%g], [%base], {size};"
            f"add.u64 %g, %g, {size * processors}; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;",
            ".reg .b64 %g, %o;",
            f"mul.wide.u32 %o, %block, {size}; add.u64 %g, %data, %o;",
        )
        yield f"cycles/bulk.store.{size}", gpu.cycles(stored, block=1, shared=size)
        full = Body(stored.body.replace("wait_group.read 0", "wait_group 0"), stored.declarations, stored.setup)
        yield f"cycles/bulk.store.{size}.whole", gpu.cycles(full, block=1, shared=size)


# Launches.


def launches(gpu: Gpu, processors: int) -> Iterator[tuple[str, float]]:
    """Microseconds of launches of kernels that do nothing, by how many blocks a multiprocessor gets."""
    empty = gpu.function(HEAD + ".visible .entry bench(.param .u64 a) { ret; }", 200 << 10)
    held = ctypes.c_uint64(0)
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(held))

    def launcher(grid: int, block: int, shared: int) -> Callable[[], None]:
        def launch() -> None:
            stream = gpu.workspace.stream
            gpu.do("cuLaunchKernel", empty, grid, 1, 1, block, 1, 1, shared, stream, ctypes.addressof(pointers), 0)

        return launch

    for block, shared in ((128, 0), (256, 0), (1024, 0), (384, 100 << 10), (384, 200 << 10)):
        for blocks in (1, 64, 512):
            launch = launcher(blocks * processors, block, shared)
            yield f"us/launch.{block}.{shared}.{blocks}", gpu.microseconds(launch, calls=50)

    def once() -> float:
        """One call between events, as long kernels are timed, with the host ahead of the GPU."""
        gpu.workspace.flush_l2()
        start = gpu.workspace.record()
        launcher(processors, 128, 0)()
        stop = gpu.workspace.record()
        gpu.workspace.synchronize()
        return gpu.workspace.elapsed(start, stop)

    yield "us/launch.events", statistics.median(once() for _ in range(20))


PARTS: dict[str, Callable[[Gpu, int], Iterator[tuple[str, float]]]] = {
    "barriers": lambda gpu, processors: barriers(gpu),
    "arithmetic": lambda gpu, processors: arithmetic(gpu),
    "products": lambda gpu, processors: products(gpu),
    "shared": lambda gpu, processors: shared_rates(gpu),
    "latencies": lambda gpu, processors: latencies(gpu),
    "bandwidths": bandwidths,
    "partial": partial_writes,
    "loaded": loaded_latencies,
    "launches": launches,
    "wgmma": warpgroup_products,
    "clocks": clocks,
    "tma": bulk_copies,
}


def write_table(raw: Path, name: str) -> None:
    """The constants of a device, as `cutecc.estimating.devices` reads them."""
    found = json.loads(raw.read_text())
    table = {
        "title": found["device"],
        "target": "sm_90a",
        "processors": found["processors"],
        "l2_bytes": found["l2_bytes"],
        "date": found["date"],
        "borrowed_from": None,
        "measured": {name: round(value, 3) for name, value in sorted(found["measured"].items())},
    }
    (TABLES / f"{name}.json").write_text(json.dumps(table, indent=1) + "\n")


def document() -> None:
    """The constants that the model uses, in docs/model.md."""
    tables = {path.stem: json.loads(path.read_text())["measured"] for path in sorted(TABLES.glob("*.json"))}
    lines = [
        f"| constant | {' | '.join(name.upper() for name in tables)} | what is measured |",
        f"|---|{'---:|' * len(tables)}---|",
    ]
    for name, what in USED.items():
        cells = " | ".join(f"{table[name]:,.4g}" if name in table else "" for table in tables.values())
        lines.append(f"| `{name}` | {cells} | {what} |")
    text = DOCUMENT.read_text()
    before, after = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    DOCUMENT.write_text(f"{text[:before]}\n" + "\n".join(lines) + f"\n{text[after:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raw", type=Path, metavar="FILE", help="measure, and add what came of it here")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; a fault needs a new process")
    parser.add_argument("--write", metavar="NAME", help="write the table of the device of this name instead")
    parser.add_argument("--document", action="store_true")
    choice = parser.parse_args()
    if choice.document:
        document()
    elif choice.write:
        write_table(choice.raw, choice.write)
    else:
        measure_all(choice.raw, choice.part or list(PARTS))


def measure_all(raw: Path, parts: list[str]) -> None:
    """Parts one after the other; what is there is written at once."""
    with Workspace() as workspace:
        gpu = Gpu(workspace)
        processors = workspace.multiprocessors
        found: dict[str, Any] = json.loads(raw.read_text()) if raw.exists() else {"measured": {}}
        found |= {
            "date": datetime.date.today().isoformat(),
            "device": workspace.name,
            "driver": workspace.driver_version,
            "processors": processors,
            "l2_bytes": workspace.l2_bytes,
        }
        for part in parts:
            for name, value in PARTS[part](gpu, processors):
                found["measured"][name] = value
                print(f"{name:40} {value:12.3f}", flush=True)
                raw.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
