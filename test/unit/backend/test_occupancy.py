import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.backend.occupancy import least_raise, occupancy
from cutecc.record.compilation import Occupancy
from cutecc.target import Target, known_targets

TARGETS = st.sampled_from(known_targets())
REGISTERS = st.integers(0, 255)
THREADS = st.integers(1, 1024)
SHARED = st.integers(0, 240 << 10)
BARRIERS = st.integers(0, 16)


# Computed with cuda_occupancy.h of CUDA 13.5: cudaOccMaxActiveBlocksPerMultiprocessor with CACHE_PREFER_NONE, a
# carve-out of 100 %, and 1024 bytes of shared memory reserved per block.
@pytest.mark.parametrize(
    ("target", "registers", "threads", "shared", "barriers", "blocks", "limited_by"),
    [
        ("sm_80", 32, 256, 0, 0, 8, ["registers", "threads"]),
        ("sm_80", 33, 256, 0, 0, 6, ["registers"]),
        ("sm_80", 33, 544, 0, 0, 2, ["registers"]),
        ("sm_80", 16, 32, 0, 0, 32, ["blocks"]),
        ("sm_80", 255, 256, 0, 1, 1, ["registers"]),
        ("sm_80", 255, 288, 0, 1, 0, ["registers"]),
        ("sm_80", 24, 128, 163 << 10, 0, 1, ["shared memory"]),
        ("sm_80", 24, 128, (163 << 10) + 1, 0, 0, ["shared memory"]),
        ("sm_80", 24, 128, 40 << 10, 16, 4, ["shared memory"]),
        ("sm_86", 40, 192, 0, 0, 8, ["registers", "threads"]),
        ("sm_90a", 168, 384, 197632, 16, 1, ["registers", "shared memory"]),
        ("sm_90a", 24, 128, 0, 16, 4, ["barriers"]),
        ("sm_100a", 128, 512, 0, 3, 1, ["registers"]),
        ("sm_103a", 24, 64, 0, 4, 8, ["barriers"]),
        ("sm_120a", 128, 128, 32800, 1, 3, ["shared memory"]),
    ],
)
def test_against_the_header_of_cuda(
    target: str, registers: int, threads: int, shared: int, barriers: int, blocks: int, limited_by: list[str]
):
    found = occupancy(
        Target.parse(target), registers=registers, threads=threads, shared_bytes=shared, barriers=barriers
    )
    assert (found.blocks_per_sm, found.limited_by) == (blocks, limited_by)


def test_fraction_counts_warps():
    found = occupancy(Target.parse("sm_80"), registers=64, threads=100, shared_bytes=0)
    assert found == Occupancy(100, 8, 32, 0.5, ["registers"])


def test_too_many_threads_fit_no_block():
    found = occupancy(Target.parse("sm_80"), registers=8, threads=1025, shared_bytes=0)
    assert found.blocks_per_sm == 0
    assert found.limited_by == ["threads"]


@given(TARGETS, REGISTERS, THREADS, SHARED, BARRIERS, st.integers(0, 64), st.integers(0, 64 << 10))
def test_taking_more_never_fits_more(
    target: Target, registers: int, threads: int, shared: int, barriers: int, more: int, more_bytes: int
):
    def blocks(registers: int, shared: int, barriers: int) -> int:
        return occupancy(
            target, registers=registers, threads=threads, shared_bytes=shared, barriers=barriers
        ).blocks_per_sm

    least = blocks(registers, shared, barriers)
    assert blocks(registers + more, shared, barriers) <= least
    assert blocks(registers, shared + more_bytes, barriers) <= least
    assert blocks(registers, shared, barriers + more) <= least


@given(TARGETS, REGISTERS, THREADS, SHARED, BARRIERS)
def test_what_is_resident_fits_the_sm(target: Target, registers: int, threads: int, shared: int, barriers: int):
    found = occupancy(target, registers=registers, threads=threads, shared_bytes=shared, barriers=barriers)
    limits = target.limits
    assert found.blocks_per_sm * threads <= limits.threads_per_sm
    assert found.blocks_per_sm * threads * registers <= limits.registers_per_sm
    assert found.blocks_per_sm * (shared + 1024) <= limits.shared_memory_per_sm or found.blocks_per_sm == 0
    assert 0 <= found.fraction <= 1
    assert found.limited_by


@pytest.mark.parametrize(
    ("target", "registers", "threads", "shared", "barriers", "to", "blocks"),
    [
        ("sm_80", 47, 128, 0, 0, {"registers": 40}, 12),
        ("sm_80", 24, 128, 40 << 10, 0, {"shared memory": (164 << 10) // 5 // 128 * 128 - 1024}, 5),
        # Both allow one block.
        ("sm_90a", 168, 384, 197632, 16, {"registers": 80, "shared memory": 115712}, 2),
        ("sm_90a", 24, 128, 0, 16, {"barriers": 12}, 5),
        # As many warps as there can be.
        ("sm_80", 32, 256, 0, 0, None, None),
        # Small blocks, of which there are no more; and one of which two have no room.
        ("sm_80", 16, 32, 0, 0, {"threads": 64}, 32),
        ("sm_86", 32, 1024, 0, 0, {"threads": 768}, 2),
        # Of blocks of 160 there are two more, but no more warps.
        ("sm_80", 16, 192, 0, 0, None, None),
    ],
)
def test_the_least_that_raises_it(
    target: str, registers: int, threads: int, shared: int, barriers: int, to: dict[str, int] | None, blocks: int | None
):
    found = least_raise(
        Target.parse(target), registers=registers, threads=threads, shared_bytes=shared, barriers=barriers
    )
    assert (found and found.to, found and found.occupancy.blocks_per_sm) == (to, blocks)


@given(TARGETS, REGISTERS, THREADS, SHARED, BARRIERS)
def test_with_any_more_it_is_not_raised(target: Target, registers: int, threads: int, shared: int, barriers: int):
    taken = {"registers": registers, "shared memory": shared, "barriers": barriers}
    found = least_raise(target, registers=registers, threads=threads, shared_bytes=shared, barriers=barriers)
    if found is None or "threads" in found.to:
        return
    now = occupancy(target, registers=registers, threads=threads, shared_bytes=shared, barriers=barriers)
    assert found.occupancy.fraction > now.fraction
    for resource, most in found.to.items():
        assert most < taken[resource]
        more = {**taken, **found.to, resource: most + 1}
        again = occupancy(
            target,
            registers=more["registers"],
            threads=threads,
            shared_bytes=more["shared memory"],
            barriers=more["barriers"],
        )
        assert again.blocks_per_sm == now.blocks_per_sm
