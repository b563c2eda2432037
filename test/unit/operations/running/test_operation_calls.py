"""Products launched on a GPU that is not there: what is computed, on which stream, with which memory, and how often."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_gpu import EmulatedGpu, install
from recording import Gpu, RecordingDriver
from small_products import F32, bundles

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError, LaunchError, NoGpuError
from cutecc.operations import device_memory
from cutecc.operations.gemm import Gemm
from cutecc.operations.views import DeviceMatrix, MatrixArray
from cutecc.runtime import cuda_bindings

M, N, K = 33, 21, 17


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return bundles(tmp_path_factory)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> EmulatedGpu:
    return install(monkeypatch)


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, dtype=np.float32)


def product(A: Any, B: Any) -> Any:
    return np.matmul(A.astype(np.float64), B.astype(np.float64))


def test_a_product_of_device_memory(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B, C = random(M, K), random(K, N), random(M, N)
    a, b, c = map(gpu.put, (A, B, C))
    for repeat in range(4):  # evaluated, planned, repeated
        d = gpu.put(np.full((M, N), np.nan, np.float32))
        op.run(a, b, c, d, alpha=2.0 + repeat, beta=0.5)
        np.testing.assert_allclose(gpu.get(d), (2 + repeat) * product(A, B) + 0.5 * C, rtol=1e-5, atol=1e-5)


def test_a_source_is_not_read_when_beta_is_0(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B = random(M, K), random(K, N)
    a, b, d = gpu.put(A), gpu.put(B), gpu.put(np.zeros((M, N), np.float32))
    nowhere = DeviceMatrix(0x1000, (M, N), N, "f32")  # a read of it would be a fault
    poisoned = gpu.put(np.full((M, N), np.nan, np.float32))
    for source in (None, nowhere, poisoned, None, nowhere):
        op.run(a, b, source, d, beta=0.0)
        np.testing.assert_allclose(gpu.get(d), product(A, B), rtol=1e-5, atol=1e-5)


def test_calls_like_earlier_ones_bind_nothing_anew(
    compiled: dict[str, Path], gpu: EmulatedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B = random(M, K), random(K, N)
    a, b, d = gpu.put(A), gpu.put(B), gpu.put(np.zeros((M, N), np.float32))
    for _ in range(2):
        op.run(a, b, None, d, stream=5)
    other, e = gpu.put(2 * A), gpu.put(np.zeros((M, N), np.float32))
    monkeypatch.setattr(op.variants[1], "bind", None)
    before = dict(gpu.driver.calls)
    op.run(other, b, None, e, alpha=np.float32(-1), stream=9)
    changed = {name: count - before.get(name, 0) for name, count in gpu.driver.calls.items() if count != before[name]}
    assert changed == {"launch": 1, "is_capturing": 1}
    assert gpu.driver.launches[-1].stream == 9
    np.testing.assert_allclose(gpu.get(e), -2 * product(A, B), rtol=1e-5, atol=1e-5)


def test_a_repeated_call_is_held_against_addresses(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    a, b, d = gpu.put(random(M, K)), gpu.put(random(K, N)), gpu.put(np.zeros((M, N), np.float32))
    for _ in range(3):
        op.run(a, b, None, d)
    with pytest.raises(ArgumentError, match="D is written and shares memory with A"):
        op.run(a, b, None, DeviceMatrix(a.pointer + 64, (M, N), N, "f32"))
    with pytest.raises(ArgumentError, match="not a multiple of 4 bytes"):
        op.run(DeviceMatrix(a.pointer + 2, (M, K), K, "f32"), b, None, d)
    assert len(gpu.driver.launches) == 3


def test_a_source_may_be_the_result_itself(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B, C = random(M, K), random(K, N), random(M, N)
    a, b, c = map(gpu.put, (A, B, C))
    op.run(a, b, c, c, beta=1.0)
    np.testing.assert_allclose(gpu.get(c), product(A, B) + C, rtol=1e-5, atol=1e-5)
    shifted = DeviceMatrix(c.pointer + 4, (M, N - 1), N, "f32")
    narrow = DeviceMatrix(b.pointer, (K, N - 1), N, "f32")
    with pytest.raises(ArgumentError, match="D may be C itself"):
        op.run(a, narrow, shifted, DeviceMatrix(c.pointer, (M, N - 1), N, "f32"), beta=1.0)


def test_views_and_empty_products(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B = random(M, K), random(K, N)
    a, b, d = gpu.put(A), gpu.put(B), gpu.put(np.zeros((M, N), np.float32))
    part = DeviceMatrix(d.pointer + 4 * (2 * N + 1), (M - 4, N - 2), N, "f32")
    narrow = DeviceMatrix(a.pointer, (M - 4, K - 3), K, "f32")
    op.run(narrow, DeviceMatrix(b.pointer, (K - 3, N - 2), N, "f32"), None, part)
    expected = np.zeros((M, N))
    expected[2 : M - 2, 1 : N - 1] = product(A[: M - 4, : K - 3], B[: K - 3, : N - 2])
    np.testing.assert_allclose(gpu.get(d), expected, rtol=1e-5, atol=1e-5)
    launches = len(gpu.driver.launches)
    for _ in range(3):
        op.run(DeviceMatrix(a.pointer, (0, K), K, "f32"), b, None, DeviceMatrix(d.pointer, (0, N), N, "f32"))
    assert len(gpu.driver.launches) == launches


@pytest.mark.parametrize(("multiprocessors", "clusters"), [(132, 66), (114, 57), (78, 39), (7, 3)])
def test_a_persistent_kernel_has_a_block_for_each_multiprocessor_of_its_gpu(
    compiled: dict[str, Path], monkeypatch: pytest.MonkeyPatch, multiprocessors: int, clusters: int
) -> None:
    driver = RecordingDriver(gpus=(Gpu(multiprocessors=multiprocessors),))
    monkeypatch.setattr(cuda_bindings, "_driver", driver)
    op = Gemm.load(compiled["persistent"])
    a, b, d = (DeviceMatrix(0x10000000 * place, (4096, 4096), 4096, "f16") for place in (1, 2, 3))
    for _ in range(3):  # evaluated, planned, repeated
        op.run(a, replace(b, layout="column"), None, d)
    small = DeviceMatrix(a.pointer, (200, 64), 64, "f16")
    op.run(
        small,
        DeviceMatrix(b.pointer, (64, 72), 64, "f16", "column"),
        None,
        DeviceMatrix(d.pointer, (200, 72), 72, "f16"),
    )
    assert [math.prod(each.grid) for each in driver.launches] == [2 * clusters] * 3 + [2 * 2]


def test_a_sum_of_no_products_is_0(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    C = random(M, N)
    c, d = gpu.put(C), gpu.put(np.full((M, N), np.nan, np.float32))
    for _ in range(3):
        op.run(DeviceMatrix(0, (M, 0), 1, "f32"), DeviceMatrix(0, (0, N), N, "f32"), c, d, beta=2.0)
        np.testing.assert_array_equal(gpu.get(d), 2 * C)
    D = np.full((M, N), np.nan, np.float32)
    op.run(np.zeros((M, 0), np.float32), np.zeros((0, N), np.float32), None, D, device="cpu")
    assert not D.any()


def test_without_k_alignments_are_none_of_an_empty_matrix(compiled: dict[str, Path]) -> None:
    D = np.full((40, 24), np.nan, np.float16)
    empty = np.zeros((40, 0), np.float16), np.zeros((24, 0), np.float16).T
    Gemm.load(compiled["persistent"]).run(*empty, None, D, device="cpu")
    assert not D.any()


def test_of_an_empty_d_nothing_is_launched_or_compiled(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    ops = {name: Gemm.load(path) for name, path in compiled.items()}
    b, bias = gpu.put(random(64, N)), gpu.put(random(N))
    none, empty = DeviceMatrix(0, (0, 64), 64, "f32"), DeviceMatrix(0, (0, N), 1, "f32", "column")
    ops["split"].run(none, b, None, empty, bias=bias, sums=DeviceMatrix(0, (0,), 1, "f32"))
    ops["plain"].run(np.zeros((0, K), np.float32), random(K, N), None, np.zeros((0, N), np.float32))
    ops["plain"].run(np.zeros((0, K), np.float32), random(K, N), None, np.zeros((0, N), np.float32), device="cpu")
    assert not gpu.driver.launches and device_memory.allocated_bytes() == 0
    with pytest.raises(ArgumentError, match="'sums' would reduce a D of 33×0, which has no elements"):
        a, d = gpu.put(random(M, 64)), DeviceMatrix(0, (M, 0), M, "f32", "column")
        ops["split"].run(a, DeviceMatrix(0, (64, 0), 64, "f32"), None, d, bias=gpu.put([]), sums=gpu.put(random(M)))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"stream": "main"}, "a builtins.str is no CUDA stream"),
        ({"stream": -1}, "is no CUDA stream"),
        ({"alpha": "2"}, "argument 'alpha' has to be a number of type f32, not a str"),
        ({"alpha": np.ones(2)}, "argument 'alpha' has to be a number of type f32, not a numpy.ndarray"),
        ({"beta": np.ones(2)}, "argument 'beta' has to be a number of type f32, not a numpy.ndarray"),
        ({"beta": type("Tensor", (), {"is_cuda": True})()}, "argument 'beta' has to be a number of type f32"),
        ({"bta": 1.0}, "the epilogue has no operand 'bta'\nhint: did you mean beta?"),
        ({"slices": "3"}, "slices=3, and|slices='3'"),
        ({"emulator": 1}, "emulator= is for the CPU emulator"),
        ({"device": "cpu"}, "argument 'A' lives on cuda:0, and this call runs on the CPU emulator"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_calls_are_refused_also_when_the_form_is_known(
    compiled: dict[str, Path], gpu: EmulatedGpu, wrong: dict[str, Any], message: str, known: bool
) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    a, b, c, d = (gpu.put(random(*shape)) for shape in ((M, K), (K, N), (M, N), (M, N)))
    for _ in range(3 if known else 0):
        op.run(a, b, c, d, beta=1.0)
        op.run(a, b, c, d)
    launched = len(gpu.driver.launches)
    with pytest.raises(ArgumentError, match=message):
        op.run(a, b, c, d, **wrong)
    assert len(gpu.driver.launches) == launched


class Cupy:
    """What cupy's arrays offer of memory of the stand-in."""

    def __init__(self, matrix: DeviceMatrix) -> None:
        self.shape, self.dtype = matrix.shape, np.dtype(np.float32)
        self.strides = tuple(4 * step for step in matrix.stride())
        self.data = type("Pointer", (), {"ptr": matrix.pointer})()
        self.device = type("Device", (), {"id": 0})()
        self.__cuda_array_interface__ = {
            **{"shape": self.shape, "strides": self.strides, "typestr": "<f4"},
            **{"data": (matrix.pointer, False), "version": 3, "stream": 3},
        }


Cupy.__module__ = "cupy"


def test_cupys_arrays_and_the_streams_that_they_name(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B = random(M, K), random(K, N)
    a, b, d = gpu.put(A), gpu.put(B), gpu.put(np.zeros((M, N), np.float32))
    for repeat in range(4):
        op.run(Cupy(a), Cupy(b), None, Cupy(d), alpha=1 + repeat)
        np.testing.assert_allclose(gpu.get(d), (1 + repeat) * product(A, B), rtol=1e-5, atol=1e-5)
    assert not gpu.driver.orders
    for _ in range(3):
        op.run(Cupy(a), Cupy(b), None, Cupy(d), stream=5, sync=True)
    assert gpu.driver.orders == [(3, 5)] * 3 and gpu.cuda.streams[-1] == ("wait", 5)


class Other(Cupy):
    """An array of a library whose current stream nobody knows."""


Other.__module__ = "other"


def test_launches_wait_for_streams_that_matrices_of_arrays_name(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["array"]))
    A, B = random(M, K), random(K, N)
    there = {"A": gpu.put(A), "B": gpu.put(B), "D": gpu.put(np.zeros((M, N), np.float32))}
    for kind, stream, order in ((Cupy, 5, (3, 5)), (Other, 5, (3, 5)), (Other, None, (3, 0))):
        gpu.driver.orders.clear()
        for _ in range(4):
            op.run(**{name: [kind(each)] for name, each in there.items()}, stream=stream)
        assert gpu.driver.orders == [order] * 4, (kind, stream)
    gpu.driver.orders.clear()
    # What is kept may outlive the streams.
    op.run(**{name: op.matrices(name, [Cupy(each)]) for name, each in there.items()}, stream=5)
    assert (3, 5) not in gpu.driver.orders
    np.testing.assert_allclose(gpu.get(there["D"]), product(A, B), rtol=1e-5, atol=1e-5)


# Workspaces, vectors, and a D of columns, which is computed as the transposed product.


def run_split(op: Gemm, gpu: EmulatedGpu, **options: Any) -> None:
    A, B, bias = random(M, 64), random(64, N), random(N)
    d = gpu.put(np.full((M, N), np.nan, np.float32), layout="column")
    sums = gpu.put(np.full(M, np.nan, np.float32))
    op.run(gpu.put(A), gpu.put(B), None, d, bias=gpu.put(bias), sums=sums, **options)
    expected = np.maximum(product(A, B) + bias, 0)
    np.testing.assert_allclose(gpu.get(d), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(gpu.get(sums), expected.sum(axis=1), rtol=1e-4, atol=1e-4)


def test_a_workspace_is_taken_zeroed_and_freed_on_the_stream(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["split"]))
    for _ in range(3):
        del gpu.cuda.streams[:]
        run_split(op, gpu, slices=3, stream=5)
        launches = [("launch", 5)] * sum(name == "launch" for name, _ in gpu.cuda.streams)
        assert gpu.cuda.streams == [("take", 5), ("zero", 5), *launches, ("free", 5)]
        assert device_memory.allocated_bytes() == 0


def test_a_given_workspace_is_used_as_it_is(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["split"]))
    size = op.workspace_bytes(problem=(M, N, 64), slices=3)
    assert size > 0
    _, address = gpu.cuda.cuMemAlloc(size)
    workspace = DeviceMatrix(address, (size,), size, "u8")
    for _ in range(3):  # every call leaves it as the next one wants it
        run_split(op, gpu, slices=3, workspace=workspace)
    assert not any(name in ("take", "zero") for name, _ in gpu.cuda.streams)
    with pytest.raises(ArgumentError, match=f"the workspace has {size - 16:,} bytes, and this call needs {size:,}"):
        run_split(op, gpu, slices=3, workspace=DeviceMatrix(address, (size - 16,), size, "u8"))
    with pytest.raises(ArgumentError, match="the workspace lives on cpu, and this call runs on a CUDA device"):
        run_split(op, gpu, slices=3, workspace=np.zeros(size, np.uint8))

    class Spread(DeviceMatrix):
        def stride(self) -> tuple[int, ...]:
            return (2,)

    with pytest.raises(ArgumentError, match="has gaps"):
        run_split(op, gpu, slices=3, workspace=Spread(address, (size,), size, "u8"))


def test_matrices_anywhere_in_memory(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["array"]))
    A, B = [random(M, K, seed=each) for each in range(3)], [random(K, N, seed=each) for each in range(3)]
    a, b = [gpu.put(each) for each in A], [gpu.put(each) for each in B]
    for _ in range(3):
        d = [gpu.put(np.zeros((M, N), np.float32)) for _ in range(3)]
        op.run(a, b, None, d, stream=5)
        for index in range(3):
            np.testing.assert_allclose(gpu.get(d[index]), product(A[index], B[index]), rtol=1e-5, atol=1e-5)
    del gpu.cuda.streams[:]
    tables = op.matrices("A", a), op.matrices("B", b), op.matrices("D", d)
    assert ("wait", 5) not in gpu.cuda.streams  # only for its own copies
    op.run(tables[0], tables[1], None, tables[2], stream=5)
    orders = len(gpu.driver.orders)
    held = device_memory.allocated_bytes()
    del tables
    assert device_memory.allocated_bytes() < held and gpu.driver.orders[orders:] == [(5, 0)] * 3
    with pytest.raises(ArgumentError, match="its matrices differ"):
        op.run([a[0], b[0]], b[:2], None, d[:2])


def test_results_anywhere_in_memory_have_memory_of_their_own(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["array"]))
    a, b, d, square = ([gpu.put(random(*s)) for _ in range(2)] for s in ((M, K), (K, N), (M, N), (N, N)))
    for _ in range(3):
        op.run(a, [b[0], b[0]], None, d)  # what is read may be the same
    launched = len(gpu.driver.launches)
    for call, message in (
        ((a, b, None, [d[0], d[0]]), r"D\[1\] is D\[0\], and both are written"),
        ((d, square, None, d), r"D\[0\] is written and shares memory with A\[0\]"),
        ((op.matrices("A", d), op.matrices("B", square), None, op.matrices("D", d)), "with A"),
    ):
        with pytest.raises(ArgumentError, match=message):
            op.run(*call)
    assert len(gpu.driver.launches) == launched
    tables = [op.matrices(name, each) for name, each in zip("ABD", (a, b, d), strict=True)]
    for _ in range(3):
        op.run(*tables[:2], None, tables[2])
    launched = len(gpu.driver.launches)
    misaligned = [replace(each, pointer=each.pointer + 2) for each in a]
    for name, wrong, message in (
        ("A", misaligned, "is not a multiple of 4 bytes"),
        ("D", [d[0], d[0]], r"D\[1\] is D\[0\], and both are written"),
    ):
        with pytest.raises(ArgumentError, match=message):  # though the form is known
            op.run(**dict(zip("ABD", tables, strict=True)) | {name: op.matrices(name, wrong)})
    assert len(gpu.driver.launches) == launched
    # Columns of one matrix, whose rows lie between each other's.
    whole = gpu.put(np.zeros((M, 2 * N), np.float32))
    parts = [replace(whole, pointer=whole.pointer + 4 * N * each, shape=(M, N), leading=2 * N) for each in range(2)]
    op.run(a, b, None, parts)
    expected = np.concatenate([product(random(M, K), random(K, N))] * 2, axis=1)
    np.testing.assert_allclose(gpu.get(whole), expected, rtol=1e-5, atol=1e-5)


def test_a_source_anywhere_in_memory_may_be_the_result_at_its_place() -> None:
    variant = Gemm(**F32, c="f32:row:1", mode="array").variants[0]

    def table(*addresses: int, shape: tuple[int, int] = (M, N), leading: int = N) -> MatrixArray:
        return MatrixArray(
            Array("int64", (len(addresses),), (1,), 0x10, "cuda", 0),
            Array("float32", shape, (leading, 1), addresses[0], "cuda", 0),
            addresses,
        )

    rest = {"A": table(0x100000, 0x110000, shape=(M, K), leading=K), "D": table(0x200000, 0x300000)}
    variant.check_tables(rest | {"C": table(0x200000, 0x400000)})
    for wrong in (
        table(0x300000, 0x400000),
        table(0x200000, 0x200000),
        table(0x200000, 0x300000, leading=N + 1),
    ):
        with pytest.raises(ArgumentError, match=r"D\[.\] is written and shares memory with C"):
            variant.check_tables(rest | {"C": wrong})


def test_tables_of_lists_go_back_at_sync(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["array"]))
    lists = [[gpu.put(random(*shape)) for _ in range(5)] for shape in ((M, K), (K, N), (M, N))]
    a, b, d = lists
    for _ in range(2):
        op.run(a, b, None, d, stream=5)
        op.run(a, b, None, d, stream=5)  # the same tables
        assert device_memory.allocated_bytes() == 3 * 5 * 8
        op.sync()
        assert device_memory.allocated_bytes() == 0
    made = op.matrices("A", a)
    gpu.driver.capturing.add(5)
    with pytest.raises(ArgumentError, match="'B' is a list, and a CUDA graph does not keep the table") as caught:
        op.run(made, b, None, d, stream=5)
    assert 'op.matrices("B", matrices)' in str(caught.value)


def test_a_table_goes_back_though_its_stream_is_gone(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["array"]))
    lists = [[gpu.put(random(*shape))] for shape in ((M, K), (K, N), (M, N))]
    op.run(lists[0], lists[1], None, lists[2], stream=5)
    gpu.driver.fail["order"] = 400
    op.sync()
    assert device_memory.allocated_bytes() == 0


def test_nothing_is_taken_outside_of_a_capture(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    """The first call loads code in relaxed mode, the others launch: the recording driver refuses anything else."""
    op = gpu.know(Gemm.load(compiled["split"]))
    gpu.driver.capturing.add(5)
    for _ in range(3):
        run_split(op, gpu, slices=2, stream=5)
    assert {each.stream for each in gpu.driver.launches} == {5}


def test_arrays_of_the_wrong_device_are_refused(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    a, b, d = gpu.put(random(M, K)), gpu.put(random(K, N)), gpu.put(np.zeros((M, N), np.float32))
    with pytest.raises(ArgumentError, match="argument 'B' lives on cuda:1, and 'A' on cuda:0"):
        op.run(a, replace(b, ordinal=1), None, d)
    with pytest.raises(ArgumentError, match="no device is called 'gpu'"):
        op.run(a, b, None, d, device="gpu")
    assert not gpu.driver.launches


def test_torch_tensors_on_the_cpu_are_for_the_emulator(torch: Any, compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    with pytest.raises(ArgumentError, match="argument 'A' lives on the CPU") as caught:
        op.run(torch.zeros(M, K), torch.zeros(K, N), None, torch.zeros(M, N))
    assert 'device="cpu" runs the operation on the CPU emulator' in str(caught.value)
    assert not gpu.driver.launches


def test_threads_share_an_operation(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B = random(M, K), random(K, N)
    a, b = gpu.put(A), gpu.put(B)
    results = [gpu.put(np.zeros((M, N), np.float32)) for _ in range(4)]
    failures: list[BaseException] = []

    def work(index: int) -> None:
        try:
            for _ in range(3):
                op.run(a, b, None, results[index], alpha=1.0 + index, stream=5 + index)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(gpu.driver.launches) == 12
    parameters = {each.stream: each.parameters for each in gpu.driver.launches}
    assert len(set(parameters.values())) == 4
    assert all(each.parameters == parameters[each.stream] for each in gpu.driver.launches)


def test_results_between_the_rows_of_a_source_are_launched_again(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B, whole = random(M, K), random(K, N), gpu.put(random(M, 2 * N))
    C, a, b = gpu.get(whole)[:, :N], gpu.put(A), gpu.put(B)
    c, d = (replace(whole, pointer=whole.pointer + 4 * N * each, shape=(M, N)) for each in range(2))
    for alpha in (1.0, 2.0, 3.0):
        op.run(a, b, c, d, alpha=alpha, beta=1.0)
        expected = np.concatenate([C, alpha * product(A, B) + C], axis=1)
        np.testing.assert_allclose(gpu.get(whole), expected, rtol=1e-5, atol=1e-5)
    with pytest.raises(ArgumentError, match="D is written and shares memory with C"):
        op.run(a, b, c, replace(d, pointer=d.pointer - 4), beta=1.0)


def test_who_syncs_while_another_waits_waits_too(
    compiled: dict[str, Path], gpu: EmulatedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    a, b, d = gpu.put(random(M, K)), gpu.put(random(K, N)), gpu.put(np.zeros((M, N), np.float32))
    op.run(a, b, None, d, stream=5)
    waiting, done = threading.Event(), threading.Event()

    def wait(stream: int) -> tuple[int]:
        waiting.set()
        assert done.wait(5)
        return (0,)

    monkeypatch.setattr(gpu.cuda, "cuStreamSynchronize", wait)
    first, second = threading.Thread(target=op.sync), threading.Thread(target=op.sync)
    first.start()
    assert waiting.wait(5)
    second.start()
    second.join(0.05)
    assert second.is_alive()
    done.set()
    first.join()
    second.join()


# numpy.


def test_another_threads_sync_frees_nothing_that_a_call_is_given(
    compiled: dict[str, Path], gpu: EmulatedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B, S = random(M, K), random(K, N), random(N, N)
    D, E = np.zeros((M, N), np.float32), np.zeros((M, N), np.float32)
    op.run(A, B, None, D)
    calls = op._calls_of(1)
    other = threading.Thread(target=op.sync)
    launch = calls.launch

    def launched(*given: Any, **options: Any) -> None:
        other.start()
        other.join(0.05)
        launch(*given, **options)

    monkeypatch.setattr(calls, "launch", launched)
    op.run(D, S, None, E)
    other.join()
    op.sync()
    np.testing.assert_allclose(E, product(product(A, B), S), rtol=1e-4, atol=1e-4)
    assert device_memory.allocated_bytes() == 0


def test_a_call_that_fails_brings_nothing_back(
    compiled: dict[str, Path], gpu: EmulatedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    D = np.ones((M, N), np.float32)

    def fail(*given: Any, **options: Any) -> None:
        raise LaunchError("as a test wants it")

    monkeypatch.setattr(op._calls_of(1), "launch", fail)
    with pytest.raises(LaunchError, match="as a test wants it"):
        op.run(random(M, K), random(K, N), None, D)
    op.sync()
    assert (D == 1).all() and device_memory.allocated_bytes() == 0


def test_numpy_arrays_are_copied_in_and_come_back_at_sync(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B, C = random(M, K), random(K, N), random(M, N)
    D = np.zeros((M, N + 3), np.float32)[:, 1 : N + 1]
    op.run(A, B, C, D, beta=1.0)
    expected = product(A, B) + C
    A[:] = 0  # may be used again at once
    assert not D.any() and ("wait", 0) not in gpu.cuda.streams
    held = device_memory.allocated_bytes()
    D.base[:, 0] = 7  # what lies between the rows
    op.sync()
    np.testing.assert_allclose(D, expected, rtol=1e-5, atol=1e-5)
    assert (D.base[:, 0] == 7).all() and held > 0 and device_memory.allocated_bytes() == 0


def test_results_go_into_the_next_product_before_they_come_back(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B, S = random(M, K), random(K, N), random(N, N)
    D, E = np.zeros((M, N), np.float32), np.zeros((M, N), np.float32)
    op.run(A, B, None, D, stream=5)
    op.run(D, S, None, E, stream=6)
    assert (5, 6) in gpu.driver.orders and not D.any()
    with pytest.raises(ArgumentError, match=r"call sync\(\) first"):
        op.run(D[1:], S, None, E[1:])
    op.sync()
    np.testing.assert_allclose(E, product(product(A, B), S), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(D, product(A, B), rtol=1e-5, atol=1e-5)


def test_what_numpy_arrays_are_refused_for(compiled: dict[str, Path], gpu: EmulatedGpu) -> None:
    op = gpu.know(Gemm.load(compiled["plain"]))
    A, B, D = random(M, K), random(K, N), np.zeros((M, N), np.float32)
    D.flags.writeable = False
    with pytest.raises(ArgumentError, match="'D' is written, and its array is read-only"):
        op.run(A, B, None, D)
    with pytest.raises(ArgumentError, match="'A' is a numpy array, and 'D' is not"):
        op.run(A, B, None, gpu.put(D))
    square = np.zeros((N, N), np.float32)
    with pytest.raises(ArgumentError, match="D is written and shares memory with B"):
        op.run(random(N, N), square, None, square)
    assert device_memory.allocated_bytes() == 0 and not gpu.driver.launches


def test_without_a_gpu_numpy_arrays_run_on_the_emulator(compiled: dict[str, Path]) -> None:
    op = Gemm.load(compiled["plain"])
    A, B, D = random(M, K), random(K, N), np.zeros((M, N), np.float32)
    with pytest.raises((NoGpuError, LaunchError), match=r"CUDA|cuda") as caught:
        op.run(A, B, None, D)
    assert 'device="cpu"' in str(caught.value)
    with pytest.raises(ArgumentError, match="the shapes do not fit"):  # there is no GPU where they would
        op.run(A, B[1:], None, D)
    with pytest.raises(ArgumentError, match="D is written and shares memory with A"):
        op.run(D, random(N, N), None, D)
    op.run(A, B.T.copy().T.copy(), None, D, device="cpu")
    np.testing.assert_allclose(D, product(A, B), rtol=1e-5, atol=1e-5)
    found = op.emulate(A, B, random(M, N), D, beta=2.0, alpha=0.0)
    assert found.ok and found.blocks == found.total_blocks
    np.testing.assert_allclose(D, 2 * random(M, N), rtol=1e-6)


def test_matrices_anywhere_on_the_emulator(compiled: dict[str, Path]) -> None:
    from cutecc.emulator.options import EmulatorOptions

    op = Gemm.load(compiled["array"])
    A, B = [random(M, K, seed=each) for each in range(2)], [random(K, N, seed=each) for each in range(2)]
    D = [np.zeros((M, N), np.float32) for _ in range(2)]
    op.run(A, B, None, D, device="cpu", emulator=EmulatorOptions(check="bounds"))
    for a, b, d in zip(A, B, D, strict=True):
        np.testing.assert_allclose(d, product(a, b), rtol=1e-5, atol=1e-5)


def test_a_given_workspace_is_used_on_the_emulator_too(compiled: dict[str, Path]) -> None:
    op = Gemm.load(compiled["split"])
    A, B, bias = random(M, 64), random(64, N), random(N)
    expected = np.maximum(product(A, B) + bias, 0)
    size = op.workspace_bytes(problem=(M, N, 64), slices=3)
    memory = np.zeros(size + 16, np.uint8)
    start = -memory.ctypes.data % 16
    workspace = memory[start : start + size]

    def run(workspace: Any) -> Any:
        D, sums = np.full((N, M), np.nan, np.float32).T, np.empty(M, np.float32)
        op.run(A, B, None, D, bias=bias, sums=sums, slices=3, workspace=workspace, device="cpu")
        return D

    for _ in range(2):  # the first call leaves it as the second one wants it
        np.testing.assert_allclose(run(workspace), expected, rtol=1e-4, atol=1e-4)
    assert workspace.any()
    locked = workspace.view()
    locked.flags.writeable = False
    for wrong, message in (
        (workspace[:-16], f"the workspace has {size - 16:,} bytes, and this call needs {size:,}"),
        (memory[start + 1 :], "bytes, and this call needs|is not aligned to 16 bytes"),
        (np.zeros(2 * size, np.uint8)[::2], "has gaps"),
        (locked, "its array is read-only"),
        (DeviceMatrix(0x1000, (size,), size, "u8"), "the workspace lives on cuda:0, and this call runs on the CPU"),
        (3, "argument 'workspace' has to be an array, and an int is given"),
    ):
        with pytest.raises(ArgumentError, match=message):
            run(wrong)
