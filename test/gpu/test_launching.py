"""Calling kernels with torch tensors and other arrays: pointers, streams, graphs, threads, devices, errors, leaks."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from kernels import ROOT, subject

import cutecc
from cutecc.errors import ArgumentError
from cutecc.kernel import Kernel
from cutecc.runtime.workspace import Workspace

ADD = ROOT / "examples" / "elementwise_add.py"
GEMM = ROOT / "examples" / "gemm.py"
COPY = ROOT / "test" / "kernels" / "tma_copy.py"
AFTER_SWITCH = 200
"""More calls than the launcher makes before it goes over to machine code."""
PATHS = ("machine code", "python")


def load(file: Path, tmp_path: Path) -> Kernel:
    """A kernel of its own, out of a bundle: nothing is shared with other tests.

    Where the DSL is not installed, `GPU_BUNDLES` names a folder that `make_bundles.py` has written.
    """
    if folder := os.environ.get("GPU_BUNDLES"):
        bundle = Path(folder) / f"{file.stem}.cutecc"
    else:
        with Workspace() as device:
            capability = device.compute_capability
        bundle = tmp_path / f"{file.stem}.cutecc"
        if not bundle.exists():
            subject(file, capability).kernel.save(bundle)
    kernel = cutecc.load(bundle)
    assert isinstance(kernel, Kernel)
    return kernel


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How launches are made: by the machine code that repeated calls get, or in Python."""
    if request.param == "python":
        monkeypatch.setenv("CUTECC_NATIVE", "0")
    return request.param


def add(kernel: Kernel, torch: Any, m: int = 64, n: int = 128, times: int = 1) -> None:
    """Add matrices in new memory each time, and check the sums."""
    kept = []
    for _ in range(times):
        a, b = torch.randn(m, n, device="cuda"), torch.randn(m, n, device="cuda")
        c = torch.full((m, n), float("nan"), device="cuda")
        kernel(a, b, c)
        kept.append((a, b, c))
    for a, b, c in kept:
        assert torch.equal(c, a + b)


def test_new_pointers_and_shapes_in_turn(path: str, torch: Any, tmp_path: Path) -> None:
    kernel = load(ADD, tmp_path)
    for _ in range(3):
        for m, n in ((64, 128), (1, 4), (333, 1020), (1000, 2044)):
            add(kernel, torch, m, n, times=AFTER_SWITCH // 8)


def test_tma_kernels_with_all_pointers_changed(path: str, torch: Any, tmp_path: Path) -> None:
    copy, gemm = load(COPY, tmp_path), load(GEMM, tmp_path)
    kept = []
    for number in range(AFTER_SWITCH):
        m, n, k = ((300, 404, 72), (64, 128, 8), (129, 264, 520))[number % 3]
        x, y = torch.randn(m, n, device="cuda"), torch.full((m, n), float("nan"), device="cuda")
        copy(x, y)
        a, b = (torch.randn(rows, k, device="cuda", dtype=torch.float16) for rows in (m, 128))
        c = torch.full((m, 128), float("nan"), device="cuda", dtype=torch.float16)
        gemm(a, b, c)
        kept.append((x, y, a, b, c))
    for x, y, a, b, c in kept:
        assert torch.equal(y, 2 * x)
        exact = a.double() @ b.double().T
        assert (c.double() - exact).norm() <= 1e-3 * exact.norm()


def test_it_follows_torchs_stream_and_any_it_is_given(path: str, torch: Any, tmp_path: Path) -> None:
    kernel = load(ADD, tmp_path)
    add(kernel, torch, times=AFTER_SWITCH)
    a, b = torch.randn(64, 128, device="cuda"), torch.randn(64, 128, device="cuda")
    c = torch.zeros(64, 128, device="cuda")
    stream, other = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    for launch in (
        lambda: kernel(a, b, c),
        lambda: kernel(a, b, c, stream=stream),
        lambda: kernel(a, b, c, stream=stream.cuda_stream),
        kernel.prepare(a, b, c),
        kernel.prepare(a, b, c, stream=stream),
    ):
        c.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            launch()
        # The launch waits behind the sleep, on its stream and on no other.
        with torch.cuda.stream(other):
            early = c.clone()
        other.synchronize()
        assert not early.any()
        stream.synchronize()
        assert torch.equal(c, a + b)


@pytest.mark.parametrize("warm", [False, True])
def test_cuda_graphs(path: str, warm: bool, torch: Any, tmp_path: Path) -> None:
    kernel = load(GEMM, tmp_path)
    a, b = (torch.randn(128, 64, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.zeros(128, 128, device="cuda", dtype=torch.float16)
    for _ in range(AFTER_SWITCH if warm else 0):
        kernel(a, b, c)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    second = torch.zeros(128, 128, device="cuda", dtype=torch.float16)
    c.zero_()
    with torch.cuda.graph(graph):
        kernel(a, b, c)
        kernel(b, a, second)
    assert not c.any()
    for _ in range(2):
        a.copy_(torch.randn(128, 64))
        graph.replay()
        exact = a.double() @ b.double().T
        assert (c.double() - exact).norm() <= 1e-3 * exact.norm()
        assert (second.double() - exact.T).norm() <= 1e-3 * exact.norm()


def test_many_threads(path: str, torch: Any, tmp_path: Path) -> None:
    kernel = load(ADD, tmp_path)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(40):
                    add(kernel, torch, 16 + number, 128, times=10)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_several_devices(path: str, torch: Any, tmp_path: Path) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("not run: this machine has one GPU")
    kernel = load(ADD, tmp_path)
    for number in range(AFTER_SWITCH):
        device = f"cuda:{number % 2}"
        a, b = torch.randn(64, 128, device=device), torch.randn(64, 128, device=device)
        c = torch.full((64, 128), float("nan"), device=device)
        kernel(a, b, c)
        assert torch.equal(c, a + b)
        assert torch.cuda.current_device() == 0
    with pytest.raises(ArgumentError, match="cuda:1"):
        kernel(a.to("cuda:0"), b.to("cuda:1"), c.to("cuda:0"))


def test_wrong_arguments_are_refused_before_the_launch(path: str, torch: Any, tmp_path: Path) -> None:
    kernel = load(ADD, tmp_path)
    add(kernel, torch, times=AFTER_SWITCH)
    a = torch.randn(64, 128, device="cuda")
    wide = torch.randn(64, 132, device="cuda")
    for arguments, message in (
        ((a.cpu(), a, a), "argument 'a' lives on the CPU"),
        ((a, a.half(), a), "argument 'b': f16"),
        ((a, a, a[:32]), "is 64 in 'a' and 32 in 'c'"),
        ((wide[:, 1:129], wide[:, :128], a), "argument 'a'"),
        ((a[:, :126], a[:, :126], a[:, :126]), "argument 'a'"),
        ((a[0], a[0], a[0]), "argument 'a'"),
        ((a, a), "missing argument 'c'"),
        ((a, a, a, a), "argument"),
    ):
        with pytest.raises(ArgumentError, match=message):
            kernel(*arguments)
    add(kernel, torch)


def test_other_libraries(torch: Any, tmp_path: Path) -> None:
    kernel = load(ADD, tmp_path)
    cupy = pytest.importorskip("cupy", reason="not run: cupy is not installed")
    a, b = (cupy.random.standard_normal((64, 128), dtype=cupy.float32) for _ in range(2))
    c = cupy.zeros_like(a)
    kernel(a, b, c)
    assert (c == a + b).all()
    with cupy.cuda.Stream() as stream:
        kernel(a, b, c)
        kernel(a, b, c, stream=stream)
        stream.synchronize()
    kernel(a, torch.as_tensor(b, device="cuda"), c)
    assert (c == a + b).all()


def test_a_thousand_launches_and_two_hundred_loads_leak_nothing(path: str, torch: Any, tmp_path: Path) -> None:
    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as status:
            return int(status.read().split()[1]) * 4096

    def free() -> int:
        torch.cuda.synchronize()
        gc.collect()
        return torch.cuda.mem_get_info()[0]

    kernel = load(ADD, tmp_path)
    a, b, c = (torch.randn(64, 128, device="cuda") for _ in range(3))

    def launch(times: int) -> None:
        for _ in range(times):
            kernel(a, b, c)

    def rounds(times: int) -> None:
        for _ in range(times):
            fresh = load(ADD, tmp_path)
            fresh(a, b, c)
            del fresh

    launch(AFTER_SWITCH)
    rounds(20)
    memory, device = resident(), free()
    launch(1000)
    assert free() == device
    assert resident() - memory < 1 << 20
    rounds(200)
    assert free() == device
    assert resident() - memory < 8 << 20
