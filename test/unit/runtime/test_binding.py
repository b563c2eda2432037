"""From calls to leaves: how arguments are passed, what they become, and the fast way to read them again."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import TracedKernel
from gpu_arrays import CupyLike, DlpackArray, InterfaceArray, TorchLike
from hypothesis import given
from hypothesis import strategies as st

from cutecc.arguments.sizes import unify_sizes
from cutecc.arguments.specs import Dynamic
from cutecc.backend.host import translate
from cutecc.compilation.planning import uses_lir
from cutecc.errors import ArgumentError, RecordError
from cutecc.frontend.header import read_header
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import manager
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.record.compilation import Parameter, Signature
from cutecc.record.host_program import Block, HostArgument, HostProgram, Leaf
from cutecc.runtime.binding import Binder
from cutecc.runtime.streams import current_stream, read_stream

AXPBY = {
    "x": "f32[?N=1000]",
    "z": "f32[?N]",
    "tile": "const(128)",
    "factors": "(f32=0.5, f32=-2.0)",
    "shift": "i64=3",
    "negate": "bool=True",
    "bias": "none",
    "stream": "stream",
}
X, Z = TorchLike("float32", (8,), address=0x100), TorchLike("float32", (8,), address=0x200)
REQUIRED = (X, Z, (0.5, 2), -1, True)
LEAVES = [0x100, 8, 0x200, 8, 0.5, 2.0, (1 << 64) - 1, 1]


def signature(**specs: str) -> Signature:
    return Signature("f", [Parameter(name, spec) for name, spec in specs.items()])


def binder(**specs: str) -> Binder:
    return Binder(signature(**specs))


@pytest.fixture
def axpby() -> Binder:
    return binder(**AXPBY)


# The parameters.


def test_parameters_and_their_leaves(axpby: Binder) -> None:
    named = {
        each.name: (each.first_leaf, [f"{leaf.kind} {leaf.type}" for leaf in each.leaves]) for each in axpby.parameters
    }
    assert named == {
        "x": (0, ["pointer i64", "size i32"]),
        "z": (2, ["pointer i64", "size i32"]),
        "tile": (4, []),
        "factors[0]": (4, ["scalar f32"]),
        "factors[1]": (5, ["scalar f32"]),
        "shift": (6, ["scalar i64"]),
        "negate": (7, ["scalar i1"]),
        "bias": (8, []),
        "stream": (8, ["stream i64"]),
    }
    assert (axpby.pointer_leaves, axpby.stream_leaves, axpby.varying) == ((0, 2), (8,), (0, 2, 8))


@pytest.mark.parametrize(
    ("spec", "strides"),
    [
        ("f32[?,4]", "4 1"),
        ("f32[?,4,?]", "?{i64 div=4} ?{i64} 1"),
        ("f32[4,?,8]", "?{i64 div=8} 8 1"),
        ("f32[?,1]", "1 1"),
        ("f32[1,?,1]", "?{i64} 1 1"),
        ("f32[?{i64},?{div=4}] order=(0,1)", "1 ?{i64}"),
        ("f32[?{div=3},4,?{div=4},?{div=2}]", "?{i64 div=32} ?{i64 div=8} ?{i64 div=2} 1"),
        ("f32[]", ""),
    ],
)
def test_strides_of_compact_tensors_are_those_that_the_dsl_forms(spec: str, strides: str) -> None:
    (parameter,) = binder(a=spec).parameters
    assert " ".join(map(str, parameter.strides)) == strides
    assert len(parameter.leaves) == 1 + sum(
        isinstance(each, Dynamic) for each in (*parameter.sizes, *parameter.strides)
    )


def program(*arguments: list[Leaf]) -> HostProgram:
    types = [leaf.type for argument in arguments for leaf in argument]
    return HostProgram("f", [HostArgument(argument) for argument in arguments], types, [], Block())


def test_the_program_takes_what_the_signature_says() -> None:
    pointer, size = Leaf("pointer", "i64"), Leaf("size", "i32")
    taken = signature(a="f32[?]", n="i32")
    Binder(taken, program([pointer, size], [Leaf("scalar", "i32")]))
    with pytest.raises(RecordError, match=r"takes 1 arguments, and its signature has 2: 'a', 'n'"):
        Binder(taken, program([pointer, size]))
    with pytest.raises(RecordError) as error:
        Binder(taken, program([pointer], [Leaf("scalar", "i32")]))
    assert error.value.message == (
        "the host program of f takes (pointer i64) for 'a', and its spec f32[?] says (pointer i64, size i32)"
    )
    with pytest.raises(RecordError, match=r"takes \(pointer i64, size i64\) for 'a'"):
        Binder(taken, program([pointer, Leaf("size", "i64")], [Leaf("scalar", "i32")]))


@pytest.mark.parametrize("name", ["scalar_args", "persistent_tiles", "row_argmax", "pointer_args"])
def test_real_programs_take_what_their_specs_say(traced_kernels: dict[str, TracedKernel], name: str) -> None:
    kernel = traced_kernels[name]
    specs = unify_sizes(read_header(kernel.source).args)
    with fresh_context():
        module = parse(kernel.bytecode)
        pipeline = nvidia_pipeline(kernel.target, WheelOptions(), lir=uses_lir(module))
        manager.run(pipeline.until("core-to-llvm-prepare"), module)
        real = translate(module)
    bound = Binder(Signature(name, [Parameter(key, str(spec)) for key, spec in specs.items()]), real)
    assert [leaf for each in bound.parameters for leaf in each.leaves] == real.leaves


def test_parameters_that_no_caller_can_pass() -> None:
    with pytest.raises(ArgumentError, match="'op' is an object of class Epilogue, and no number stands for it"):
        binder(a="f32[?]", op="object<Epilogue>")
    with pytest.raises(ArgumentError, match="'a' is f32\\[\\?\\]@smem, and smem is memory of its own"):
        binder(a="f32[?]@smem")
    with pytest.raises(RecordError, match="the signature of f: 'a'"):
        binder(a="f32[?")


def test_objects_that_the_program_takes_nothing_for_are_constants() -> None:
    taken = Signature("f", [Parameter("mask", "object<CausalMask>"), Parameter("a", "f32[?]")])
    tensor = [Leaf("pointer", "i64"), Leaf("size", "i32")]
    assert Binder(taken, program(tensor)).bind((X,), {}).leaves == LEAVES[:2]
    with pytest.raises(ArgumentError, match="'mask' is an object of class CausalMask, and no number stands for it"):
        Binder(taken, program([Leaf("scalar", "i32")], tensor))


def test_constants_without_a_spelling_are_left_out() -> None:
    taken = Signature("f", [Parameter("a", "f32[?]"), Parameter("op", "object<function>", "cutlass.Constexpr")])
    assert Binder(taken).bind((X,), {}).leaves == LEAVES[:2]


# Calls.


@pytest.mark.parametrize(
    ("args", "kwargs", "stream"),
    [
        (REQUIRED, {}, None),
        ((*REQUIRED, None), {}, None),
        ((*REQUIRED, 77), {}, 77),
        ((*REQUIRED, None, 77), {}, 77),
        ((*REQUIRED, None, None), {}, None),
        (REQUIRED, {"stream": 77}, 77),
        (REQUIRED, {"stream": None, "bias": None}, None),
        (REQUIRED[:3], {"negate": True, "shift": -1}, None),
        (REQUIRED[:4], {"negate": True, "stream": 0}, 0),
        ((), dict(zip(("x", "z", "factors", "shift", "negate"), REQUIRED, strict=True)), None),
    ],
)
def test_ways_to_call(axpby: Binder, args: tuple[Any, ...], kwargs: dict[str, Any], stream: int | None) -> None:
    bound = axpby.bind(args, kwargs)
    assert bound.leaves == [*LEAVES, stream or 0]
    assert bound.stream == stream
    assert (bound.device, bound.library, bound.after) == (0, "torch", ())
    assert bound.key == (0, 8, 8, 0.5, 2.0, (1 << 64) - 1, 1)
    assert bound.values(axpby.varying) == (0x100, 0x200, stream or 0)


@pytest.mark.parametrize(
    ("args", "kwargs", "expected", "hint"),
    [
        (
            REQUIRED[:4],
            {},
            "f: missing argument 'negate'",
            "call it as f(x, z, factors, shift, negate, [bias], [stream])",
        ),
        ((), {"x": X, "z": Z}, "f: missing arguments 'factors', 'shift', 'negate'", None),
        (
            (*REQUIRED, 128, 1, 2),
            {},
            "f takes 7 arguments, and 8 are given in place",
            "compile-time constants are left out: 'tile' (128)",
        ),
        ((*REQUIRED, "x"), {}, "f takes 5 arguments, and 6 are given in place", None),
        (REQUIRED, {"tile": 128}, "'tile' is a compile-time constant, 128: leave it out", None),
        (
            REQUIRED,
            {"tile": 64},
            "'tile' is a compile-time constant: the kernel is compiled for 128, not 64",
            "compile it again for 64",
        ),
        (REQUIRED, {"tile": object}, "'tile' is a compile-time constant, 128: leave it out", None),
        (REQUIRED[:4], {"negat": True}, "f has no parameter 'negat'", "did you mean negate?"),
        (REQUIRED, {"x": X}, "f: argument 'x' is given twice, in its place and by name", None),
        ((*REQUIRED, None, 4), {"stream": 5}, "f: argument 'stream' is given twice, in its place and by name", None),
        ((*REQUIRED, None, 4, 6), {"stream": 5}, "f takes 6 arguments, and 8 are given in place", None),
        (
            (*REQUIRED, X, 5),
            {},
            "argument 'bias': the kernel was compiled without it",
            "compile again with an argument for 'bias'",
        ),
        (
            (X, Z, 0.5, 3, True),
            {},
            "argument 'factors' takes a tuple of 2, (f32=0.5, f32=-2.0), and a float is given",
            None,
        ),
        (
            (X, Z, (0.5,), 3, True),
            {},
            "argument 'factors' takes a tuple of 2, (f32=0.5, f32=-2.0), and 1 are given",
            None,
        ),
        (
            (X, Z, (0.5, "x"), 3, True),
            {},
            "argument 'factors[1]': a str, but the kernel takes f32: a number is needed",
            None,
        ),
    ],
)
def test_calls_that_are_wrong(
    axpby: Binder, args: tuple[Any, ...], kwargs: dict[str, Any], expected: str, hint: str | None
) -> None:
    with pytest.raises(ArgumentError) as error:
        axpby.bind(args, kwargs)
    assert error.value.message == expected
    assert hint is None or hint in error.value.hints


def test_a_stream_may_stand_anywhere() -> None:
    bound = binder(stream="stream", a="f32[?]", n="i32")
    for args in ((X, 3), (77, X, 3), (None, X, 3)):
        result = bound.bind(args)
        assert result.leaves == [result.stream or 0, 0x100, 8, 3]
    assert bound.bind((77, X, 3)).stream == 77
    assert bound.bind((X, 3), {"stream": 77}).leaves[0] == 77
    with pytest.raises(ArgumentError, match="missing argument 'n'"):
        bound.bind((X,))


def test_a_stream_parameter_of_another_name() -> None:
    bound = binder(a="f32[?]", s="stream")
    assert bound.bind([X], {"stream": 5}).leaves == [0x100, 8, 5]
    assert bound.bind([X, 6]).stream == 6
    assert bound.bind([X, 6], {"stream": 5}).leaves == [0x100, 8, 6]
    assert bound.bind([X, 6], {"stream": 5}).stream == 5


def test_a_stream_without_a_parameter() -> None:
    bound = binder(a="f32[?]").bind([X], {"stream": 0})
    assert (bound.leaves, bound.stream) == ([0x100, 8], 0)


def test_variadic_parameters_go_by_place_and_by_their_own_names() -> None:
    bound = Binder(
        Signature("f", [Parameter("xs[0]", "i32"), Parameter("xs[1]", "i32"), Parameter("options.width", "i32")])
    )
    assert bound.bind([1, 2, 3]).leaves == [1, 2, 3]
    assert bound.bind([1, 2], {"width": 3}).leaves == [1, 2, 3]


class Pair(NamedTuple):
    a: Any
    k: Any


def test_tuples_carry_their_constants() -> None:
    bound = binder(p="(f32[?], const(3), none, (i32,))")
    assert bound.bind([(X, 3, None, [5])]).leaves == [0x100, 8, 5]
    assert binder(p="(f32[?], const(3))").bind([Pair(X, 3)]).leaves == [0x100, 8]
    with pytest.raises(ArgumentError) as error:
        bound.bind([(X, 4, None, [5])])
    assert error.value.message == "argument 'p[1]' is a compile-time constant, 3, and 4 is given"


@pytest.mark.parametrize(
    ("spec", "value", "leaf"),
    [
        ("i32", -1, 0xFFFFFFFF),
        ("i8", -128, 0x80),
        ("u64", (1 << 64) - 1, (1 << 64) - 1),
        ("i32", np.int64(7), 7),
        ("i32", np.array(7), 7),
        ("i32", ctypes.c_int(-2), 0xFFFFFFFE),
        ("f32", 1, 1.0),
        ("f64", np.float32(0.5), 0.5),
        ("f16", math.inf, math.inf),
        ("f16", 65519.0, 65519.0),
        ("bool", False, 0),
        ("bool", 1, 1),
        ("bool", np.True_, 1),
        ("ptr<f16>", 0, 0),
        ("ptr<f16>", 1 << 63, 1 << 63),
        ("ptr<f32>", X, 0x100),
        ("ptr<f32>", ctypes.c_void_p(0x400), 0x400),
        ("ptr<f32>", ctypes.c_void_p(None), 0),
        ("ptr<f32>", ctypes.cast(0x400, ctypes.POINTER(ctypes.c_float)), 0x400),
        ("ptr<f32>", np.uint64(0x400), 0x400),
        ("ptr<f32>", SimpleNamespace(ptr=0x400), 0x400),
        ("ptr<f32>", type("CUdeviceptr", (), {"__int__": lambda self: 0x400})(), 0x400),
    ],
)
def test_numbers(spec: str, value: object, leaf: float) -> None:
    (found,) = binder(a=spec).bind([value]).leaves
    assert found == leaf
    assert type(found) is type(leaf)


def test_numbers_and_pointers_of_the_dsl() -> None:
    cutlass = pytest.importorskip("cutlass")
    pointer = pytest.importorskip("cutlass.cute.runtime").make_ptr(cutlass.Float16, 0x400)
    assert binder(p="ptr<f16>", n="i32", x="f32").bind([pointer, cutlass.Int32(-1), cutlass.Float32(0.5)]).leaves == [
        *(0x400, 0xFFFFFFFF, 0.5)
    ]


def test_pairs_of_narrow_floats() -> None:
    pairs = TorchLike("float4_e2m1fn_x2", (4, 8), address=0x100)
    assert binder(a="f4E2M1FN[?,?{div=16}]").bind([pairs]).leaves == [0x100, 4, 16, 16]
    assert binder(a="f4E2M1FNx2[?,?]").bind([pairs]).leaves == [0x100, 4, 8, 8]


def test_the_numbers_of_tf32_are_f32_in_memory() -> None:
    assert binder(a="tf32[?]").bind([X]).leaves == [0x100, 8]


def test_keys_tell_numbers_apart() -> None:
    bound = binder(a="f32")
    keys = [bound.bind([value]).key for value in (0.0, -0.0, 1, 1.0, math.nan, float("nan"), 2.0)]
    assert len(set(keys)) == 5
    assert keys[4] == keys[5]
    assert keys[2] == keys[3]


def test_keys_leave_out_addresses_and_streams_but_not_the_device(axpby: Binder) -> None:
    one = axpby.bind(REQUIRED).key
    moved = TorchLike("float32", (8,), address=0x900)
    assert axpby.bind((moved, *REQUIRED[1:]), {"stream": 9}).key == one
    other = [TorchLike("float32", (8,), device="cuda:1")] * 2
    assert axpby.bind((*other, *REQUIRED[2:])).key != one


# Streams.


def bindings_stream(name: str) -> object:
    return type(name, (), {"__int__": lambda self: 9})()


def numba_stream(handle: object) -> object:
    stream = type("Stream", (), {"handle": handle})()
    type(stream).__module__ = "numba.cuda.cudadrv.driver"
    return stream


def cupy_stream() -> object:
    stream = type("Stream", (), {"ptr": 9})()
    type(stream).__module__ = "cupy.cuda.stream"
    return stream


@pytest.mark.parametrize(
    ("value", "stream"),
    [
        (0, 0),
        (2, 2),
        (SimpleNamespace(cuda_stream=9), 9),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 9)), 9),
        (bindings_stream("CUstream"), 9),
        (bindings_stream("cudaStream_t"), 9),
        (cupy_stream(), 9),
        (numba_stream(ctypes.c_void_p(9)), 9),
        (numba_stream(ctypes.c_void_p(None)), 0),
        (numba_stream(bindings_stream("CUstream")), 9),
    ],
)
def test_streams_of_every_library(value: object, stream: int) -> None:
    assert read_stream(value) == stream


@pytest.mark.parametrize("value", [-1, 1 << 64, True, None, 1.5, "9", object()])
def test_what_is_no_stream(value: object) -> None:
    with pytest.raises(ArgumentError, match="is no CUDA stream"):
        read_stream(value)


def test_a_newer_stream_protocol() -> None:
    with pytest.raises(ArgumentError, match="version 1 of the __cuda_stream__ protocol"):
        read_stream(SimpleNamespace(__cuda_stream__=lambda: (1, 9)))


def test_the_current_stream_of_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "torch", SimpleNamespace(_C=SimpleNamespace(_cuda_getCurrentRawStream=lambda d: 100 + d))
    )
    cuda = SimpleNamespace(get_current_stream=lambda d: SimpleNamespace(ptr=200 + d))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    assert [current_stream(library, 1)() for library in ("torch", "cupy", None, "jax")] == [101, 201, 0, 0]
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(_C=SimpleNamespace()))
    monkeypatch.delitem(sys.modules, "cupy")
    assert [current_stream(library, 1)() for library in ("torch", "cupy")] == [0, 0]


def test_whose_current_stream_it_is() -> None:
    bound = binder(a="f32[?]", b="f32[?]")
    torch, cupy, other = X, CupyLike("f4", (8,)), InterfaceArray("f4", (8,))
    assert bound.bind([cupy, torch]).library == "torch"
    assert bound.bind([other, cupy]).library == "cupy"
    assert bound.bind([other, other]).library is None


def test_streams_that_arrays_name_are_waited_for() -> None:
    bound = binder(a="f32[?]", b="f32[?]")
    seven, legacy = InterfaceArray("f4", (8,), stream=7), InterfaceArray("f4", (8,), stream=1)
    assert bound.bind([seven, legacy]).after == (7,)
    assert bound.bind([seven, seven], {"stream": 7}).after == ()
    assert bound.bind([seven, legacy], {"stream": 9}).after == (7, 1)
    assert bound.bind([seven, legacy], {"stream": 0}).after == (7,)
    current = CupyLike("f4", (8,), stream=5)
    assert bound.bind([current, current]).after == ()
    assert bound.bind([current, X]).after == (5,)
    assert bound.bind([current, current], {"stream": 9}).after == (5,)


def test_dlpack_arrays_are_told_the_stream_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "torch", SimpleNamespace(_C=SimpleNamespace(_cuda_getCurrentRawStream=lambda d: 55))
    )
    bound = binder(a="f32[?]", b="f32[?]", s="stream")
    array = DlpackArray((8,))
    other = InterfaceArray("f4", (8,))
    bound.bind([array, other])
    bound.bind([array, X])
    bound.bind([array, other], {"stream": 9})
    bound.bind([array, other], {"stream": 0})
    assert array.streams == [1, 55, 9, 1]
    assert array.given_back == 4


# The reader, with torch's arrays on the CPU.


Case = tuple[Binder, Callable[[], list[Any]]]


def test_a_reader_reads_calls_like_the_first(torch: Any) -> None:
    bound = binder(a="f32[?M,?N] align=16", k="const(3)", b="f32[?M,?N]", c="f32[?,?]:(?{i64},1)", n="i32")
    args = [torch.zeros(4, 8), torch.zeros(4, 8), torch.zeros(5, 6), 3]
    read = bound.reader(args)
    assert read is not None
    key, values, stream = read(*args) or pytest.fail("not read")
    assert values == tuple(tensor.data_ptr() for tensor in args[:3])
    assert stream is None
    again = [torch.ones(4, 8), torch.ones(4, 8), torch.ones(5, 6), 3]
    found = read(*again)
    assert found is not None
    assert found[0] == key
    assert found[1] == tuple(tensor.data_ptr() for tensor in again[:3]) != values


def test_what_a_reader_leaves_to_bind(torch: Any) -> None:
    bound = binder(a="f32[?M,?N] align=16", b="f32[?M,?N]", n="i32", x="f32")
    a, b = torch.zeros(4, 8), torch.zeros(4, 8)
    read = bound.reader([a, b, 3, 0.5])
    assert read is not None
    key, *_ = read(a, b, 3, 0.5) or pytest.fail("not read")
    column_major = torch.zeros(8, 4).T
    for wrong in (
        [a.half(), b, 3, 0.5],
        [column_major, b, 3, 0.5],
        [torch.zeros(33)[1:].view(4, 8), b, 3, 0.5],  # 4 bytes behind an aligned address
        [a, torch.zeros(5, 8), 3, 0.5],
        [a, torch.zeros(32), 3, 0.5],
        [a, b, 3.0, 0.5],
        [a, b, True, 0.5],
        [a, b, 3, 1],
        [a, b, 3, math.nan],
        [a.numpy(), b, 3, 0.5],
        [None, b, 3, 0.5],
        [a.to_sparse(), b, 3, 0.5],
        [a, torch.zeros(4, 8, device="meta"), 3, 0.5],
    ):
        found = read(*wrong)
        assert found is None or found[0] != key
    assert len({read(a, b, n, x)[0] for n in (3, 4) for x in (0.0, -0.0, 0.5)} | {key}) == 6
    assert read(a, b, 3, math.nan) is None  # it would be another key each time
    with pytest.raises(TypeError):
        read(a, b)


def test_readers_of_every_order(torch: Any) -> None:
    bound = binder(a="f32[?,?] order=(0,1)", b="f4E2M1FN[?,?]")
    pairs = torch.zeros(4, 8, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    args = [torch.zeros(8, 4).T, pairs]
    bound.bind(args, place=None)
    read = bound.reader(args)
    assert read is not None
    key, values, _ = read(*args) or pytest.fail("not read")
    assert values == tuple(tensor.data_ptr() for tensor in args)
    assert read(torch.zeros(4, 8), pairs)[0] != key
    assert read(args[0], pairs.view(torch.uint8)) is None


def test_readers_of_other_forms(torch: Any) -> None:
    bound = binder(a="f32[?]", p="(ptr<f32>, (i32, bool))", q="ptr<f32> align=16", none="none", s="stream")
    a = torch.zeros(8)
    args, kwargs = [a, (a, (3, True))], {"q": 0x100, "s": 5}
    read = bound.reader(args, kwargs)
    assert read is not None
    key, values, stream = read(*args, **kwargs) or pytest.fail("not read")
    assert (values, stream) == ((a.data_ptr(), a.data_ptr(), 0x100, 5), 5)
    assert read(*args, q=0x108, s=5) is None
    assert read(*args, q=-16, s=5) is None
    assert read(*args, q=0x100, s=1 << 64) is None
    assert read(a, (a, (3,)), **kwargs) is None
    changed = read(a, (a, (3, False)), q=0x200, s=6)
    assert changed is not None
    assert changed[0] != key
    assert changed[1][2:] == (0x200, 6)
    assert bound.reader([a, (a, (3, True)), 0x100, None, None]) is not None


def test_an_extra_stream(torch: Any) -> None:
    bound, a = binder(a="f32[?]"), torch.zeros(8)
    read = bound.reader([a], {"stream": 5})
    assert read is not None
    assert read(a, stream=7) == (((8,), a.device), (a.data_ptr(),), 7)
    assert read(a, stream=None) is None


@pytest.mark.parametrize(
    "value", [X, CupyLike("f4", (8,)), InterfaceArray("f4", (8,)), DlpackArray((8,)), np.zeros(8, "f4")]
)
def test_arrays_that_only_bind_reads(value: object) -> None:
    read = binder(a="f32[?]").reader([value])
    assert read is None or read(value) is None


SPECS = (
    "f32[?M,?N]",
    "f32[?M,?N]:(?{i64},1)",
    "f32[?,?{div=2}] align=16",
    "f32[?,?] order=(0,1)",
    "f32[4,?]:(?,?)",
    "f32[?N,4]",
)


@given(st.lists(st.sampled_from(SPECS), min_size=1, max_size=3), st.data())
def test_equal_keys_of_a_reader_mean_the_same_to_bind(torch: Any, specs: list[str], data: st.DataObject) -> None:
    bound = binder(**dict(zip("abc", specs, strict=False)))
    memories = [*[torch.zeros(256)] * 5, torch.zeros(128, dtype=torch.complex64).conj().imag]

    def tensor() -> Any:
        memory = data.draw(st.sampled_from(memories))
        m, n = data.draw(st.sampled_from([0, 1, 2, 4])), data.draw(st.sampled_from([1, 2, 4]))
        strides = data.draw(st.sampled_from([(n, 1), (1, max(m, 1)), (8, 1), (5, 1), (8, 2), (0, 1)]))
        return memory.as_strided((m, n), strides, data.draw(st.sampled_from([0, 0, 0, 1, 4])))

    accepted: dict[Any, Any] = {}
    read = None
    calls = [[tensor() for _ in specs] for _ in range(6)]
    for args in [*calls, *calls]:
        try:
            expected = bound.bind(args, place=None)
        except ArgumentError:
            expected = None
        if expected is not None and read is None:
            read = bound.reader(args)
            assert read is not None
        found = read(*args) if read is not None else None
        if found is None:
            continue
        key, values, stream = found
        if key in accepted:
            assert expected is not None
            assert expected.key == accepted[key]
        if expected is not None:
            accepted[key] = expected.key
            assert (values, stream) == (expected.values(bound.varying), None)


def test_negations_that_torch_has_left_for_later_are_refused(torch: Any) -> None:
    x = torch.ones(4, 8, dtype=torch.complex64).conj().imag
    for spec in ("f32[?,?]:(?,?)", "ptr<f32>"):
        for checked in (True, False):
            with pytest.raises(ArgumentError, match="holds the negatives of its elements") as error:
                binder(a=spec).bind([x], checked=checked, place="cpu")
            assert error.value.hints == ["pass x.resolve_neg()"]
        binder(a=spec).check([x.resolve_neg()])


def test_readers_leave_it_to_bind_when_memory_is_gone_or_to_be_negated(torch: Any) -> None:
    for spec in ("f32[?,?]", "ptr<f32>"):
        x = torch.ones(4, 8)
        read = binder(a=spec).reader([x])
        assert read is not None and read(x) is not None
        assert read(torch._neg_view(x)) is None
        x.untyped_storage().resize_(0)
        assert x.data_ptr() == 0 and read(x) is None


@pytest.mark.parametrize("handle", [-1, 1 << 64])
def test_handles_that_are_no_streams_are_refused(handle: int) -> None:
    protocol = type("Protocol", (), {"__cuda_stream__": lambda self: (0, handle)})()
    for stream in (handle, SimpleNamespace(cuda_stream=handle), protocol):
        with pytest.raises(ArgumentError, match="is no CUDA stream"):
            binder(a="f32[?]").bind([X], {"stream": stream})


def test_objects_that_fail_to_give_a_number_are_refused() -> None:
    from decimal import Decimal

    with pytest.raises(ArgumentError, match=r"a decimal\.Decimal, but the kernel takes f32: a number is needed"):
        binder(a="f32").bind([Decimal("sNaN")])


def test_a_tensor_without_memory_is_no_number(torch: Any) -> None:
    with pytest.raises(ArgumentError, match="one number is needed"):
        binder(a="f32").bind([torch.empty((), device="meta")])
