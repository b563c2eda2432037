"""What a call may take at most: each limit ends it, says so, and costs nothing before."""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
import pytest
from emulated_kernels import PRINT, SCALE, compilation, host_program, ptx
from hypothesis import given
from hypothesis import strategies as st
from launched import launch_of

import cutecc
from cutecc.emulator.grid import cluster_and_rank
from cutecc.emulator.launch import load_program
from cutecc.emulator.limits import STRICT_LIMITS, Limits
from cutecc.emulator.waves import waves
from cutecc.errors import LaunchError, LimitError, UsageError
from cutecc.kernel import Kernel
from cutecc.ptx.locations import PtxText

FOR_EVER = "AGAIN: bra AGAIN;"
COUNTS = "mov.u32 %r5, 0; AGAIN: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 4000000000; @%p1 bra AGAIN;"


def numbers(count: int = 64) -> np.ndarray:
    return np.arange(count, dtype="f4")


def limited(body: str = SCALE, *, record: Any = None, count: int = 64, **limits: float) -> LimitError:
    """How a call within these limits ends."""
    kernel = Kernel(record or compilation(body))
    with pytest.raises(LimitError) as caught:
        kernel.emulate(numbers(count), 2.0, limits=Limits(**limits))  # pyright: ignore[reportArgumentType]
    return caught.value


@pytest.mark.slow
@pytest.mark.parametrize("body", [FOR_EVER, COUNTS])
def test_a_loop_that_does_not_end(body: str) -> None:
    error = limited(body, steps=100_000)
    assert error.message == "the kernel executes more than the limit of 100,000 instructions"
    assert error.notes[0].startswith("it was at warp 0 of block (") and error.notes[0].endswith("kernel.py:7")
    assert error.hints[0] == (
        "for a kernel that you trust: --limit steps=N in a shell, limits=Limits(steps=N) in Python"
    )
    start = time.monotonic()
    error = limited(body, seconds=0.2)
    assert error.message == "the kernel runs more than the limit of 0.2 s"
    assert time.monotonic() - start > 0.2


@pytest.mark.slow
def test_steps_are_counted_over_processes_and_launches() -> None:
    record = compilation(host=host_program(launches=3))
    kernel = Kernel(record)
    one = 32 * 600
    kernel.emulate(numbers(one), 2.0, processes=2, limits=Limits(steps=100))
    # Three waves a launch, each some fifteen instructions for all of its warps.
    error = limited(record=record, count=one, steps=60)
    assert "executes more than the limit" in error.message


def test_a_grid_of_two_thousand_million_blocks_is_refused_at_once() -> None:
    record = compilation(host=host_program(grid=(2**31 - 1, 1, 1)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(
        LimitError, match=r"a launch has 2,147,483,647 blocks, more than the limit of 100,000,000 blocks"
    ):
        Kernel(record).emulate(numbers(), 2.0)
    with pytest.raises(LimitError, match=r"the sample has 2,147,483,640 blocks, more than"):
        Kernel(record).emulate(numbers(), 2.0, blocks="0:2147483640")
    emulation = Kernel(record).emulate(numbers(), 2.0, blocks="0:2")
    assert (emulation.blocks, emulation.total_blocks) == (2, 2**31 - 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declarations", "body", "message"),
    [
        (".global .b8 large[2147483648];", SCALE, "with 'large' the .global variables take 2.0 GiB, more than"),
        ("", ".local .b8 large[2147483648]; " + SCALE, "with 'large' the .local variables take 2.0 GiB, more than"),
        ("", ".local .b8 large[2097152]; " + SCALE, "the registers and memory of 1 block that run together take 64"),
        (
            "",
            ".reg .b32 %many<10000000>; " + SCALE,
            "the kernel's PTX declares more than the limit of 1,000,000",
        ),
        ("", SCALE + "// " + "x" * 5_000_000, "the kernel's PTX has 4.8 MiB, more than the limit of 4.0 MiB"),
    ],
    ids=["global", "local", "local-of-all", "registers", "ptx"],
)
def test_what_a_kernel_declares(declarations: str, body: str, message: str) -> None:
    record = compilation(text=ptx(body, declarations=declarations))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = limited(record=record, count=32, memory=32 << 20, ptx=4 << 20)
    assert error.message.startswith(message)
    # Ten million names of registers would take a gigabyte.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10  # KiB


def test_a_cooperative_launch_of_more_than_fit_is_refused() -> None:
    record = compilation(host=host_program(grid=(5000, 1, 1), attributes=(("cooperative", (1,)),)))
    with pytest.raises(LaunchError) as caught:
        Kernel(record).emulate(numbers(32 * 5000), 2.0)
    assert "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720)" in caught.value.message
    assert caught.value.notes[0] == "a cooperative launch of 5,000 blocks, of which 4,224 can be resident on 132 SMs"


def test_many_variables_and_functions_take_no_more_than_their_number() -> None:
    """What names mean is not copied for each function."""
    variables = "".join(f".global .b8 v{number};\n" for number in range(4000))
    functions = "".join(f".func f{number}() {{ ret; }}\n" for number in range(400))
    calls = "".join(f"call f{number}; " for number in range(400))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    load_program(PtxText(ptx(calls, declarations=variables + functions)), "scale")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB


@pytest.mark.slow
def test_printed_text_is_memory() -> None:
    error = limited(PRINT, count=3200, memory=20_000)
    assert "more than the limit of 19.5 KiB" in error.message
    for_ever = ptx(PRINT).replace("cvt.u64.u32", "AGAIN: cvt.u64.u32").replace("DONE:", "DONE: bra AGAIN;")
    error = limited(record=compilation(text=for_ever), count=32, memory=20_000)
    assert error.message == "the kernel prints more than the limit of 19.5 KiB"


def test_after_a_finding_a_limit_is_told_with_it() -> None:
    kernel = Kernel(compilation(f"ld.shared.f32 %f2, [0]; {FOR_EVER}"))
    emulation = kernel.emulate(numbers(32), 2.0, check="all", limits=Limits(steps=10_000))
    assert [finding.kind for finding in emulation.findings]
    assert "more than the limit of 10,000 instructions" in emulation.stopped[0].reason


def test_limits_of_a_command_line() -> None:
    found = Limits.parse(["seconds=1.5", "memory=2GiB", "blocks=7"], STRICT_LIMITS)
    assert (found.seconds, found.memory, found.blocks, found.steps) == (1.5, 2 << 30, 7, STRICT_LIMITS.steps)
    assert Limits.parse(["memory=1M", "memory=3M"], STRICT_LIMITS).memory == 3 << 20
    for text, message in {
        "secands=1": "there is no limit 'secands'",
        "seconds": "'seconds' is no limit",
        "steps=-1": "'steps=-1' is no limit",
        "blocks=0": "'blocks=0' is no limit",
        "seconds=nan": "the limit seconds is a number above 0, not nan",
        "seconds=0": "'seconds=0' is no limit",
        "": "there is no limit ''",
    }.items():
        with pytest.raises(UsageError, match=message):
            Limits.parse([text], STRICT_LIMITS)
    with pytest.raises(UsageError) as caught:
        Limits.parse(["secands=1"], STRICT_LIMITS)
    assert caught.value.hints[0] == "did you mean seconds?"


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"blocks": 1.5}, {"memory": "2G"}, {"seconds": True}, {"ptx": -1}])
def test_what_is_no_limit(wrong: Any) -> None:
    with pytest.raises(UsageError, match=f"the limit {next(iter(wrong))} is a"):
        Limits(**wrong)
    with pytest.raises(UsageError, match="limits="):
        cutecc.EmulatorOptions(limits=wrong)


@given(
    cluster=st.tuples(*[st.integers(1, 3)] * 3),
    clusters=st.tuples(*[st.integers(1, 4)] * 3),
    data=st.data(),
)
def test_waves_that_are_not_listed_are_those_that_were(
    cluster: tuple[int, int, int], clusters: tuple[int, int, int], data: st.DataObject
) -> None:
    program = load_program(PtxText(ptx()), "scale")
    grid = tuple(size * count for size, count in zip(cluster, clusters, strict=True))
    launch = launch_of(b"", grid, 1024)  # pyright: ignore[reportArgumentType]
    launch.attributes["cluster"] = cluster
    blocks = range(grid[0] * grid[1] * grid[2])
    ordered = sorted(blocks, key=lambda block: cluster_and_rank(block, grid, cluster))  # pyright: ignore
    found = waves(program, launch, blocks)
    assert [block for wave in found for block in wave] == ordered
    assert {len(wave) for wave in list(found)[:-1]} <= {found.size}
    number = data.draw(st.integers(0, len(found) - 1))
    assert list(found[number]) == ordered[number * found.size : (number + 1) * found.size]


def test_waves_of_the_largest_grid_take_no_memory() -> None:
    program = load_program(PtxText(ptx()), "scale")
    largest = (2**31 - 2, 1, 1)
    for cluster in ((1, 1, 1), (2, 1, 1)):
        launch = launch_of(b"", largest, 1024)
        launch.attributes["cluster"] = cluster
        found = waves(program, launch, range(largest[0]))
        assert len(found) * found.size >= largest[0]
        assert found[len(found) - 1][-1] == largest[0] - 1
