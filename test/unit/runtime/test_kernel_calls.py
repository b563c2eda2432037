"""Kernels as callers have them: compiled by the wheel, launched through the recording driver."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from gpu_arrays import TorchLike
from recording import Gpu, RecordingDriver
from scale_kernel import KERNEL, compilation

import cutecc
from cutecc.errors import ArgumentError, Error, LaunchError
from cutecc.kernel import Kernel, KernelSet
from cutecc.record import Parameter, Signature
from cutecc.runtime.driver import KernelAttribute
from cutecc.runtime.launcher import Launcher


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> RecordingDriver:
    """The machine's driver is a recording."""
    recording = RecordingDriver()
    monkeypatch.setattr("cutecc.runtime.cuda_bindings.cuda_driver", lambda: recording)
    return recording


def x(address: int = 0x10000, size: int = 64, device: str = "cuda:0") -> TorchLike:
    return TorchLike("float32", (size,), address=address, device=device)


def matrix(address: int, rows: int, columns: int) -> TorchLike:
    return TorchLike("float32", (rows, columns), address=address)


def test_a_compiled_kernel_launches(driver: RecordingDriver, traced_kernels: dict[str, Any]) -> None:
    """`elementwise_add`: grid and parameters computed here as its host function says."""
    spec = "f32[?M,?N{div=4}] align=16"
    signature = Signature("elementwise_add", [Parameter(name, spec) for name in "abc"])
    kernel = cutecc.compile_module(traced_kernels["elementwise_add"].bytecode, target="sm_90a", signature=signature)
    for base in (0x100000, 0x200000, 0x300000):
        for rows, columns in ((1000, 2044), (16, 128), (1, 4)):
            kernel(*(matrix(base + 0x10000 * index, rows, columns) for index in range(3)))
            launch = driver.launches[-1]
            assert launch.grid == (-(-rows // 16) * -(-columns // 128), 1, 1)
            assert launch.block == (128, 1, 1)
            pointers = [launch.parameters.find(struct.pack("<Q", base + 0x10000 * index)) for index in range(3)]
            assert -1 not in pointers and sorted(pointers) == pointers
    (name,) = {launch.kernel for launch in driver.launches}
    assert driver.libraries and list(driver.libraries.values()) == [kernel.cubin]
    assert (name, KernelAttribute.MAX_DYNAMIC_SHARED_BYTES, 0) in driver.attributes


def test_descriptors_follow_the_pointers(driver: RecordingDriver, traced_kernels: dict[str, Any]) -> None:
    """`tma_copy`: its descriptors hold the addresses of each call."""
    spec = "f32[?M,?N{div=4}] align=16"
    signature = Signature("tma_copy", [Parameter("x", spec), Parameter("y", spec)])
    kernel = cutecc.compile_module(traced_kernels["tma_copy"].bytecode, target="sm_90a", signature=signature)
    blocks: list[bytes] = []
    for number in range(6):
        addresses = [0x7000_0000 + 0x1000 * number, 0x7800_0000 + 0x1000 * number]
        kernel(*(matrix(address, 300, 404) for address in addresses))
        blocks.append(driver.launches[-1].parameters)
        for address in addresses:
            assert blocks[-1].count(struct.pack("<Q", address)) == 1
            blocks[-1] = blocks[-1].replace(struct.pack("<Q", address), bytes(8))
    assert len(set(blocks)) == 1, "nothing but addresses differs"


def test_calling_by_name_and_on_a_stream(driver: RecordingDriver) -> None:
    kernel = Kernel(compilation())
    kernel(factor=1.0, x=x(), stream=4)
    kernel(x(), 1.0, 5)
    assert [launch.stream for launch in driver.launches] == [4, 5]


def test_checking_needs_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("the driver is not needed")

    monkeypatch.setattr("cutecc.runtime.cuda_bindings.cuda_driver", refuse)
    kernel = Kernel(compilation())
    kernel.check(x(device="cpu"), 1.0)
    with pytest.raises(ArgumentError, match="f16"):
        kernel.check(TorchLike("float16", (64,), device="cpu"), 1.0)


def test_what_a_kernel_says_of_itself() -> None:
    kernel = Kernel(compilation())
    assert repr(kernel) == "<Kernel scale(x: f32[?N], factor: f32, stream: stream) for sm_90a>"
    assert kernel.signature is kernel.compilation.signature
    assert kernel.host_program is not None and [each.name for each in kernel.host_program.kernels] == [KERNEL]
    assert kernel == Kernel(kernel.compilation)


def test_preparing_and_unloading(driver: RecordingDriver) -> None:
    kernel = Kernel(compilation())
    kernel.unload()
    prepared = kernel.prepare(x(), 1.0)
    assert repr(prepared) == "<prepared launch of scale_kernel on cuda:0>"
    prepared()
    kernel.unload()
    assert not driver.libraries
    kernel(x(), 1.0)
    assert len(driver.launches) == 2


def test_a_kernel_that_has_been_called_can_be_pickled(driver: RecordingDriver) -> None:
    kernel = Kernel(compilation())
    kernel(x(), 1.0)
    twin = pickle.loads(pickle.dumps(kernel))
    twin.compilation.files = kernel.compilation.files
    twin(x(), 1.0)
    assert len(driver.launches) == 2 and twin.launcher is not kernel.launcher


def test_threads_that_make_the_first_call_share_a_launcher(
    driver: RecordingDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Launcher] = []
    begin = Launcher.__init__

    def slowly(self: Launcher, *args: Any, **settings: Any) -> None:
        begin(self, *args, **settings)
        made.append(self)
        time.sleep(0.01)

    monkeypatch.setattr(Launcher, "__init__", slowly)
    serve = Launcher.serve
    monkeypatch.setattr(Launcher, "serve", lambda self, kernel: (time.sleep(0.05), serve(self, kernel)))
    kernel = Kernel(compilation())
    threads = [threading.Thread(target=kernel, args=(x(), 1.0)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [kernel.launcher] and len(driver.launches) == 8
    assert len(driver.libraries) == 1


def test_calls_that_outlive_their_object(driver: RecordingDriver) -> None:
    call = Kernel(compilation()).__call__
    with pytest.raises(LaunchError, match="the kernel is gone"):
        call(x(), 1.0)
    prepared = Kernel(compilation()).prepare(x(), 1.0).__call__
    with pytest.raises(LaunchError, match="the prepared call is gone"):
        prepared()


def test_a_kernel_is_a_callable_like_others(driver: RecordingDriver) -> None:
    kernel = Kernel(compilation())
    assert str(inspect.signature(kernel)) == "(*args, **kwargs)"
    assert str(inspect.signature(Kernel)).startswith("(compilation: ")
    for other in (copy.copy(kernel), copy.deepcopy(kernel), dataclasses.replace(kernel)):
        other.compilation.files = kernel.compilation.files
        other(x(), 1.0)
        assert other.launcher is not kernel.launcher
    assert len(driver.launches) == 3


def test_prepared_calls_belong_to_one_process_and_kernel(driver: RecordingDriver) -> None:
    prepared = Kernel(compilation()).prepare(x(), 1.0)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="prepare the call again"):
            duplicate(prepared)


def test_a_set_that_has_been_called_fits_another_machine(driver: RecordingDriver) -> None:
    kernels = KernelSet({target: Kernel(compilation(target)) for target in ("sm_90a", "sm_100a")})
    kernels(x(), 1.0)
    copied = pickle.loads(pickle.dumps(kernels))
    for target, kernel in kernels.items():
        copied[target].compilation.files = kernel.compilation.files
    driver.gpus = (Gpu((10, 0)),)
    copied(x(), 1.0)
    assert len(driver.launches) == 2


def test_saving_and_loading(driver: RecordingDriver, tmp_path: Path) -> None:
    kernels = KernelSet({"sm_80": Kernel(compilation("sm_80", cubin=b"old")), "sm_90a": Kernel(compilation())})
    kernels.save(tmp_path / "scale.cutecc")
    loaded = cutecc.load(tmp_path / "scale.cutecc")
    assert list(loaded) == ["sm_80", "sm_90a"]
    loaded(x(0x500, 32), 3.0)
    assert list(driver.libraries.values()) == [b"cubin"]
    kernels["sm_80"].save(tmp_path / "one.cutecc")
    one = cutecc.load(tmp_path / "one.cutecc")
    assert isinstance(one, Kernel) and one.cubin == b"old"


def test_a_set_picks_by_the_gpu_of_the_arrays(driver: RecordingDriver) -> None:
    driver.gpus = (Gpu((9, 0)), Gpu((8, 6)), Gpu((12, 0)))
    kernels = KernelSet(
        {"sm_80": Kernel(compilation("sm_80", cubin=b"old")), "sm_90a": Kernel(compilation("sm_90a", cubin=b"new"))}
    )
    assert repr(kernels) == "<KernelSet scale for sm_80, sm_90a>"
    for _ in range(3):
        kernels(x(device="cuda:1"), 1.0)
        kernels(x(device="cuda:0"), 1.0)
    assert [launch.device for launch in driver.launches] == [1, 0] * 3
    assert sorted(driver.libraries.values()) == [b"new", b"old"]
    kernels.prepare(x(device="cuda:1"), 1.0)()
    kernels.check(x(), 1.0)
    with pytest.raises(LaunchError, match=r"compiled for sm_80, sm_90a, which does not run on cuda:2"):
        kernels(x(device="cuda:2"), 1.0)
    kernels.unload()
    assert not driver.libraries


def test_a_set_of_nothing() -> None:
    with pytest.raises(LaunchError, match="a set of no kernels"):
        KernelSet({})()


def test_a_kernel_for_another_gpu(driver: RecordingDriver) -> None:
    kernel = Kernel(compilation("sm_100a"))
    with pytest.raises(LaunchError, match=r"sm_100a, which does not run on cuda:0 \(Recording GPU 0, sm_90\)"):
        kernel(x(), 1.0)
    assert not driver.libraries


def test_two_hundred_rounds_of_loading_leave_nothing(driver: RecordingDriver) -> None:
    for _ in range(200):
        kernel = Kernel(compilation())
        kernel(x(), 1.0)
        kernel.unload()
    assert not driver.libraries
    for _ in range(200):
        Kernel(compilation())(x(), 1.0)
        assert len(driver.libraries) == 1


def test_a_machine_without_cuda_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings.driver", None)
    monkeypatch.setattr("cutecc.runtime.cuda_bindings._driver", None)
    with pytest.raises(LaunchError) as caught:
        Kernel(compilation())(x(), 1.0)
    assert "cuda.bindings cannot be imported" in caught.value.message
    assert caught.value.hints[0] == "pip install 'cuda-bindings>=13'"


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_without_a_gpu_a_call_says_so_first(dtype: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", Bindings(missing="libcuda.so.1 not found"))
    monkeypatch.setattr("cutecc.runtime.cuda_bindings._driver", None)
    kernels = KernelSet({target: Kernel(compilation(target)) for target in ("sm_80", "sm_90a")})
    array = TorchLike(dtype, (64,), device=device)
    for call in (kernels, kernels["sm_80"], kernels.prepare, kernels["sm_80"].prepare):
        with pytest.raises(LaunchError) as caught:
            call(array, 1.0)
        assert caught.value.message.startswith("this machine has no CUDA driver")
        assert "kernel.check(…)" in caught.value.hints[-1] and "kernel.save(FILE)" in caught.value.hints[-1]


def test_the_hint_for_an_artifact_that_was_not_made(traced_kernels: dict[str, Any], tmp_path: Path) -> None:
    """What it says works: compiled so, there is one, also in a bundle."""
    kernel = Kernel(compilation())
    with pytest.raises(Error) as caught:
        _ = kernel.llvm_ir
    first, second = caught.value.hints
    options = re.search(r"options=(cutecc\.CompileOptions\(.*\))$", first)
    assert options and "kernel.save(FILE, dumps=True)" in second
    module = traced_kernels["elementwise_add"].bytecode
    made = cutecc.compile_module(module, target="sm_90a", options=eval(options[1]))
    made.save(tmp_path / "k.cutecc", dumps=True)
    assert cutecc.load(tmp_path / "k.cutecc").llvm_ir == made.llvm_ir  # type: ignore[union-attr]
    KernelSet({"sm_90a": made}).save(tmp_path / "k.cutecc")
    with pytest.raises(Error, match="has no llvm-ir"):
        _ = cutecc.load(tmp_path / "k.cutecc").llvm_ir  # type: ignore[union-attr]
    with pytest.raises(Error) as caught:
        _ = Kernel(compilation(ptx=None)).ptx
    assert len(caught.value.hints) == 1


def test_a_set_is_not_a_kernel() -> None:
    kernels = KernelSet({target: Kernel(compilation(target)) for target in ("sm_80", "sm_90a")})
    with pytest.raises(KeyError) as caught:
        _ = kernels["sm_75"]
    assert isinstance(caught.value, cutecc.Error)
    assert str(caught.value) == "scale is not compiled for sm_75\nhint: it is for sm_80, sm_90a"
    assert "sm_75" not in kernels and kernels.get("sm_75") is None
    for name in ("ptx", "cubin", "compilation", "signature"):
        with pytest.raises(
            AttributeError, match=rf"a set has no '{name}'; each kernel of it has one: kernels\['sm_80'\]\.{name}"
        ):
            getattr(kernels, name)
    with pytest.raises(AttributeError, match="'KernelSet' object has no attribute 'nothing'"):
        _ = kernels.nothing
    with pytest.raises(AttributeError):
        _ = KernelSet({}).ptx


class Bindings:
    """As much of `cuda.bindings.driver` as is asked before there is a driver."""

    class CUresult(int):
        pass

    def __init__(self, status: int = 0, version: int = 13000, missing: str = "") -> None:
        self.status, self.version, self.missing = status, version, missing

    def cuInit(self, _flags: int) -> tuple[int]:
        if self.missing:
            raise RuntimeError(self.missing)
        return (self.status,)

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return 0, self.version

    def cuGetErrorName(self, result: int) -> tuple[int, bytes]:
        return 0, {100: b"CUDA_ERROR_NO_DEVICE"}[result]

    def cuGetErrorString(self, _result: int) -> tuple[int, bytes]:
        return 0, b"no CUDA-capable device is detected"


@pytest.mark.parametrize(
    ("bindings", "message", "hint"),
    [
        (Bindings(missing="libcuda.so.1 not found"), "this machine has no CUDA driver", "install NVIDIA's driver"),
        (Bindings(version=11080), "the CUDA driver is for CUDA 11.8; launching needs one for 12.0", "update"),
        (
            Bindings(status=100),
            "the CUDA driver does not start: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected",
            "CUDA_VISIBLE_DEVICES",
        ),
    ],
)
def test_a_driver_that_cannot_be_used(
    bindings: Bindings, message: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings.driver", bindings)
    monkeypatch.setattr("cutecc.runtime.cuda_bindings._driver", None)
    with pytest.raises(Error) as caught:
        Launcher(compilation()).call(x(), 1.0)
    assert message in caught.value.message and hint in caught.value.hints[0]
