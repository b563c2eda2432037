"""Operators inside of `through_cutecc`: what is replaced, for whom, and that it is put back."""

import asyncio
import importlib
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_cuda import FakeCuda

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="torch is not installed: make test-torch")

from cutecc.compilation.request import CompileOptions
from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import ArgumentError, LaunchError, NoGpuError, SpecError, UsageError
from cutecc.kernel import Kernel
from cutecc.operations.operators import (
    CompiledOperator,
    compile,
    gemm_arguments,
    hardware,
    tensor,
    through_cutecc,
    trace,
)
from cutecc.operations.operators.package import CuteDslOperator, HardwareInfo, TensorWrapper, cutlass, ops
from cutecc.operations.operators.session import current
from cutecc.runtime import cuda_bindings
from cutecc.target import Target

sys.path.append(str(Path(__file__).parents[2] / "runtime"))
from recording import Gpu, RecordingDriver

QUICK = CompileOptions(stop_after="cute-remove-static-args")
PLACES = [
    (ops.Operator, "compile"),
    (CuteDslOperator, "cute_compile"),
    (TensorWrapper, "__init__"),
    (HardwareInfo, "__init__"),
    (HardwareInfo, "get_max_active_clusters"),
    (HardwareInfo, "get_device_multiprocessor_count"),
]
ORIGINALS = [owner.__dict__[name] for owner, name in PLACES]


def functions() -> list[Any]:
    return [owner.__dict__[name] for owner, name in PLACES]


def product(m: int = 40, n: int = 48, k: int = 32) -> tuple[Any, Any, Any, Any]:
    """A, B, an output of NaN, and their arguments."""
    generator = np.random.default_rng(m)
    a, b = (generator.standard_normal(shape).astype("f2") for shape in ((m, k), (k, n)))
    out = np.full((m, n), np.nan, "f2")
    return a, b, out, gemm_arguments(a, b, out)


def close(out: Any, a: Any, b: Any) -> bool:
    return np.allclose(out, a.astype("f8") @ b.astype("f8"), rtol=2e-3, atol=2e-3)


@pytest.fixture(scope="module")
def operator() -> Any:
    args = gemm_arguments("f16[64,64]", "f16[64,64]", "f16[64,64]")
    return ops.get_operators(args, target_sm="80", providers=[ops.CuTeDSLProvider])[0]


@pytest.fixture(scope="module")
def hopper() -> Any:
    args = gemm_arguments("f16[64,64]", "f16[64,64]", "f16[64,64]")
    found = ops.get_operators(args, target_sm="90a", providers=[ops.CuTeDSLProvider])
    return next(each for each in found if "cluster2x1x1_tile64x64" in each.metadata.operator_name)


@pytest.fixture(scope="module")
def artifact(operator: Any) -> Any:
    """What the operator compiles to, for the emulator."""
    with through_cutecc(target="sm_80", device="cpu"):
        return operator.compile(product()[3])


def test_run_on_the_emulator(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import cutecc.driver

    traced: list[Any] = []
    compile = cutecc.driver.compile
    monkeypatch.setattr(cutecc.driver, "compile", lambda *args, **rest: traced.append(args) or compile(*args, **rest))
    a, b, out, args = product()
    other_a, other_b, other_out, other_args = product(72, 40, 24)
    with through_cutecc(target="sm_80", device="cpu"):
        operator.run(args)
        operator.run(other_args)
        out[...] = np.nan
        operator.run(args)
    assert close(out, a, b) and close(other_out, other_a, other_b)
    assert len(traced) == 1  # for all sizes
    assert functions() == ORIGINALS


def test_an_artifact_outlives_the_session(operator: Any, artifact: Any) -> None:
    a, b, out, args = product()
    assert isinstance(artifact.compiled_obj, CompiledOperator)
    assert artifact.compiled_for == ops.TargetSm("80")
    assert "mma.sync" in artifact.compiled_obj.kernel.ptx
    operator.run(args, compiled_artifact=artifact)
    assert close(out, a, b)
    # The session that runs it decides where.
    with through_cutecc(device="cuda"), pytest.raises((LaunchError, ArgumentError)):
        operator.run(args, compiled_artifact=artifact)


def test_numpy_arrays_are_arguments_inside(operator: Any, artifact: Any) -> None:
    a, b, out, _ = product()
    with pytest.raises(ValueError):
        ops.GemmArguments(a, b, out, cutlass.Float32)
    with through_cutecc(target="sm_80", device="cpu"):
        operator.run(ops.GemmArguments(a, b, out, cutlass.Float32), compiled_artifact=artifact)
    assert close(out, a, b)


def test_what_the_emulator_is_told(operator: Any, artifact: Any) -> None:
    _, _, out, args = product(200, 40, 32)
    with through_cutecc(device="cpu", emulator=EmulatorOptions(blocks=1)):
        operator.run(args, compiled_artifact=artifact)
    assert np.isnan(out).any() and not np.isnan(out).all()


def test_sessions_nest() -> None:
    assert current() is None
    with through_cutecc(target="sm_80"):
        outer = current()
        with through_cutecc(target="sm_90a"):
            assert current() is not outer
            assert functions() != ORIGINALS
        assert current() is outer
        with pytest.raises(KeyError), through_cutecc(target="sm_90a"):
            raise KeyError
        assert current() is outer
        assert functions() != ORIGINALS
    assert current() is None
    assert functions() == ORIGINALS


def test_other_threads_are_left_alone(operator: Any) -> None:
    seen: list[Any] = []
    entered, leave = threading.Event(), threading.Event()

    def elsewhere() -> None:
        seen.append(current())
        with pytest.raises(ValueError):  # as the package has it
            ops.GemmArguments(np.zeros((8, 8)), np.zeros((8, 8)), np.zeros((8, 8)), cutlass.Float64)
        with through_cutecc(target="sm_90a"):
            seen.append(current().target)
            entered.set()
            leave.wait(30)

    with through_cutecc(target="sm_80"):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        assert entered.wait(30)
        assert current().target == Target.parse("sm_80")
    # The other thread is still inside: its functions stay, and do not touch this one.
    assert functions() != ORIGINALS
    assert current() is None
    leave.set()
    thread.join()
    assert seen == [None, Target.parse("sm_90a")]
    assert functions() == ORIGINALS


def test_tasks_inherit_a_session() -> None:
    async def inner() -> Any:
        await asyncio.sleep(0)
        return current()

    async def outer() -> None:
        with through_cutecc(target="sm_80"):
            task = asyncio.create_task(inner())
            here = current()
        assert await task is here
        assert current() is None

    asyncio.run(outer())


def test_which_target(hopper: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    args = product()[3]
    with (
        through_cutecc(target="sm_80", options=QUICK),
        pytest.raises(UsageError, match="cannot be compiled for sm_80: it is for sm_90a"),
    ):
        hopper.compile(args)
    with through_cutecc(target="sm_80", options=QUICK):  # what the operator is given goes first
        assert hopper.compile(args, "90a").compiled_obj.kernel.compilation.target == "sm_90a"
    monkeypatch.delenv("CUTECC_TARGET", raising=False)
    monkeypatch.setattr("cutecc.target.native_targets", raise_no_gpu)
    with through_cutecc(), pytest.raises(NoGpuError) as caught:
        hopper.compile(args)
    assert "through_cutecc(target=" in caught.value.hints[0]
    with through_cutecc(device="cpu", options=QUICK):
        assert hopper.compile(args).compiled_for == ops.TargetSm("90a")
    monkeypatch.setenv("CUTECC_TARGET", "sm_80")
    with through_cutecc(device="cpu", options=QUICK), pytest.raises(UsageError, match="for sm_80"):
        hopper.compile(args)


def raise_no_gpu() -> Any:
    raise NoGpuError("no GPU")


def clusters(signature: Any) -> str:
    """The number of clusters that a kernel was compiled for."""
    return {each.name: each.spec for each in signature.parameters}["max_active_clusters"]


def test_the_target_decides_how_many_clusters_there_are(hopper: Any) -> None:
    args = product()[3]
    with through_cutecc(target="sm_90a", device="cpu", options=QUICK):
        assert clusters(hopper.compile(args).compiled_obj.kernel.signature) == "const(66)"
    with through_cutecc(target="sm_90a", multiprocessors=20, options=QUICK):
        assert clusters(hopper.compile(args).compiled_obj.kernel.signature) == "const(10)"
    assert hardware.active_clusters(132, 1) == 132
    assert hardware.active_clusters(132, 4) == 32  # 8 groups of 16 multiprocessors
    assert hardware.active_clusters(108, 16) == 6
    with pytest.raises(UsageError, match="a cluster of 64 blocks"):
        hardware.active_clusters(132, 64)


class NoContext:
    """What the DSL's queries find in a process without a context."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("CUDA error code=201(CUDA_ERROR_INVALID_CONTEXT)")


@pytest.fixture
def small_gpu(monkeypatch: pytest.MonkeyPatch) -> RecordingDriver:
    """A driver with a GPU of the target and 114 multiprocessors; this process has no context on it."""
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", FakeCuda())
    monkeypatch.setattr(importlib.import_module("cutlass.utils.hardware_info"), "driver", NoContext())
    driver = RecordingDriver(gpus=(Gpu((9, 0), multiprocessors=114),), starts_with_context=False)
    monkeypatch.setattr(cuda_bindings, "_driver", driver)
    return driver


def test_compiling_asks_no_gpu(hopper: Any, small_gpu: RecordingDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    args = product()[3]
    here = compile(hopper, args, target="sm_90a", options=QUICK)
    assert isinstance(here, Kernel) and clusters(here.compilation.signature) == "const(66)"
    traced = trace(hopper, args, target=Target.parse("sm_90a"))
    assert not small_gpu.calls
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    monkeypatch.setattr(cuda_bindings, "_driver", None)
    assert trace(hopper, args, target=Target.parse("sm_90a")).bytecode == traced.bytecode


def test_what_runs_here_fills_the_gpu_that_is_here(hopper: Any, small_gpu: RecordingDriver) -> None:
    args = product()[3]
    with through_cutecc(target="sm_90a", options=QUICK):
        assert clusters(hopper.compile(args).compiled_obj.kernel.signature) == "const(57)"
    with through_cutecc(target="sm_90a", device="cpu", options=QUICK):
        assert clusters(hopper.compile(args).compiled_obj.kernel.signature) == "const(66)"
    assert hardware.multiprocessors_here(Target.parse("sm_80")) == 114
    assert hardware.multiprocessors_here(Target.parse("sm_100a")) is None  # whose code does not run on it


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"target": "sm_91"}, "unknown target"), ({"device": "gpu"}, "no device is called 'gpu'")],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message), through_cutecc(**settings):
        pass
    assert functions() == ORIGINALS


# Tensors.


def test_tensors_of_specs() -> None:
    made = tensor("bf16[3,?M=8,16] order=(2,0,1)")
    assert (made.shape, made.stride, made.data_ptr) == ((3, 8, 16), (128, 1, 8), 0)
    assert made.dtype is cutlass.BFloat16
    with pytest.raises(ArgumentError, match="has no memory"):
        _ = made.runtime_tensor
    for spec, message in (("f16[?,8]", "leaves a size open"), ("f32", "is no tensor"), ("f16[4,4]:(8,2)", "strides")):
        with pytest.raises(SpecError, match=message):
            tensor(spec)
    with pytest.raises(ArgumentError, match="no array and no spec"):
        tensor(3.0)


def test_tensors_of_codes() -> None:
    codes = np.zeros((8, 16), "u2")
    made = tensor(codes.T, "bf16")
    assert (made.dtype, made.shape, made.stride) == (cutlass.BFloat16, (16, 8), (1, 16))
    assert made.data_ptr == codes.ctypes.data
    with pytest.raises(SpecError, match="cannot stand for bf16"):
        tensor(np.zeros((8, 8), "u1"), "bf16")


def test_shapes_of_no_product() -> None:
    with pytest.raises(ArgumentError, match="K dimension"):
        gemm_arguments("f16[8,16]", "f16[8,16]", "f16[8,16]")
    with pytest.raises(SpecError, match="no element type f17"):
        gemm_arguments("f16[8,8]", "f16[8,8]", "f16[8,8]", "f17")


def test_torch_tensors(torch: Any) -> None:
    a, b = torch.randn(40, 32, dtype=torch.float16), torch.randn(32, 48, dtype=torch.float16)
    out = torch.zeros(40, 48, dtype=torch.float16)
    args = ops.GemmArguments(a, b, out, torch.float32)
    first = ops.get_operators(args, target_sm="80", providers=[ops.CuTeDSLProvider])[0]
    with through_cutecc(target="sm_80", device="cpu"):
        first.run(args)
        meta = ops.GemmArguments(
            *(torch.empty(64, 64, dtype=torch.float16, device="meta") for _ in range(3)), torch.float32
        )
        assert first.compile(meta).compiled_obj is first.compile(args).compiled_obj
    assert close(out.numpy(), a.numpy(), b.numpy())
