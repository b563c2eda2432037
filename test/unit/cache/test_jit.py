"""`@cutecc.jit`: one kernel for each class of arguments, and what it is launched with."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.errors import LaunchError, NoGpuError, UsageError
from cutecc.frontend.kernel_file import find_callee
from cutecc.frontend.traced import TraceRequest
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.jit_function import JitFunction
from cutecc.kernel import Kernel

SOURCE = '''
import cuda.bindings.driver as cuda
import cutecc
import cutlass
import dataclasses
import jit_elsewhere as elsewhere
from cutlass import cute
from cutecc.compilation.request import CompileOptions

options = CompileOptions(pipeline="canonicalize", artifacts=())


@cute.kernel
def kernel(x: cute.Tensor, n: cutlass.Constexpr, s: cutlass.Float32):
    if cute.arch.thread_idx()[0] < x.shape[0]:
        x[0] = s.to(x.element_type)


@cutecc.jit(target="sm_80", options=options, pipeline="canonicalize")
@cute.jit
def scale(x: cute.Tensor, n: cutlass.Constexpr, s: cutlass.Float32 = 2.0, stream: cuda.CUstream = None):
    """Scale."""
    if x.shape[0] > 4:
        kernel(x, n, s).launch(grid=[1, 1, 1], block=[1, 1, 1], stream=stream)


@cutecc.jit
def plain(x: cute.Tensor):
    if x.shape[0] > 4:
        kernel(x, 1, cutlass.Float32(2.0)).launch(grid=[1, 1, 1], block=[1, 1, 1])


@cutecc.jit
@cute.jit
def both(x: cute.Tensor):
    if x.shape[0] > 4:
        kernel(x, 1, cutlass.Float32(2.0)).launch(grid=[1, 1, 1], block=[1, 1, 1])


class Fill:
    def __init__(self, value):
        self.value = value

    @cutecc.jit(target="sm_80", options=options, pipeline="canonicalize")
    @cute.jit
    def run(self, x: cute.Tensor):
        kernel(x, self.value, cutlass.Float32(2.0)).launch(grid=[1, 1, 1], block=[1, 1, 1])

    @classmethod
    @cutecc.jit(target="sm_80", options=options, pipeline="canonicalize")
    def ones(cls, x: cute.Tensor):
        kernel(x, 1, cutlass.Float32(2.0)).launch(grid=[1, 1, 1], block=[1, 1, 1])


@dataclasses.dataclass
class Settings:
    unroll: int


@cutecc.jit
def calls_others(x: cute.Tensor):
    both(x)
    elsewhere.plain(x)
    Fill(2).run(x)


class Slotted:
    __slots__ = ()

    @cutecc.jit
    @cute.jit
    def run(self, x: cute.Tensor):
        pass
'''


ELSEWHERE = """
import cutecc as cc
from cutlass import cute

@cute.kernel
def store(x: cute.Tensor):
    x[0] = x[1]

@cc.jit
def plain(x: cute.Tensor):
    if x.shape[0] > 4:
        store(x).launch(grid=[1, 1, 1], block=[1, 1, 1])
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    import importlib.util

    path = tmp_path_factory.mktemp("jit") / "jit_kernels.py"
    path.write_text(SOURCE)
    path.with_name("jit_elsewhere.py").write_text(ELSEWHERE)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("jit_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["jit_kernels"] = module
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(path.parent))
    del sys.modules["jit_kernels"], sys.modules["jit_elsewhere"]


@pytest.fixture
def scale(module: ModuleType) -> JitFunction:
    module.scale.cache_clear()
    return module.scale


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """The arguments of every compilation."""
    import cutecc.driver

    seen: list[tuple] = []
    real = cutecc.driver.compile

    def compile(*args, **kwargs):
        seen.append(args[1:])
        return real(*args, **kwargs)

    monkeypatch.setattr(cutecc.driver, "compile", compile)
    return seen


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Kernel, tuple, dict]]:
    """Every launch: there is no GPU here."""
    seen: list[tuple[Kernel, tuple, dict]] = []
    monkeypatch.setattr(
        Kernel, "__call__", lambda kernel, *args, **kwargs: seen.append((kernel, args, kwargs)), raising=False
    )
    return seen


def array(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Aligned to 16 bytes at least."""
    data = np.zeros(int(np.prod(shape)) * 8 + 64, np.uint8)
    start = -data.ctypes.data % 64
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return data[start : start + count].view(dtype).reshape(shape)


def test_one_kernel_for_all_sizes_numbers_and_streams(scale: JitFunction, compiles: list, launches: list) -> None:
    import cuda.bindings.driver as cuda

    x = array(8)
    scale(x, 1, 0.5)
    scale(x, 1, 0.5)
    scale(array(100), 1, 2.5)
    scale(array(9), 1, 1.0, cuda.CUstream(7))
    scale(array(9), 1, stream=cuda.CUstream(8))
    assert len(compiles) == 1
    assert len(scale.kernels) == 1
    assert len({id(kernel) for kernel, _, _ in launches}) == 1


def test_what_is_launched_with(scale: JitFunction, launches: list) -> None:
    """Constants are left out, defaults put in, and a stream goes where the function has it."""
    x = array(8)
    scale(x, 1, 0.5, 3)
    scale(n=1, x=x)
    scale(x, 1, stream=9)
    assert [args for _, args, _ in launches] == [(x, 0.5, 3), (x, 2.0, None), (x, 2.0, 9)]
    assert [kwargs for _, _, kwargs in launches] == [{}, {}, {}]


def test_a_stream_that_is_no_parameter(module: ModuleType, launches: list) -> None:
    fill = module.Fill(1)
    x = array(4)
    fill.run(x, stream=5)
    ((_, args, kwargs),) = launches
    assert args == (x,)
    assert kwargs == {"stream": 5}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((array(8), 1), (array(8), 2)),
        ((array(8), 1), (array(8), True)),
        ((array(8), 1), (array(8), 1.0)),
        ((array(8), 0.0), (array(8), -0.0)),
        ((array(8), (1, 2)), (array(8), (1, True))),
        ((array(8), 1), (array(8, dtype="float16"), 1)),
        ((array(8), 1), (array(8, 8), 1)),
        ((array(8), 1), (array(16)[::2], 1)),
        ((array(8), 1), (array(8)[1:], 1)),
        ((array(8, 8), 1), (array(8, 8).T, 1)),
    ],
)
def test_what_makes_another_kernel(scale: JitFunction, first: tuple, second: tuple) -> None:
    assert scale.compile(*first) is not scale.compile(*second)
    assert scale.compile(*first) is scale.compile(*first)


def test_signatures_hold_no_sizes_of_a_call(scale: JitFunction) -> None:
    kernel = scale.compile(array(8, 32), 1)
    assert kernel.compilation.signature is not None
    assert kernel.compilation.signature.parameters[0].spec == "f32[?,?]:(?{i64},1) align=16"


def test_specs_stand_for_arguments(scale: JitFunction) -> None:
    assert scale.compile("f32[?]:(1) align=16", 1) is scale.compile(array(8), 1)


def test_threads_compile_once(scale: JitFunction, compiles: list, launches: list) -> None:
    start = threading.Barrier(4)

    def call(number: int) -> None:
        start.wait()
        scale(array(8 + number), 1)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiles) == 1
    assert len({id(kernel) for kernel, _, _ in launches}) == 1
    assert len(launches) == 4


def test_a_failure_can_be_tried_again(scale: JitFunction, launches: list) -> None:
    with pytest.raises(cutecc.Error):
        scale(object(), 1)
    scale(array(8), 1)
    assert len(launches) == 1


def test_forgetting(scale: JitFunction, compiles: list) -> None:
    first = scale.compile(array(8), 1)
    scale.cache_clear()
    assert not scale.kernels
    assert scale.compile(array(8), 1) is not first
    assert len(compiles) == 2


def test_calls_remembered_are_bounded(scale: JitFunction, compiles: list, launches: list, monkeypatch) -> None:
    import cutecc.jit_function

    monkeypatch.setattr(cutecc.jit_function, "_MOST_REMEMBERED", 3)
    for size in range(1, 10):
        scale(array(size), 1)
    assert len(scale._calls) <= 3
    assert len(compiles) == 1


def test_methods_belong_to_their_objects(module: ModuleType) -> None:
    one, two = module.Fill(1), module.Fill(2)
    x = array(8)
    assert one.run is one.run
    assert one.run.compile(x) is one.run.compile(x)
    assert one.run.compile(x) is not two.run.compile(x)
    assert isinstance(module.Fill.run, JitFunction)
    with pytest.raises(UsageError, match="no room"):
        module.Slotted().run(x)


def test_a_copy_of_an_object_has_methods_of_its_own(module: ModuleType) -> None:
    fill = module.Fill(1)
    fill.run.compile(array(8))
    for each in (copy.copy(fill), copy.deepcopy(fill), pickle.loads(pickle.dumps(fill))):
        assert each.run.__wrapped__.__self__ is each
        assert each.run is each.run
        assert not each.run.kernels
    assert len(fill.run.kernels) == 1
    assert pickle.loads(pickle.dumps(module.plain)) is module.plain


def test_class_methods(module: ModuleType) -> None:
    kernel = module.Fill.ones.compile(array(8))
    assert module.Fill(3).ones.compile(array(8)) is kernel


def test_a_dataclass_is_a_constant_by_its_fields(module: ModuleType, scale: JitFunction) -> None:
    one = module.Settings(1)
    first = scale.compile(array(8), one)
    assert scale.compile(array(8), module.Settings(1)) is first
    one.unroll = 2
    assert scale.compile(array(8), one) is not first
    assert len(scale.kernels) == 2, "also where their specs are the same"


def test_called_in_a_trace_it_is_part_of_it(module: ModuleType) -> None:
    """Whether it is a method, has its own `@cute.jit`, or stands in another file that calls cutecc otherwise."""
    options = CompileOptions(artifacts=())
    traced = cutecc.trace(module.calls_others, "f32[?]", target="sm_80")
    with fresh_context():
        text = to_text(parse(traced.bytecode))
    kernel = cutecc.compile(module.calls_others, "f32[?]", target="sm_80", pipeline="canonicalize", options=options)
    assert [parameter.name for parameter in kernel.compilation.signature.parameters] == ["x"]
    assert text.count("cuda.launch_ex") == 3
    assert text.count("scf.if") >= 2
    assert not module.both.kernels


@pytest.mark.parametrize("name", ["plain", "both", "scale"])
def test_however_it_is_decorated(module: ModuleType, name: str) -> None:
    """The DSL rewrites the function's branches in each case; without that they could not be dynamic."""
    function = getattr(module, name)
    arguments = ["f32[?]", 1, "f32", "stream"] if name == "scale" else ["f32[?]"]
    options = CompileOptions(artifacts=())
    kernel = cutecc.compile(function, *arguments, target="sm_80", pipeline="canonicalize", options=options)
    assert kernel.compilation.name == name
    assert function.__name__ == name


def test_it_is_found_in_its_file(module: ModuleType) -> None:
    request = TraceRequest(str(Path(module.__file__ or "")), "plain")
    assert isinstance(find_callee(request.path, request.function), JitFunction)


def test_wrong_calls(scale: JitFunction) -> None:
    with pytest.raises(UsageError, match="missing argument 'n'"):
        scale(array(8))
    with pytest.raises(UsageError, match="unexpected keyword"):
        scale(array(8), 1, width=3)
    with pytest.raises(UsageError, match="too many"):
        scale(array(8), 1, 2.0, 0, 5)


def test_what_it_says_of_itself(module: ModuleType, scale: JitFunction) -> None:
    assert scale.__doc__ == "Scale."
    assert repr(scale) == "<cutecc.jit function scale, no kernel compiled yet>"
    scale.compile(array(8), 1)
    assert repr(scale) == "<cutecc.jit function scale, 1 kernel compiled>"
    assert repr(module.Fill(1).run) == "<cutecc.jit function Fill.run, no kernel compiled yet>"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "cutecc.jit takes a host function: '3' is of type int, without a @cute.jit __call__"),
        (lambda x: x, "cutecc.jit takes a function with a name and lines of its own, not a lambda"),
        (CompileOptions, "cutecc.jit takes a host function: 'CompileOptions' is a class"),
    ],
)
def test_what_is_no_host_function_is_refused_at_once(value: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        cutecc.jit(value)  # type: ignore[call-overload]
    assert caught.value.message == message


def test_a_constant_can_be_any_string(scale: JitFunction, launches: list) -> None:
    scale(array(8), "add")
    scale(array(8), "mul")
    scale(array(16), "add")
    kernels = [kernel for kernel, _, _ in launches]
    assert kernels[0] is kernels[2] and kernels[0] is not kernels[1]


def test_a_call_without_a_gpu(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> list[object]:
        raise NoGpuError("target 'native': this machine has no GPU")

    monkeypatch.setattr("cutecc.target.native_targets", none)
    monkeypatch.delenv("CUTECC_TARGET", raising=False)
    with pytest.raises(LaunchError) as caught:
        module.plain(array(8))
    assert caught.value.message == "plain cannot be called here: this machine has no GPU to run it on"
    assert 'cutecc.compile(plain, …, target="sm_90a")' in caught.value.hints[0]
    assert "--target" not in str(caught.value)
    with pytest.raises(NoGpuError):
        module.plain.compile(array(8))
    assert cutecc.compile(module.plain, array(8), target="sm_90a").cubin


def test_a_call_on_the_cpu(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled once, with the user's lines, for what the emulator models; no GPU is asked for."""
    monkeypatch.delenv("CUTECC_TARGET", raising=False)
    monkeypatch.setattr("cutecc.target.native_targets", pytest.fail)
    module.plain.cache_clear()
    x = array(8)
    module.plain(x, device="cpu")
    assert x.tolist() == [2.0] + [0.0] * 7
    y = array(16)
    found = module.plain.emulate(y, check="bounds", seed=3)
    assert y[0] == 2.0 and found.target == "sm_90a" and found.options.seed == 3
    (kernel,) = module.plain.kernels.values()
    assert "jit_kernels.py" in kernel.ptx and ".loc" in kernel.ptx
    with pytest.raises(UsageError, match="no device is called 'tpu'"):
        module.plain(x, device="tpu")
    with pytest.raises(UsageError, match="speed"):
        module.plain(x, device="cpu", speed=1)


def test_the_target_is_that_of_the_arrays(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import cutecc.jit_function
    from cutecc.target import Target

    class OnGpu:
        """An array in the memory of the second GPU."""

        dtype = np.dtype("float32")
        __cuda_array_interface__ = {"shape": (8,), "typestr": "<f4", "data": (4096, False), "version": 2}  # noqa: RUF012

    targets = [Target.parse("sm_80"), Target.parse("sm_90a")]
    monkeypatch.setattr(cutecc.jit_function, "_targets", lambda: targets)
    arrays = cutecc.jit_function.read_array(OnGpu())
    assert arrays is not None
    assert arrays.device == "cuda"
    found = cutecc.jit_function._target_of((1, "f32[?]", np.zeros(3), [OnGpu()]))
    assert found == targets[arrays.ordinal or 0]
    assert cutecc.jit_function._target_of((np.zeros(3),)) is None
