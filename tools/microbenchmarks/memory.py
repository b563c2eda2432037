"""Memory: how late it answers, how much of it there is a second, and how both go together."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np

from microbenchmarks.gpu import BIG, HEAD, SMALL, UNROLLED, WARP, Body, Gpu


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
