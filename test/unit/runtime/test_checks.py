"""What a compiled kernel refuses, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_arrays import CupyLike, DlpackArray, InterfaceArray, TorchLike, row_major
from hypothesis import given
from hypothesis import strategies as st

from cutecc.arguments.arrays import Array
from cutecc.arguments.specs import Dynamic
from cutecc.errors import ArgumentError
from cutecc.record.compilation import Parameter, Signature
from cutecc.runtime.binding import Binder


def binder(*specs: str, **named: str) -> Binder:
    every = {**dict(zip("abcdefgh", specs, strict=False)), **named}
    return Binder(Signature("f", [Parameter(name, spec) for name, spec in every.items()]))


def message(bound: Binder, *args: Any, **options: Any) -> str:
    with pytest.raises(ArgumentError) as error:
        bound.bind(args, **options)
    return error.value.message


F32 = "float32"
HERE = np.zeros((4, 8), np.float32)


@pytest.mark.parametrize(
    ("spec", "array", "expected"),
    [
        (
            "f32[?M=8,?N{div=4}]",
            TorchLike("float16", (1000, 2044)),
            "argument 'a': f16[1000,2044] on cuda:0, but the kernel takes f32[?M,?N{div=4}]: "
            "its elements are f16, not f32",
        ),
        (
            "f32[?]",
            TorchLike("complex64", (8,)),
            "argument 'a': complex64[8] on cuda:0, but the kernel takes f32[?]: its elements are complex64, not f32",
        ),
        (
            "f32[?,?]",
            TorchLike(F32, (8,)),
            "argument 'a': f32[8] on cuda:0, but the kernel takes f32[?,?]: it has 1 mode, not 2",
        ),
        (
            "f32[128,?]",
            TorchLike(F32, (100, 8)),
            "argument 'a': f32[100,8] on cuda:0, but the kernel takes f32[128,?]: mode 0 has 100 elements, not 128",
        ),
        (
            "f32[?,?{div=4}]",
            TorchLike(F32, (8, 2042)),
            "argument 'a': f32[8,2042] on cuda:0, but the kernel takes f32[?,?{div=4}]: "
            "mode 1 has 2042 elements, not a multiple of 4",
        ),
        (
            "u8[?]",
            TorchLike("uint8", (1 << 31,)),
            "argument 'a': u8[2147483648] on cuda:0, but the kernel takes u8[?]: "
            "mode 0 has 2147483648 elements, more than 32 bits hold",
        ),
        (
            "f32[?,?]",
            TorchLike(F32, (8, 16), (20, 1)),
            "argument 'a': f32[8,16]:(20,1) on cuda:0, but the kernel takes f32[?,?]: "
            "its strides (20,1) are not compact: mode 0 has 20, a compact tensor of this shape 16",
        ),
        (
            "f32[?,?]",
            TorchLike(F32, (8, 16), (0, 1)),
            "argument 'a': f32[8,16]:(0,1) on cuda:0, but the kernel takes f32[?,?]: "
            "its strides (0,1) are not compact: mode 0 has 0, a compact tensor of this shape 16",
        ),
        (
            "f32[?,?] order=(0,1)",
            TorchLike(F32, (8, 16)),
            "argument 'a': f32[8,16] on cuda:0, but the kernel takes f32[?,?] order=(0,1): "
            "its strides (16,1) are not compact in this order: mode 0 has 16, a compact tensor of this shape 1",
        ),
        (
            "f32[?,?]:(?{i64},1)",
            TorchLike(F32, (8, 16), (32, 2)),
            "argument 'a': f32[8,16]:(32,2) on cuda:0, but the kernel takes f32[?,?]:(?{i64},1): "
            "mode 1 has stride 2, not 1",
        ),
        (
            "f32[?,?]:(?{i64 div=4},1)",
            TorchLike(F32, (8, 16), (18, 1)),
            "argument 'a': f32[8,16]:(18,1) on cuda:0, but the kernel takes f32[?,?]:(?{i64 div=4},1): "
            "mode 0 has stride 18, not a multiple of 4",
        ),
        (
            "f32[?,?]:(?,1)",
            TorchLike(F32, (8, 16), (1 << 32, 1)),
            "argument 'a': f32[8,16]:(4294967296,1) on cuda:0, but the kernel takes f32[?,?]:(?,1): "
            "mode 0 has stride 4294967296, more than 32 bits hold",
        ),
        (
            "f32[?]:(?)",
            InterfaceArray("f4", (8,), strides=(-4,)),
            "argument 'a': f32[8]:(-1) on cuda, but the kernel takes f32[?]:(?): "
            "mode 0 has stride -1, and the kernel takes none below 0",
        ),
        (
            "f32[?] align=16",
            TorchLike(F32, (8,), address=0x1008),
            "argument 'a': f32[8] on cuda:0, but the kernel takes f32[?] align=16: "
            "its address 0x1008 is not a multiple of 16 bytes",
        ),
        (
            "f32[?]",
            InterfaceArray("f4", (8,), 0x1002),
            "argument 'a': f32[8] on cuda, but the kernel takes f32[?]: "
            "its address 0x1002 is not a multiple of 4 bytes",
        ),
        (
            "f32[?]",
            TorchLike(F32, (8,), address=0),
            "argument 'a': f32[8] on cuda:0, but the kernel takes f32[?]: no memory is behind it",
        ),
        ("f32[?]", TorchLike(F32, (8,), device="cpu"), "argument 'a' lives on the CPU: move it with .cuda()"),
        ("f32[?,?]", HERE, "argument 'a' lives on the CPU: move it with .cuda()"),
        (
            "f32[?]",
            TorchLike(F32, (8,), device="meta"),
            "argument 'a' lives on meta, and the kernel runs on a CUDA device",
        ),
        ("f32[?]", InterfaceArray("f4", (8,), mask=HERE), "argument 'a': a masked array"),
        ("f32[?]", DlpackArray((8,), version=(9, 0)), "argument 'a': DLPack version 9.0; cutecc reads up to 1.x"),
        ("f32[?]", None, "argument 'a' is None, but the kernel takes f32[?]: an array is needed"),
        ("f32[?]", [1.0], "argument 'a' is a list, but the kernel takes f32[?]: an array is needed"),
        (
            "f32[?N,?N]",
            TorchLike(F32, (8, 9)),
            "argument 'a': f32[8,9] on cuda:0, but the kernel takes f32[?N,?N]: ?N is 8 and 9",
        ),
    ],
)
def test_tensors_that_are_refused(spec: str, array: object, expected: str) -> None:
    assert message(binder(spec), array) == expected


def test_named_sizes_agree_across_arguments() -> None:
    bound = binder("f32[?M,?K]", "f32[?N,?K]", "f32[?M,?N]")
    arrays = [TorchLike(F32, (1000, 64)), TorchLike(F32, (8, 64)), TorchLike(F32, (999, 8))]
    assert message(bound, *arrays) == (
        "argument 'c': f32[999,8] on cuda:0, but the kernel takes f32[?M,?N]: ?M is 1000 in 'a' and 999 in 'c'"
    )
    bound.bind([*arrays[:2], TorchLike(F32, (1000, 8))])


def test_named_strides_agree() -> None:
    bound = binder("f32[?,?]:(?LD{i64},1)", "f32[?,?]:(?LD{i64},1)")
    a, b = TorchLike(F32, (8, 16), (32, 1)), TorchLike(F32, (8, 16), (40, 1))
    assert message(bound, a, b).endswith("?LD is 32 in 'a' and 40 in 'b'")
    # A row has no distance to the next one, so the stride of the other rows stands for it.
    assert bound.bind([a, TorchLike(F32, (1, 16), (40, 1))]).leaves[7:] == [32]


def test_one_device() -> None:
    bound = binder("f32[?]", "f32[?]")
    assert message(bound, TorchLike(F32, (8,)), TorchLike(F32, (8,), device="cuda:1")) == (
        "argument 'b' lives on cuda:1, and 'a' on cuda:0: all arguments of a call live on one device"
    )
    assert bound.bind([InterfaceArray("f4", (8,)), TorchLike(F32, (8,), device="cuda:1")]).device == 1


def test_where_arrays_have_to_live() -> None:
    bound = binder("f32[?,?]", "f32[?]")
    on_gpu, here = TorchLike(F32, (8,)), HERE
    assert "lives on the CPU" in message(bound, here, on_gpu)
    assert message(bound, here, on_gpu, place="cpu") == (
        "argument 'b' lives on cuda:0, and this call runs on the CPU: move it there"
    )
    assert message(bound, here, on_gpu, place=None).startswith("argument 'b' lives on cuda:0, and 'a' on cpu: all")
    bound.check([here, np.zeros(8, np.float32)])
    bound.check([here, np.zeros(8, np.float32)], place="cpu")
    with pytest.raises(ArgumentError, match="lives on the CPU"):
        bound.check([here, np.zeros(8, np.float32)], place="cuda")


@pytest.mark.parametrize(
    ("spec", "array", "hint"),
    [
        (
            "f32[?,?]",
            TorchLike(F32, (8, 16), (20, 1)),
            "if the kernel only reads it, pass a compact copy: a.contiguous()",
        ),
        ("f32[?,?]", HERE.T, "if the kernel only reads it, pass a compact copy: numpy.ascontiguousarray(a)"),
        (
            "f32[?,?]",
            CupyLike("f4", (8, 16), strides=(4, 32)),
            "if the kernel only reads it, pass a compact copy: cupy.ascontiguousarray(a)",
        ),
        ("f32[?,?]", [[1.0, 2.0]], "make an array of it: torch.tensor(a, device='cuda'), for one"),
        ("f8E4M3FN[?]", TorchLike("uint8", (8,)), "bytes that hold f8E4M3FN numbers can be viewed as such"),
        ("f32[?,?]", HERE, "for numpy: torch.from_numpy(x).cuda()"),
    ],
)
def test_hints(spec: str, array: object, hint: str) -> None:
    with pytest.raises(ArgumentError) as error:
        binder(spec).bind([array], place="cuda" if array is HERE else None)
    assert any(each.startswith(hint) for each in error.value.hints)


@pytest.mark.parametrize(
    ("spec", "shape", "stride", "wider"),
    [
        ("f32[?,?]", (8, 16), (20, 1), "f32[?,?]:(?{i64},1)"),
        ("f32[?,?]", (8, 16), (1, 8), "f32[?,?]:(1,?{i64})"),
        ("f32[?,?]", (8, 16), (64, 2), "f32[?,?]:(?{i64},?{i64})"),
        ("f32[?,?]", (8, 16), (0, 1), "f32[?,?]:(0,1)"),
        ("f32[?M=8,?N{div=4}] align=16", (8, 16), (1, 8), "f32[?M,?N{div=4}]:(1,?{i64}) align=16"),
        ("f32[?,16] order=(0,1)", (8, 16), (16, 1), "f32[?,16]:(?{i64},1)"),
        ("tf32[?]", (8,), (3,), "tf32[?]:(?{i64})"),
    ],
)
def test_the_strides_to_compile_for_are_those_of_the_argument(
    spec: str, shape: tuple[int, ...], stride: tuple[int, ...], wider: str
) -> None:
    given = TorchLike(F32, shape, stride)
    with pytest.raises(ArgumentError) as error:
        binder(spec).bind([given])
    assert (
        error.value.hints[-1] == f"or compile for strides of its own: {wider}"[0 if len(error.value.hints) > 1 else 3 :]
    )
    binder(wider).bind([given])


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(-3, 12)), min_size=1, max_size=3), st.sampled_from([F32, "int8"])
)
def test_what_the_hint_says_to_compile_for_takes_the_argument(modes: list[tuple[int, int]], dtype: str) -> None:
    name = {"float32": "f32", "int8": "i8"}[dtype]
    array = TorchLike(dtype, tuple(size for size, _ in modes), tuple(step for _, step in modes))
    try:
        binder(f"{name}[{','.join('?' * len(modes))}]").bind([array])
    except ArgumentError as error:
        wider = [hint.partition("strides of its own: ")[2] for hint in error.hints if "strides of its own" in hint]
        assert len(wider) == (min(step for _, step in modes) >= 0)
        for spec in wider:
            binder(spec).bind([array])


def test_a_copy_of_an_output_is_a_trap() -> None:
    parameters = [Parameter(name, "f32[?,?]") for name in "ab"]
    bound = Binder(Signature("f", parameters), outputs=["b"])
    compact, transposed = TorchLike(F32, (8, 16)), TorchLike(F32, (8, 16), (1, 8))
    with pytest.raises(ArgumentError) as error:
        bound.bind([transposed, compact])
    assert error.value.hints[0] == "pass a compact copy: a.contiguous()"
    with pytest.raises(ArgumentError) as error:
        bound.bind([compact, transposed])
    assert error.value.hints == [
        "compile for strides of its own: f32[?,?]:(1,?{i64})",
        "the kernel writes 'b': the result would land in a compact copy, to be copied back",
    ]


@pytest.mark.parametrize(
    ("spec", "value", "found"),
    [
        ("f32[?]", 3, "argument 'a' is an int, but the kernel takes f32[?]: an array is needed"),
        ("f32[?]", [1.0], "argument 'a' is a list, but the kernel takes f32[?]: an array is needed"),
        ("f32", object(), "argument 'a': an object, but the kernel takes f32: a number is needed"),
    ],
)
def test_values_of_another_kind(spec: str, value: object, found: str) -> None:
    assert message(binder(spec), value) == found


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        ("i32", 1 << 31, "argument 'a': 2147483648, but the kernel takes i32: -2147483648 to 2147483647"),
        ("u8", -1, "argument 'a': -1, but the kernel takes u8: 0 to 255"),
        ("i64", 3.0, "argument 'a': 3.0, but the kernel takes i64: an integer is needed"),
        ("i32=5", np.float32(3), "argument 'a': 3.0, but the kernel takes i32: an integer is needed"),
        ("i32", True, "argument 'a': True, but the kernel takes i32: an integer is needed"),
        ("f16", 70000.0, "argument 'a': 70000.0, but the kernel takes f16: out of its range"),
        ("f32", "1.0", "argument 'a': a str, but the kernel takes f32: a number is needed"),
        ("f32", None, "argument 'a' is None, but the kernel takes f32: a number is needed"),
        ("bool", 2, "argument 'a': 2, but the kernel takes bool: True or False"),
        ("f32", np.zeros(3), "argument 'a': a numpy.ndarray, but the kernel takes f32: one number is needed"),
        (
            "f32",
            CupyLike("f4", ()),
            "argument 'a': a cupy.CupyLike, but the kernel takes f32: reading it would wait for the GPU",
        ),
        (
            "ptr<f16> align=16",
            0x1008,
            "argument 'a': 0x1008, but the kernel takes ptr<f16> align=16: "
            "its address 0x1008 is not a multiple of 16 bytes",
        ),
        ("ptr<f16>=8", -2, "argument 'a': -2, but the kernel takes ptr<f16>: an address is 0 to 2^64 - 1"),
        ("ptr<f16>", 2.0, "argument 'a': a float, but the kernel takes ptr<f16>: a pointer is needed"),
        ("ptr<f16>", None, "argument 'a': None, but the kernel takes ptr<f16>: a pointer is needed"),
        (
            "ptr<f16>",
            TorchLike(F32, (8,)),
            "argument 'a': f32[8] on cuda:0, but the kernel takes ptr<f16>: its elements are f32, not f16",
        ),
        ("ptr<f16>", TorchLike("float16", (8,), device="cpu"), "argument 'a' lives on the CPU: move it with .cuda()"),
        ("stream", "x", "argument 'a': a builtins.str is no CUDA stream"),
    ],
)
def test_numbers_that_are_refused(spec: str, value: object, expected: str) -> None:
    assert message(binder(spec), value) == expected


def test_a_number_longer_than_python_prints() -> None:
    expected = "argument 'a': an integer of 14617 bits, but the kernel takes f32: out of its range"
    assert message(binder("f32"), 10**4400) == expected


def test_a_number_on_the_gpu_is_not_read() -> None:
    class OnGpu:
        shape, is_cuda = (), True

        def item(self) -> float:
            raise AssertionError("waits for the GPU")

    assert message(binder("f32"), OnGpu()).endswith("reading it would wait for the GPU")


def test_a_stream_of_another_device() -> None:
    stream = type("Stream", (), {"cuda_stream": 5, "device_index": 1})()
    bound = binder("f32[?]")
    with pytest.raises(ArgumentError) as error:
        bound.bind([TorchLike(F32, (8,))], {"stream": stream})
    assert error.value.message == "the stream belongs to cuda:1, and argument 'a' lives on cuda:0"
    assert bound.bind([TorchLike(F32, (8,), device="cuda:1")], {"stream": stream}).stream == 5


def test_unchecked_refuses_only_what_cannot_be_passed() -> None:
    bound = binder("f32[?M,?{div=4}] align=16", "f32[?M]", "i32")
    args = [TorchLike("float16", (8, 7), (9, 1), 0x1002), TorchLike(F32, (9,), device="cpu"), 1 << 33]
    assert bound.bind(args, checked=False).leaves == [0x1002, 8, 7, 7, 0x10000, 9, 0]
    assert "it has 1 mode, not 2" in message(bound, args[1], args[1], 0, checked=False)
    assert "missing argument 'c'" in message(bound, *args[:2], checked=False)
    assert "an array is needed" in message(bound, 3, *args[1:], checked=False)


# Any array that conforms to a spec is taken, and every single departure from it is refused.


@st.composite
def conforming(draw: st.DrawFn) -> tuple[str, TorchLike, list[int]]:
    """A spec, an array that conforms to it, and the leaves that this makes."""
    rank = draw(st.integers(1, 4))
    shape, sizes, texts = [], [], []
    for _ in range(rank):
        divisibility, static = draw(st.sampled_from([1, 2, 4])), draw(st.booleans())
        size = divisibility * draw(st.integers(1, 6))
        shape.append(size)
        sizes += [] if static else [size]
        texts.append(str(size if static else Dynamic(divisibility=divisibility, bits=draw(st.sampled_from([32, 64])))))
    order = draw(st.permutations(range(rank)))
    strides, step = [0] * rank, 1
    padding = draw(st.sampled_from([1, 1, 2]))
    for mode in sorted(range(rank), key=lambda each: order[each]):
        strides[mode] = step
        step *= shape[mode] * padding
    if padding == 1 and draw(st.booleans()):
        dynamic = [strides[m] for m in range(rank) if any("?" in texts[n] for n in range(rank) if order[n] < order[m])]
        spec = f"f32[{','.join(texts)}] order=({','.join(map(str, order))})"
    else:
        static = [draw(st.booleans()) for _ in range(rank)]
        dynamic = [each for each, fixed in zip(strides, static, strict=True) if not fixed]
        steps = [str(each) if fixed else "?{i64}" for each, fixed in zip(strides, static, strict=True)]
        spec = f"f32[{','.join(texts)}]:({','.join(steps)})"
    align = draw(st.sampled_from([4, 16]))
    address = align * draw(st.integers(1, 1 << 40))
    array = TorchLike(F32, tuple(shape), tuple(strides), address)
    return f"{spec} align={align}", array, [address, *sizes, *dynamic]


@given(conforming())
def test_conforming_arrays_bind_to_their_leaves(case: tuple[str, TorchLike, list[int]]) -> None:
    spec, array, leaves = case
    bound = binder(spec).bind([array])
    assert bound.leaves == leaves
    assert bound.key == (0, *leaves[1:])
    assert binder(spec).bind([array], checked=False).leaves == leaves


@given(conforming(), st.sampled_from(["dtype", "rank", "size", "stride", "align", "device"]), st.data())
def test_every_departure_is_refused(case: tuple[str, TorchLike, list[int]], what: str, data: st.DataObject) -> None:
    spec, array, _ = case
    parameter = binder(spec).parameters[0]
    dtype, shape, stride, address, device = F32, list(array.shape), list(array.stride()), array.data_ptr(), "cuda:0"
    match what:
        case "dtype":
            dtype = data.draw(st.sampled_from(["float16", "int32", "float64"]))
        case "rank":
            shape, stride = [*shape, 1], [*stride, 1]
        case "size":
            picky = [m for m, size in enumerate(parameter.sizes) if size != Dynamic() and size != Dynamic(bits=64)]
            if not picky:
                return
            shape[data.draw(st.sampled_from(picky))] += 1
        case "stride":
            strict = parameter.compact is not None
            picky = [m for m, each in enumerate(parameter.strides) if strict or isinstance(each, int)]
            picky = [m for m in picky if shape[m] > 1]
            if not picky:
                return
            stride[data.draw(st.sampled_from(picky))] += 1
        case "align":
            address += data.draw(st.integers(1, 3))
        case _:
            device = "cpu"
    wrong = TorchLike(dtype, tuple(shape), tuple(stride), address, device)
    with pytest.raises(ArgumentError, match="argument 'a'"):
        binder(spec).bind([wrong])


@given(st.integers(1, 3), st.integers(0, 40), st.sampled_from([1, 4, 8]), st.booleans())
def test_strides_that_mean_nothing_still_keep_their_promise(m: int, n: int, div: int, rows_first: bool) -> None:
    shape = (1, n) if rows_first else (m, 0)
    array = TorchLike(F32, shape, (7, 1))
    *_, stride = binder(f"f32[?,?]:(?{{i64 div={div}}},1)").bind([array]).leaves
    assert stride % div == 0
    assert stride == (7 if div == 1 else -(-max(shape[1], 1) // div) * div)


def test_row_major_of_the_test_is_what_arrays_have() -> None:
    assert row_major((2, 3, 4)) == Array("f4", (2, 3, 4), (12, 4, 1), 0).stride
