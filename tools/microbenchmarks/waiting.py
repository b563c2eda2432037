"""What warps and launches wait for each other: barriers, mbarriers, blocks, kernels."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable, Iterator

from microbenchmarks.gpu import HEAD, WARP, Body, Gpu


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
