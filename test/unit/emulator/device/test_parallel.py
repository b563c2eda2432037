"""Blocks in several processes: what comes out is the same as from one, whatever happens in them."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_kernels import COUNT, PAST_THE_END, PRINT, SCALE, compilation, host_program, ptx

from cutecc.emulator import parallel
from cutecc.emulator.grid import cluster_and_rank
from cutecc.emulator.launch import load_program
from cutecc.emulator.memory import sharing
from cutecc.emulator.waves import are_independent, waves
from cutecc.errors import EmulatorError
from cutecc.kernel import Kernel
from cutecc.ptx.locations import PtxText
from cutecc.record.host_program import KernelEntry
from cutecc.runtime.launch import Launch

BLOCKS = 600
"""Of 32 threads: three parts."""


def numbers() -> np.ndarray:
    """Aligned to 64 bytes: how many sectors an access has depends on it."""
    memory = np.empty(4 * 32 * BLOCKS + 64, np.uint8)
    start = -memory.ctypes.data % 64
    data = memory[start : start + 4 * 32 * BLOCKS].view("f4")
    data[:] = np.arange(32 * BLOCKS)
    return data


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many parts ran in other processes, launch by launch."""
    counted: list[int] = []
    real = parallel._run_in_processes

    def count(work: Any, memory: Any, parts: Any, show: Any, whole: Any) -> None:
        counted.append(len(parts) - whole.parts)
        real(work, memory, parts, show, whole)

    monkeypatch.setattr(parallel, "_run_in_processes", count)
    return counted


def test_two_processes_give_what_one_gives(processes: list[int]) -> None:
    alone, together = numbers(), numbers()
    kernel = Kernel(compilation())
    first = kernel.emulate(alone, 3.0, counters=True, check="initialisation")
    second = kernel.emulate(together, 3.0, counters=True, check="initialisation", processes=2)
    assert processes == [3]
    np.testing.assert_array_equal(together, 3 * numbers())
    np.testing.assert_array_equal(alone, together)
    assert first.counters is not None and second.counters is not None
    assert first.counters.to_dict() == second.counters.to_dict()
    assert first.blocks == second.blocks == BLOCKS


def test_blocks_that_never_run_together_race(processes: list[int]) -> None:
    """Each block of 32 threads writes also what the block after the next 512 writes; parts have 256 blocks."""
    body = "st.global.f32 [%rd3], %f1; setp.lt.u32 %p1, %r2, 64; @%p1 st.global.f32 [%rd3+65536], %f1;"
    kernel = Kernel(compilation(body))
    for count in (None, 2):
        (found,) = kernel.emulate(numbers(), 1.0, check="races", processes=count).findings
        assert found.kind == "race" and found.count == 64 * 32
        assert found.other is not None and found.place.block == (512, 0, 0) and found.other.block == (0, 0, 0)
    assert processes == []


def test_findings_and_text_come_in_the_order_of_blocks(processes: list[int]) -> None:
    kernel = Kernel(compilation(PRINT))
    alone, together = kernel.emulate(numbers(), 1.0), kernel.emulate(numbers(), 1.0, processes=2)
    assert alone.printed == together.printed == "".join(f"block {block}\n" for block in range(BLOCKS))
    faulty = Kernel(compilation(PAST_THE_END))
    one, several = (faulty.emulate(numbers(), 1.0, check="bounds", processes=count) for count in (1, 2))
    assert one.findings == several.findings
    assert several.findings[0].place.block == (BLOCKS - 1, 0, 0)
    assert processes == [3, 3]


def test_a_fault_in_another_process_is_the_same_error(processes: list[int]) -> None:
    faulty = Kernel(compilation(PAST_THE_END))
    messages: list[str] = []
    for count in (1, 2):
        with pytest.raises(EmulatorError) as caught:
            faulty.emulate(numbers(), 1.0, processes=count)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] and "kernel.py:7:5" in messages[0]
    assert processes == [3]


def test_an_interrupt_leaves_no_memory_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*arguments: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sharing, "_SHARED_FOLDER", str(tmp_path))
    monkeypatch.setattr("os.posix_fallocate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Kernel(compilation()).emulate(numbers(), 3.0, processes=2)
    assert not any(tmp_path.iterdir())


def test_nothing_is_left_behind(processes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_SHARED_FOLDER", str(tmp_path))
    Kernel(compilation()).emulate(numbers(), 3.0, processes=2)
    with pytest.raises(EmulatorError):
        Kernel(compilation(PAST_THE_END)).emulate(numbers(), 3.0, processes=2)
    assert not any(tmp_path.iterdir()) and processes == [3, 3]


def test_shared_memory_is_where_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [errno.ENOSPC]

    def reserve(file: int, offset: int, size: int) -> None:
        if failures:
            raise OSError(failures.pop(), "no")

    monkeypatch.setattr(sharing, "_SHARED_FOLDER", str(tmp_path))
    monkeypatch.setattr("os.posix_fallocate", reserve)
    file = sharing._reserve(100)
    assert file is not None, "in the other folder"
    file.close()
    failures += [errno.ENOSPC, errno.EOPNOTSUPP]
    assert sharing._reserve(100) is None
    failures += [errno.EIO]
    with pytest.raises(OSError, match="no"):
        sharing._reserve(100)


def test_where_there_is_no_room_for_shared_memory_one_process_does_it(
    processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "_reserve", lambda size: None)
    x = numbers()
    Kernel(compilation()).emulate(x, 3.0, processes=2)
    np.testing.assert_array_equal(x, 3 * numbers())
    assert processes == []


@pytest.mark.slow
def test_variables_of_the_module_last_as_long_as_the_call(processes: list[int]) -> None:
    """Every block counts the launches in its own word, and writes what it has counted."""
    declarations = f".global .align 4 .b32 counts[{BLOCKS}];"
    body = (
        "mov.u64 %rd4, counts; mul.wide.u32 %rd5, %r2, 4; add.s64 %rd4, %rd4, %rd5; ld.global.u32 %r4, [%rd4]; "
        "bar.sync 0; add.u32 %r4, %r4, 1; st.global.u32 [%rd4], %r4; st.global.u32 [%rd3], %r4;"
    )
    kernel = Kernel(compilation(text=ptx(body, declarations=declarations), host=host_program(launches=3)))
    for count in (1, 2, 2):
        x = numbers()
        kernel.emulate(x, 1.0, processes=count)
        assert (x.view("u4") == 3).all()
    assert processes == [3] * 6


def test_a_small_launch_stays_in_this_process(processes: list[int]) -> None:
    Kernel(compilation()).emulate(numbers(), 3.0)
    assert processes == []


def test_blocks_that_count_together_stay_together(processes: list[int]) -> None:
    x = np.zeros(32 * BLOCKS, "f4")
    Kernel(compilation(COUNT)).emulate(x, 1.0, processes=2)
    assert x.view("u4")[0] == 32 * BLOCKS
    assert processes == []


@pytest.mark.parametrize(
    ("body", "independent"),
    [
        (SCALE, True),
        (COUNT, False),
        ("red.global.add.u32 [%rd1], 1;", False),
        ("red.add.u32 [%rd1], 1;", False),
        ("atom.shared.add.u32 %r4, [%r1], 1;", True),
        ("red.shared::cluster.add.u32 [%r1], 1;", True),
        ("ld.volatile.global.u32 %r4, [%rd1];", False),
        ("ld.acquire.gpu.global.u32 %r4, [%rd1];", False),
        ("st.release.gpu.b32 [%rd1], %r4;", False),
        ("st.volatile.shared.u32 [%r1], %r4;", True),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], 16;", False),
        ("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd1, {%r4}], [%r1];", False),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;", True),
        (
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32"
            " [%r1], [%r1], 16, [%r1];",
            True,
        ),
        ("membar.gl;", True),
    ],
)
def test_what_lets_blocks_talk(body: str, independent: bool) -> None:
    assert are_independent(load_program(PtxText(ptx(body)), "scale")) is independent


def launch(cluster: tuple[int, int, int], grid: tuple[int, int, int], *, cooperative: bool = False) -> Launch:
    attributes: Any = {"cluster": cluster, "cooperative": (int(cooperative),)}
    return Launch(KernelEntry("scale", [], 0), grid, (1024, 1, 1), 0, 0, attributes, bytearray())


def test_waves_are_of_whole_clusters() -> None:
    program = load_program(PtxText(ptx()), "scale")
    grid, cluster = (8, 6, 1), (2, 3, 1)
    parts = waves(program, launch(cluster, grid), range(48))
    assert [len(part) for part in parts] == [6] * 8
    assert sorted(block for part in parts for block in part) == [*range(48)]
    assert parts[0] == [0, 1, 8, 9, 16, 17] and all(list(part) == sorted(part) for part in parts)
    assert [len(part) for part in waves(program, launch((1, 1, 1), grid), range(20))] == [8, 8, 4]
    assert list(waves(program, launch((1, 1, 1), grid, cooperative=True), range(48))) == [range(48)]


def test_clusters_are_numbered_as_blocks_are() -> None:
    grid, cluster = (4, 6, 6), (2, 3, 2)
    clusters = list(np.ndindex((3, 2, 2)))
    for number, (z, y, x) in enumerate(np.ndindex((6, 6, 4))):
        which, rank = cluster_and_rank(number, grid, cluster)
        assert clusters[which] == (z // 2, y // 3, x // 2)
        assert list(np.ndindex((2, 3, 2)))[rank] == (z % 2, y % 3, x % 2)


def test_tensors_that_share_memory_do_so_in_the_other_processes() -> None:
    from cutecc.arguments.arrays import read_array
    from cutecc.emulator.memory.allocations import merged, tensor_allocation

    memory = np.arange(4096, dtype="f4")
    tensors = {"a": memory[:3000], "b": memory[1000:], "c": np.zeros(7, "f4")}
    allocations = [tensor_allocation(read_array(each), name) for name, each in tensors.items()]  # pyright: ignore
    module = np.array([1, 2, 3], np.uint8)
    with sharing.share(allocations, module) as shared:
        assert shared is not None
        opened, variables = shared.open()
        assert variables.tolist() == [1, 2, 3]
        variables[1] = 9
        assert [(each.base, each.size, each.name) for each in opened] == [
            (each.base, each.size, each.name) for each in allocations
        ]
        first, second = (each.data.view("f4") for each in opened[:2])
        first[2000] = -1
        assert second[1000] == -1
        opened[2].data.view("f4")[:] = 5
        assert len(merged(opened)) == 2
        assert memory[2000] == 2000, "the caller's memory is written at the end"
    assert memory[2000] == -1 and tensors["c"].tolist() == [5.0] * 7
    assert module.tolist() == [1, 9, 3]
