"""How operations are run on a GPU: slices, workspaces, arrays of matrices, other libraries, streams, graphs, torch."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from covering_set import cases
from device_products import check, fitting, numbers, prepare, reference, run

from cutecc.operations import DeviceMatrix, Gemm, allocated_bytes, torch_operator

SPLIT_K = [name for name, case in cases().items() if str(case.parts.get("mode", "")).startswith("split_k")]
BATCHES = [name for name, case in cases().items() if case.parts.get("mode") == "array"]
FAMILIES = ("simt_f32_tnt", "mma_f16_split_k_serial", "wgmma_f16_split_k_parallel", "wgmma_f16_linear_combination")
"""One of each, with a workspace where there is one."""
LAUNCHES = 200
"""Of the stress: more than are made before a launch is planned, and than a queue holds."""


@pytest.mark.parametrize("name", SPLIT_K)
def test_slices(name: str, load: Any, device: str) -> None:
    case, op = cases()[name], load(name)
    m, n, k = op.description.tile.threadblock
    sizes = fitting(op.description, m + 1, n + 3, 9 * k + 5)
    prepared = prepare(case, op, sizes, device)
    options = {"device": device} if device == "cpu" else {}
    for slices in (1, 2, 3, 10, 17) if device == "cuda" else (3,):
        found = run(prepared, 0.75, -1.5, slices=slices, **options)
        check(prepared, found, 0.75, -1.5)
        if device == "cuda":
            assert run(prepared, 0.75, -1.5, slices=slices) == found, f"{slices} slices: other bits the second time"


@pytest.mark.parametrize("name", SPLIT_K)
def test_a_workspace_that_is_given_is_used_and_left_as_it_has_to_be(
    name: str, load: Any, device: str, on_gpu: None, torch: Any
) -> None:
    case, op = cases()[name], load(name)
    m, n, k = op.description.tile.threadblock
    prepared = prepare(case, op, fitting(op.description, 2 * m + 1, n + 3, 7 * k + 5), device)
    size = op.workspace_bytes(**prepared.arguments(), **numbers(op.epilogue, 0.75, -1.5), slices=4)
    guard = 1024
    memory = torch.zeros(size + guard, device=device, dtype=torch.uint8)
    memory[size:] = 0xA5
    for _ in range(3):
        found = run(prepared, 0.75, -1.5, slices=4, workspace=memory[:size])
        check(prepared, found, 0.75, -1.5)
    assert bool((memory[size:] == 0xA5).all()), "written behind the workspace"


@pytest.mark.parametrize("name", BATCHES)
def test_tables_of_matrices_in_a_graph(name: str, load: Any, device: str, on_gpu: None, torch: Any) -> None:
    case, op = cases()[name], load(name)
    prepared = prepare(case, op, fitting(op.description, 70, 72, 80, 4), device)
    tables = {each: op.matrices(each, listed) for each, listed in prepared.arguments().items()}
    given = numbers(op.epilogue, 0.75, -1.5)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        op.run(**tables, **given)
    for each in prepared.results.values():
        each.put()
    graph.replay()
    torch.cuda.synchronize()
    check(prepared, {each: stored.fetch().tobytes() for each, stored in prepared.results.items()}, 0.75, -1.5)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_graph_captured_before_any_other_call(name: str, load: Any, device: str, on_gpu: None, torch: Any) -> None:
    case, op = cases()[name], load(name)
    sizes = fitting(op.description, 130, 72, 333)
    prepared = prepare(case, op, sizes, device, seed=1)
    given = numbers(op.epilogue, 0.75, -1.5)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        op.run(**prepared.arguments(), **given)
    for seed in (2, 3):
        other = prepare(case, op, sizes, device, seed)
        for name_, stored in prepared.stored.items():
            stored.codes[...] = other.stored[name_].codes
            stored.put()
        graph.replay()
        op.run(**other.arguments(), **given)  # beside it, with the same workspace or another
        torch.cuda.synchronize()
        found = {each: stored.fetch().tobytes() for each, stored in prepared.results.items()}
        for each in prepared.results:
            assert found[each] == other.stored[each].fetch().tobytes()
        check(prepared, found, 0.75, -1.5)


@pytest.mark.parametrize("name", FAMILIES)
def test_two_streams_and_two_threads(name: str, load: Any, device: str, on_gpu: None, torch: Any) -> None:
    """Each works on data of its own, many times, beside the other; nothing of one shows in the other."""
    case, op = cases()[name], load(name)
    prepared = [prepare(case, op, fitting(op.description, 200, 136, 500), device, seed) for seed in (1, 2)]
    wanted = [run(each, 0.75, -1.5) for each in prepared]
    for each, found in zip(prepared, wanted, strict=True):
        check(each, found, 0.75, -1.5)
    given = numbers(op.epilogue, 0.75, -1.5)
    streams = [torch.cuda.Stream() for _ in prepared]

    def same() -> None:
        torch.cuda.synchronize()
        for each, found in zip(prepared, wanted, strict=True):
            for result, stored in each.results.items():
                assert stored.fetch().tobytes() == found[result], f"{name}: other bits beside another stream"
                stored.put()
        torch.cuda.synchronize()

    for _ in range(LAUNCHES):
        for each, stream in zip(prepared, streams, strict=True):
            op.run(**each.arguments(), **given, stream=stream)
    same()
    failures: list[BaseException] = []

    def work(index: int) -> None:
        try:
            with torch.cuda.stream(streams[index]):
                for _ in range(LAUNCHES):
                    op.run(**prepared[index].arguments(), **given)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    same()


def test_it_follows_the_current_stream(load: Any, device: str, on_gpu: None, torch: Any) -> None:
    op: Gemm = load("wgmma_f16_linear_combination")
    A, B = torch.randn(256, 128, device=device).half(), torch.randn(256, 128, device=device).half().T
    D = torch.zeros(256, 256, device=device, dtype=torch.float16)
    stream = torch.cuda.Stream()
    # The first call loads the kernel, which takes longer than the GPU sleeps.
    op.run(A, B, None, D)
    for _ in range(3):
        D.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(100_000_000)
            op.run(A, B, None, D)
        early = D.clone()
        torch.cuda.current_stream().synchronize()
        assert not early.any()
        stream.synchronize()
        assert D.all()


def test_numpy_arrays_come_back_at_sync(load: Any, on_gpu: None) -> None:
    op: Gemm = load("simt_f32_aligned_1_tn")
    generator = np.random.default_rng(0)
    A, B = generator.standard_normal((70, 33)).astype("f4"), generator.standard_normal((51, 33)).astype("f4").T
    D, again = np.zeros((70, 51), "f4"), np.zeros((70, 51), "f4")
    op.run(A, B, None, D, alpha=0.75)
    op.run(A, B, None, again, alpha=0.75)
    op.sync()
    np.testing.assert_allclose(D, 0.75 * (A.astype("f8") @ B.astype("f8")), rtol=1e-4, atol=1e-5)
    assert (again == D).all()


def test_raw_pointers(load: Any, device: str, on_gpu: None, torch: Any) -> None:
    op: Gemm = load("wgmma_f16_linear_combination")
    A, B = torch.randn(200, 72, device=device).half(), torch.randn(136, 72, device=device).half()
    C, D = torch.randn(200, 136, device=device).half(), torch.empty(200, 136, device=device).half()
    wanted = torch.empty_like(D)
    op.run(A, B.T, C, wanted, alpha=0.75, beta=-1.5)
    op.run(
        DeviceMatrix(A.data_ptr(), (200, 72), 72, "f16"),
        DeviceMatrix(B.data_ptr(), (72, 136), 72, "f16", "column"),
        DeviceMatrix(C.data_ptr(), (200, 136), 136, "f16"),
        DeviceMatrix(D.data_ptr(), (200, 136), 136, "f16"),
        alpha=0.75,
        beta=-1.5,
        stream=torch.cuda.current_stream(),
        sync=True,
    )
    assert torch.equal(D, wanted)


def test_cupy_arrays(load: Any, on_gpu: None) -> None:
    cupy = pytest.importorskip("cupy", reason="not run: cupy is not installed")
    op: Gemm = load("simt_f32_aligned_1_tn")
    A, B = cupy.random.standard_normal((70, 33), dtype="f4"), cupy.random.standard_normal((51, 33), dtype="f4").T
    D = cupy.zeros((70, 51), "f4")
    for _ in range(3):
        D[...] = 0
        op.run(A, B, None, D)
        cupy.testing.assert_allclose(D, A @ B, rtol=1e-3, atol=1e-4)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        op.run(A, B, None, D, alpha=2.0)
        stream.synchronize()
        cupy.testing.assert_allclose(D, 2 * (A @ B), rtol=1e-3, atol=1e-4)


def test_the_memory_of_workspaces_comes_back(load: Any, device: str, on_gpu: None, torch: Any) -> None:
    case, op = cases()["wgmma_f16_split_k_parallel"], load("wgmma_f16_split_k_parallel")
    prepared = prepare(case, op, fitting(op.description, 300, 300, 2000), device)
    before = allocated_bytes()
    for _ in range(50):
        op.run(**prepared.arguments(), **numbers(op.epilogue, 0.75, -1.5))
    torch.cuda.synchronize()
    assert allocated_bytes() == before


@pytest.mark.parametrize("name", ["wgmma_f16_gelu", "wgmma_f16_row_sums", "mma_f16_split_k_serial"])
def test_an_operator_of_torch_under_compile(name: str, load: Any, device: str) -> None:
    torch = pytest.importorskip("torch", reason="not run: torch is not installed")
    case, op = cases()[name], load(name)
    registered = torch_operator(f"cutecc_gpu::{name}", op, emulate_on_cpu=device == "cpu")
    called = getattr(torch.ops.cutecc_gpu, name)
    compiled = torch.compile(
        lambda *args, **given: called(*args, **given),
        fullgraph=True,
        dynamic=True,
        backend="inductor" if device == "cuda" else "aot_eager",  # the first compiles C++ for a CPU
    )
    given = numbers(op.epilogue, 0.75, -1.5)
    outputs = [each.name for each in op.epilogue.outputs]
    kept: list[Any] = []
    for number, shape in enumerate(((64, 72, 80), (129, 136, 88), (256, 512, 512))[: 3 if device == "cuda" else 2]):
        prepared = prepare(case, op, fitting(op.description, *shape), device, seed=number)
        inputs = {each: stored.tensor for each, stored in prepared.stored.items() if each not in outputs}
        if "C" in inputs:
            inputs["C"] = inputs.pop("C")  # last, as in the schema
        kept = [*inputs.values()]
        found = compiled(*kept, **given)
        results = dict(zip(outputs, found if isinstance(found, tuple) else (found,), strict=True))
        expected, allowed = reference(prepared, 0.75, -1.5)
        for each, result in results.items():
            exact = expected[each].exact.reshape(result.shape)
            error = abs(result.double().cpu().numpy() - exact)
            assert (error <= allowed[each].reshape(result.shape)).all(), f"{name}: {each} at {shape}"
    # Its copies of inputs keep strides only of matrices without gaps.
    dense = [each.mT.contiguous().mT if each.dim() == 2 and each.stride(0) == 1 else each.contiguous() for each in kept]
    torch.library.opcheck(registered, tuple(dense), given, test_utils=("test_schema", "test_faketensor"))
