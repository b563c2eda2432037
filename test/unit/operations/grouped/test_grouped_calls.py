"""Grouped products run: on the emulator, and launched on a GPU that is not there."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import numpy as np
import pytest
from attacks import attacks
from filelock import FileLock
from hypothesis import strategies as st

from cutecc import EmulatorOptions
from cutecc.errors import ArgumentError, UsageError
from cutecc.operations import (
    Column,
    DeviceMatrix,
    Full,
    Gemm,
    GroupedGemm,
    Row,
    Scalar,
    compile_all,
    device_memory,
    load,
)

sys.path.append(str(Path(__file__).parents[1] / "running"))
from emulated_gpu import EmulatedGpu, install

PARTS: dict[str, Any] = {
    "a": "f32:row:1",
    "b": "f32:row:1",
    "d": "f32:row:1",
    "instruction": "simt:1x1x1:f32:f32:f32",
    "tile": "32x32x8:stages=2:warps=1x1x1",
    "swizzle": "identity1",
    "target": "sm_80",
}
N, K = 21, 17
ROWS = (33, 0, 5, 70)
"""Of each group."""
SIZES = [(5, 21, 9), (0, 8, 9), (40, 3, 0), (7, 33, 30)]
"""Of groups in lists."""


def everything(accum: Any, C: Any, bias: Any, scale: Any, factor: Any, beta: Any = 0.0) -> Any:
    x = (accum + bias) * scale * factor + beta * C
    return {"D": x, "before": accum, "sums": sum(x, axis=1), "tops": max(x, axis=0), "all": sum(x)}


KINDS = {
    "bias": Row("f32", alignment=1),
    "scale": Column("f32", alignment=1),
    "factor": Scalar("f32", in_memory=True),
    "before": Full("f32", alignment=1),
    "sums": Column("f32", alignment=1),
    "tops": Row("f32", alignment=1),
    "all": Scalar("f32"),
}


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, dtype=np.float32)


def poisoned(*shape: int) -> Any:
    return np.full(shape, np.nan, np.float32)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Operations, compiled once for all tests of a run."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    made: dict[str, Callable[[], GroupedGemm]] = {
        "rows": lambda: GroupedGemm(**PARTS, packing="rows"),
        "host": lambda: GroupedGemm(**(PARTS | {"d": "f32:column:1"}), packing="rows", schedule="host"),
        "operands": lambda: GroupedGemm(**PARTS, packing="rows", c="f32:row:1", epilogue=everything, operands=KINDS),
        "lists": lambda: GroupedGemm(**PARTS, c="f32:row:1", epilogue=everything, operands=KINDS),
    }
    paths = {name: folder / f"grouped-{name}.operation" for name in made}
    with FileLock(folder / "grouped.lock"):
        if missing := [name for name, path in paths.items() if not path.exists()]:
            operations = {name: made[name]() for name in missing}
            compile_all([*operations.values()], workers=1)
            for name, op in operations.items():
                op.bundle(paths[name])
    return paths


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> EmulatedGpu:
    return install(monkeypatch)


def packed() -> tuple[Any, Any, Any]:
    """A and B of rows, and the products of the groups below each other."""
    A, B = random(sum(ROWS), K), random(len(ROWS), K, N)
    ends = list(accumulate(ROWS))
    spans = zip((0, *ends), ends, strict=False)
    parts = [A[begin:end].astype("f8") @ B[group] for group, (begin, end) in enumerate(spans)]
    return A, B, np.concatenate(parts)


def test_packed_rows_on_the_emulator(files: dict[str, Path]) -> None:
    op = load(files["rows"])
    assert isinstance(op, GroupedGemm) and op.description == GroupedGemm.load(files["rows"]).description
    with pytest.raises(UsageError, match=r"is no Gemm: it holds grouped_rows_sm80"):
        Gemm.load(files["rows"])
    A, B, expected = packed()
    for offsets in ([*accumulate(ROWS)], np.cumsum(ROWS), np.cumsum(ROWS).astype("i4")):
        D = poisoned(sum(ROWS), N)
        op.emulate(A, B, D=D, offsets=offsets, emulator=EmulatorOptions(check=True)).raise_findings()
        np.testing.assert_allclose(D, expected, rtol=1e-5, atol=1e-5)
    # What lies behind the last group is not written.
    D = poisoned(sum(ROWS), N)
    op.run(A, B, D=D, offsets=[33, 33, 38, 40], alpha=2.0, device="cpu")
    np.testing.assert_allclose(D[:40], 2 * expected[:40], rtol=1e-5, atol=1e-5)
    assert np.isnan(D[40:]).all()


def test_a_column_major_result_and_the_schedule_of_the_host(files: dict[str, Path]) -> None:
    op = GroupedGemm.load(files["host"])
    A, B, expected = packed()
    D = np.asfortranarray(poisoned(sum(ROWS), N))
    op.run(A, B, D=D, offsets=[*accumulate(ROWS)], device="cpu", emulator=EmulatorOptions(check=True))
    np.testing.assert_allclose(D, expected, rtol=1e-5, atol=1e-5)
    op.run(A[:0], B[:0], D=D[:0], offsets=[], device="cpu")  # nothing


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_operands_of_an_epilogue_by_group(files: dict[str, Path], beta: float) -> None:
    op = GroupedGemm.load(files["operands"])
    A, B, product = packed()
    C, bias, scale, factor = random(sum(ROWS), N), random(len(ROWS), N), random(sum(ROWS)), random(len(ROWS))
    D, before = poisoned(sum(ROWS), N), poisoned(sum(ROWS), N)
    sums, tops, everything = poisoned(sum(ROWS)), poisoned(len(ROWS), N), poisoned(len(ROWS))
    given = {"bias": bias, "scale": scale, "factor": factor, "before": before}
    given |= {"sums": sums, "tops": tops, "all": everything}
    op.run(A, B, C, D, offsets=[*accumulate(ROWS)], beta=beta, **given, device="cpu")
    group = np.repeat(np.arange(len(ROWS)), ROWS)
    expected = (product + bias[group]) * scale[:, None] * factor[group][:, None] + beta * C
    np.testing.assert_allclose(D, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(before, product, rtol=1e-5, atol=1e-5)
    parts = np.split(expected, np.cumsum(ROWS)[:-1])
    np.testing.assert_allclose(sums, expected.sum(axis=1), rtol=1e-4, atol=1e-3)
    # Of no rows the largest is that of nothing.
    np.testing.assert_allclose(tops, [each.max(axis=0, initial=-np.inf) for each in parts], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(everything, [each.sum() for each in parts], rtol=1e-4, atol=1e-2)


def listed(sizes: Sequence[tuple[int, int, int]] = SIZES) -> dict[str, Any]:
    """Lists, and what they are in numpy's memory."""
    found: dict[str, Any] = {name: [] for name in (*"ABCD", "bias", "scale", "before", "sums", "tops")}
    for group, (m, n, k) in enumerate(sizes):
        shapes = {"A": (m, k), "B": (k, n), "C": (m, n), "bias": (n,), "scale": (m,)}
        for name, shape in shapes.items():
            found[name].append(random(*shape, seed=group))
        for name, shape in {"D": (m, n), "before": (m, n), "sums": (m,), "tops": (n,)}.items():
            found[name].append(poisoned(*shape))
    return found | {"factor": random(len(SIZES)), "all": poisoned(len(SIZES))}


RESULTS = ("D", "before", "sums", "tops")
"""Of lists."""


def check_lists(given: dict[str, Any], beta: float = 0.0) -> None:
    for group in range(len(SIZES)):
        product = given["A"][group].astype("f8") @ given["B"][group]
        scaled = (product + given["bias"][group]) * given["scale"][group][:, None] * given["factor"][group]
        expected = scaled + beta * given["C"][group]
        np.testing.assert_allclose(given["D"][group], expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(given["sums"][group], expected.sum(axis=1), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(given["tops"][group], expected.max(axis=0, initial=-np.inf), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(given["all"][group], expected.sum(), rtol=1e-4, atol=1e-2)
        np.testing.assert_allclose(given["before"][group], product, rtol=1e-5, atol=1e-5)


def test_lists_on_the_emulator(files: dict[str, Path]) -> None:
    op = pickle.loads(pickle.dumps(GroupedGemm.load(files["lists"])))
    for beta in (0.0, 2.0):
        given = listed()
        op.run(**given, beta=beta, device="cpu", emulator=EmulatorOptions(check=True))
        check_lists(given, beta)
    given = listed()
    tables = op.matrices(**{name: each for name, each in given.items() if isinstance(each, list)}, device="cpu")
    op.run(**tables, factor=given["factor"], all=given["all"], beta=-1.0, device="cpu")
    check_lists(given, -1.0)


@hypothesis.settings(max_examples=attacks(2), deadline=None)
@hypothesis.given(st.lists(st.integers(0, 70), max_size=5), st.integers(1, 40), st.integers(0, 20), st.integers(0, 9))
def test_rows_of_any_sizes(files: dict[str, Path], rows: list[int], n: int, k: int, behind: int) -> None:
    """Also without groups, without K, and with rows behind the last group, which stay as they are."""
    op = GroupedGemm.load(files["rows"])
    total = sum(rows) + behind
    A, B, D = random(total, k), random(len(rows), k, n), poisoned(total, n)
    op.run(A, B, D=D, offsets=[*accumulate(rows)], device="cpu", emulator=EmulatorOptions(check=True))
    ends = [*accumulate(rows)]
    for group, (begin, end) in enumerate(zip((0, *ends), ends, strict=False)):
        np.testing.assert_allclose(D[begin:end], A[begin:end].astype("f8") @ B[group], rtol=1e-4, atol=1e-5)
    assert np.isnan(D[total - behind :]).all()


# Launches.


def on(gpu: EmulatedGpu, given: dict[str, Any]) -> dict[str, Any]:
    """Lists in device memory."""
    return {
        name: [gpu.put(one) for one in each] if isinstance(each, list) else gpu.put(each)
        for name, each in given.items()
    }


def bring_back(gpu: EmulatedGpu, there: dict[str, Any], given: dict[str, Any]) -> None:
    """Results of lists, from device memory."""
    given |= {name: [gpu.get(each) for each in there[name]] for name in RESULTS} | {"all": gpu.get(there["all"])}


def test_calls_like_earlier_ones_bind_nothing_anew(
    files: dict[str, Path], gpu: EmulatedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = gpu.know(GroupedGemm.load(files["rows"]))
    A, B, expected = packed()
    a, b, ends = gpu.put(A), gpu.put(B), gpu.put(np.cumsum(ROWS).astype("i4"), "i32")
    for repeat in range(4):
        before = dict(gpu.driver.calls)
        d = gpu.put(poisoned(sum(ROWS), N))
        alpha = 1.0 if repeat < 2 else 2.0  # evaluated, planned, repeated
        with monkeypatch.context() as patch:
            if repeat > 1:
                patch.setattr(op.variants[0], "bind", None)
            op.run(a, b, D=d, offsets=ends, alpha=alpha, stream=5)
        np.testing.assert_allclose(gpu.get(d), alpha * expected, rtol=1e-5, atol=1e-5)
    now = gpu.driver.calls
    changed = {name: now[name] - before.get(name, 0) for name in now if now[name] != before.get(name)}
    assert changed == {"launch": 1, "is_capturing": 1}
    # Other groups in the same memory: nobody on the host has read them.
    gpu.cuda.cuMemcpyHtoD(ends.pointer, np.array([0, 33, 103, 108], "i4").ctypes.data, 16)
    op.run(a, b, D=d, offsets=ends, stream=5)
    np.testing.assert_allclose(gpu.get(d)[:33], A[:33].astype("f8") @ B[1], rtol=1e-5, atol=1e-5)
    launched = len(gpu.driver.launches)
    with pytest.raises(ArgumentError, match="D is written and shares memory with A"):
        op.run(a, b, D=DeviceMatrix(a.pointer, d.shape, N, "f32"), offsets=ends)
    with pytest.raises(ArgumentError, match="K is 17 in A and 16 in B"):
        op.run(a, DeviceMatrix(b.pointer, (4, 16, N), N, "f32"), D=d, offsets=ends)
    assert len(gpu.driver.launches) == launched


def test_of_wrong_ends_on_the_gpu_nothing_outside_is_touched(files: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(GroupedGemm.load(files["rows"]))
    A, B, _ = packed()
    a, b, d = gpu.put(A), gpu.put(B), gpu.put(poisoned(sum(ROWS), N))
    op.run(a, b, D=d, offsets=gpu.put(np.array([33, 20, 500, -7], "i4"), "i32"))  # elsewhere would be a fault
    found = gpu.get(d)
    np.testing.assert_allclose(found[:20], A[:20].astype("f8") @ B[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[33:], A[33:].astype("f8") @ B[2], rtol=1e-5, atol=1e-5)


def test_offsets_of_the_host_are_brought_to_the_gpu_once(files: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(GroupedGemm.load(files["host"]))
    A, B, expected = packed()
    a, b, d = gpu.put(A), gpu.put(B), gpu.put(poisoned(sum(ROWS), N), layout="column")
    for repeat in range(4):
        del gpu.cuda.streams[:]
        op.run(a, b, D=d, offsets=[*accumulate(ROWS)], stream=5)
        np.testing.assert_allclose(gpu.get(d), expected, rtol=1e-5, atol=1e-5)
        assert [name for name, _ in gpu.cuda.streams].count("in") == (repeat == 0)
    op.run(a, b, D=d, offsets=(0, 108, 108, 108), stream=5)
    np.testing.assert_allclose(gpu.get(d), A.astype("f8") @ B[1], rtol=1e-5, atol=1e-5)
    with pytest.raises(ArgumentError, match="offsets end at 109, and M of all groups is 108"):
        op.run(a, b, D=d, offsets=(0, 108, 108, 109), stream=5)
    gpu.driver.capturing = {0, 5}
    with pytest.raises(ArgumentError, match="a CUDA graph does not keep offsets of the host"):
        op.run(a, b, D=d, offsets=(0, 108, 108, 108), stream=5)


def test_lists_are_put_into_tables_that_are_kept(files: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(GroupedGemm.load(files["lists"]))
    given = listed()
    there = on(gpu, given)
    for repeat in range(4):
        del gpu.cuda.streams[:]
        op.run(**there, stream=5)
        bring_back(gpu, there, given)
        check_lists(given)
        assert [name for name, _ in gpu.cuda.streams].count("in") == (repeat == 0)
    scalars = {name: there.pop(name) for name in ("factor", "all")}
    tables = op.matrices(**there)
    gpu.driver.capturing = {0, 5}
    op.run(**tables, **scalars, beta=2.0)
    with pytest.raises(ArgumentError, match="a CUDA graph does not keep tables of lists"):
        op.run(**there, **scalars)
    gpu.driver.capturing = set()
    bring_back(gpu, there | scalars, given)
    check_lists(given, 2.0)
    with pytest.raises(ArgumentError, match=r"'A\[1\]' is a numpy array, and tables have addresses"):
        op.run(**(there | {"A": [there["A"][0], *given["A"][1:]]}), **scalars)
    with pytest.raises(ArgumentError, match=r"'A\[0\]' is a numpy array, and 'factor' is not"):
        op.run(**(there | {"A": given["A"]}), **scalars)
    op.sync()


def test_a_repeated_call_with_lists_looks_at_its_scalars(files: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(GroupedGemm.load(files["lists"]))
    there = on(gpu, listed())
    for _ in range(3):
        op.run(**there)
    launched = len(gpu.driver.launches)
    for name, offset, fits in (("before", 8, False), ("B", 0, True), ("D", 4 * 21, False)):
        first = there[name][0]
        scalar = DeviceMatrix(first.pointer + offset, there["factor"].shape, 1, "f32")
        if fits:
            op.run(**(there | {"factor": scalar}))
            continue
        with pytest.raises(ArgumentError, match=rf"{name}\[0\] is written and shares memory with factor"):
            op.run(**(there | {"factor": scalar}))
    assert len(gpu.driver.launches) == launched + 1 + 3  # and of each reduction one
    scalar = DeviceMatrix(there["A"][3].pointer, there["all"].shape, 1, "f32")
    with pytest.raises(ArgumentError, match=r"all is written and shares memory with A\[3\]"):
        op.run(**(there | {"all": scalar}))
    with pytest.raises(ArgumentError, match="all is written and shares memory with factor"):
        op.run(**(there | {"all": there["factor"]}))


def test_larger_lists_have_more_workspace(files: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(GroupedGemm.load(files["lists"]))
    for sizes in (SIZES, SIZES, SIZES, [(2 * m, 3 * n, k) for m, n, k in SIZES]):
        given = listed(sizes)
        there = on(gpu, given)
        op.run(**there)
        bring_back(gpu, there, given)
        check_lists(given)


class Cupy:
    """What cupy's arrays offer of memory of the stand-in, written on the stream 3."""

    def __init__(self, array: DeviceMatrix) -> None:
        self.shape, self.dtype = array.shape, np.dtype(np.float32)
        self.strides = tuple(4 * step for step in array.stride())
        self.data = SimpleNamespace(ptr=array.pointer)
        self.device = SimpleNamespace(id=0)
        self.__cuda_array_interface__ = {
            **{"shape": self.shape, "strides": self.strides, "typestr": "<f4"},
            **{"data": (array.pointer, False), "version": 3, "stream": 3},
        }


Cupy.__module__ = "cupy"


def as_cupy(given: dict[str, Any]) -> dict[str, Any]:
    return {name: [*map(Cupy, each)] if isinstance(each, list) else Cupy(each) for name, each in given.items()}


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cupy whose current stream is 3."""
    stub = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda _: SimpleNamespace(ptr=3)))
    monkeypatch.setitem(sys.modules, "cupy", stub)


@pytest.mark.usefixtures("cupy")
def test_the_current_stream_is_that_of_a_calls_own_arrays(files: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(GroupedGemm.load(files["rows"]))
    A, B, _ = packed()
    there = {"A": gpu.put(A), "B": gpu.put(B), "D": gpu.put(poisoned(sum(ROWS), N))}
    for given, stream in ((as_cupy(there), 3), (there, 0)):  # with the same table of ends
        op.run(**given, offsets=[*accumulate(ROWS)])
        assert gpu.driver.launches[-1].stream == stream
    op = gpu.know(GroupedGemm.load(files["lists"]))
    there = on(gpu, listed())
    for given, stream in ((as_cupy(there), 3), (there, 0)):
        for _ in range(3):  # evaluated, planned, repeated
            op.run(**given)
            assert gpu.driver.launches[-1].stream == stream


def test_launches_wait_for_streams_that_matrices_of_lists_name(files: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(GroupedGemm.load(files["lists"]))
    there = on(gpu, listed())
    scalars = {name: there.pop(name) for name in ("factor", "all")}
    for _ in range(4):
        op.run(**as_cupy(there), **scalars, stream=5)
    assert gpu.driver.orders == [(3, 5)] * 4
    tables = op.matrices(**as_cupy(there))  # what is kept may outlive the streams
    op.run(**tables, **scalars, stream=5)
    assert len(gpu.driver.orders) == 4


def test_arrays_of_numpy_are_copied(files: dict[str, Path], gpu: EmulatedGpu) -> None:
    A, B, expected = packed()
    for name in ("rows", "host"):
        op = gpu.know(GroupedGemm.load(files[name]))
        D = poisoned(sum(ROWS), N)
        D = np.asfortranarray(D) if name == "host" else D
        for offsets in ([*accumulate(ROWS)], np.cumsum(ROWS)):
            op.run(A, B, D=D, offsets=offsets)
            assert np.isnan(D).all()
            op.sync()
            np.testing.assert_allclose(D, expected, rtol=1e-5, atol=1e-5)
            D[...] = np.nan


def test_lists_of_numpy_are_copied(files: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(GroupedGemm.load(files["lists"]))
    given = listed()
    shifted = np.zeros(5 * 21 + 1, np.float32)[1:].reshape(5, 21)
    given["C"][0], given["D"][0] = shifted, shifted  # a source may be the result
    shifted[...] = random(5, 21)
    before = shifted.copy()
    assert op.supports(**given, beta=2.0)
    for _ in range(2):
        op.run(**given, beta=2.0)
    assert np.isnan(given["sums"][0]).all() and not np.isnan(shifted).any()
    op.sync()
    given["C"][0] = before
    product = given["A"][0].astype("f8") @ given["B"][0]
    first = (product + given["bias"][0]) * given["scale"][0][:, None] * given["factor"][0]
    np.testing.assert_allclose(given["D"][0], first + 2 * (first + 2 * before), rtol=1e-4, atol=1e-3)
    given = listed()
    op.run(**given, sync=True)
    check_lists(given)
    whole = poisoned(12, 21)
    given["D"][0] = whole[:5]
    for other in ("before", "scale", "factor"):
        wrong = given | {other: whole[4, :4] if other == "factor" else [whole[4:9], *given[other][1:]]}
        if other == "scale":
            wrong[other][0] = whole[4, 3:8]
        with pytest.raises(ArgumentError, match=r"D\[0\] is written and shares memory with"):
            op.run(**wrong)
    given["A"][0].flags.writeable = given["before"][0].flags.writeable = False
    with pytest.raises(ArgumentError, match=r"'before\[0\]' is written, and its array is read-only"):
        op.run(**given)
    assert device_memory.allocated_bytes() == 0
