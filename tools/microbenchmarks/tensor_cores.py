"""Products of warpgroups, and the clocks that a device has with its tensor cores busy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from microbenchmarks.arithmetic import ARITHMETIC, chains, mma_body
from microbenchmarks.gpu import BIG, UNROLLED, WARP, Body, Gpu

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
