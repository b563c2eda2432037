"""Bulk and tensor copies: from issue to who waits for them, and bytes a cycle."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from microbenchmarks.gpu import BIG, TURNS, Body, Gpu


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
