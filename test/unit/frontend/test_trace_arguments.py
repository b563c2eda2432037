"""Arguments of every kind, as the traced module has them."""

import re
from typing import Any

import cutlass
import cutlass.cute as cute
import host_samples
import numpy as np
import pytest
from cutlass._mlir import ir
from cutlass.cute.runtime import from_dlpack, make_fake_tensor

from cutecc.errors import SpecError, UsageError
from cutecc.frontend.binding import bind_specs
from cutecc.frontend.callee import Callee
from cutecc.frontend.trace import trace
from cutecc.frontend.traced import TracedModule
from cutecc.target import Target

SM80 = Target.parse("sm_80")


def parameters(traced: TracedModule) -> list[str]:
    """The types of the host function's parameters."""
    with ir.Context():
        text = ir.Module.parse(traced.bytecode).operation.get_asm(use_local_scope=True)
    match = re.search(r"func\.func @\w+\((.*)\) -> i32", text)
    assert match is not None
    return [type_text.removeprefix(": ") for type_text in re.findall(r"%arg\d+(: .*?)(?=, %arg|$)", match[1])]


def traced(function: Any, *args: Any, **kwargs: Any) -> TracedModule:
    return trace(function, *args, target=SM80, **kwargs)


def signature(module: TracedModule) -> dict[str, str]:
    return {parameter.name: parameter.spec for parameter in module.signature.parameters}


@pytest.mark.parametrize(
    ("spec", "tensor_type"),
    [
        ("f32[?]", '!cute.memref<f32, gmem, "(?):(1)">'),
        ("f32[?M=100,?N{div=4}] align=16", '!cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">'),
        ("f32[?,?{div=4}] order=(0,1)", '!cute.memref<f32, gmem, "(?,?{div=4}):(1,?{i64})">'),
        ("f16[4,3,2] order=(1,2,0)", '!cute.memref<f16, gmem, "(4,3,2):(2,8,1)">'),
        ("f16[?,?{div=8}]:(?{div=8},1)@smem", '!cute.memref<f16, smem, "(?,?{div=8}):(?{div=8},1)">'),
        ("u8[4]:(0)@generic align=8", '!cute.memref<i8, generic, align<8>, "(4):(0)">'),
        ("bool[?]", '!cute.memref<i8, gmem, "(?):(1)">'),
        ("f32[?{i64}]", '!cute.memref<f32, gmem, "(?{i64}):(1)">'),
        ("f32[]", '!cute.memref<f32, gmem, "():()">'),
        ("f8E4M3FN[?]", '!cute.memref<f8E4M3FN, gmem, "(?):(1)">'),
        ("f6E2M3FN[?] align=16", '!cute.memref<f6E2M3FN, gmem, align<16>, "(?):(1)">'),
        # The DSL traces these, but cannot describe them in the metadata of its artifact.
        ("i128[?]", '!cute.memref<i128, gmem, "(?):(1)">'),
        ("f8E4M3[?]", '!cute.memref<f8E4M3, gmem, "(?):(1)">'),
    ],
)
def test_tensor_specs(spec: str, tensor_type: str) -> None:
    assert parameters(traced(host_samples.any_number, spec)) == [tensor_type]


def test_every_kind_of_argument() -> None:
    module = traced(
        host_samples.everything,
        "f32[?N=64]",
        n="i32=3",
        factor=0.5,
        mode="const(('relu', f16))",
        pair="(f32[?N], i32=2)",
        several=("f16[4]", 1.5),
        pointer="ptr<f16>@gmem align=16",
        stream="stream",
        missing="none",
        untyped=cutlass.Uint8(3),
    )
    assert host_samples.seen == [("relu", cutlass.Float16), 7]
    assert parameters(module) == [
        '!cute.memref<f32, gmem, "(?):(1)">',
        "i32",
        "f32",
        '!cute.memref<f32, gmem, "(?):(1)">',
        "i32",
        '!cute.memref<f16, gmem, "(4):(1)">',
        "f32",
        "!cute.ptr<f16, gmem, align<16>>",
        "!cuda.stream",
        "i8",
    ]
    assert signature(module) == {
        "x": "f32[?N=64]",
        "n": "i32=3",
        "factor": "f32=0.5",
        "mode": "const(('relu', f16))",
        "pair": "(f32[?N=64], i32=2)",
        "several": "(f16[4], f32=1.5)",
        "pointer": "ptr<f16> align=16",
        "stream": "stream",
        "missing": "none",
        "untyped": "u8=3",
        "default": "const(7)",
    }
    annotations = {parameter.name: parameter.annotation for parameter in module.signature.parameters}
    assert annotations["missing"] == "cute.Tensor | None"
    assert annotations["several"] == "tuple[cute.Tensor, cutlass.Float32]"
    assert annotations["untyped"] is None


def test_numbers_take_the_declared_type() -> None:
    module = traced(host_samples.numbers, 1 << 40, 0.1, True, 5)
    assert parameters(module) == ["i64", "f64", "i1", "i32"]
    assert signature(module) == {"n": f"i64={1 << 40}", "wide": "f64=0.1", "flag": "bool=True", "plain": "i32=5"}


@pytest.mark.parametrize("value", [3, "relu", "f32[?", (1, 2), cutlass.Float32, None, 1.5, {"a": [cutlass.Int8]}])
def test_constants_are_any_value(value: object) -> None:
    module = traced(host_samples.constant, value)
    assert host_samples.seen == [value]
    assert signature(module)["value"].startswith("const(")


def test_constants_without_a_literal() -> None:
    value = host_samples.Gemm()
    assert signature(traced(host_samples.constant, value)) == {"value": "object<Gemm>"}
    assert host_samples.seen == [value]


def test_variadic_parameters() -> None:
    module = traced(host_samples.any_number, "f32[?]", "f16[?]", last="i32[4]")
    assert [text.split(",")[0] for text in parameters(module)] == [
        "!cute.memref<f32",
        "!cute.memref<f16",
        "!cute.memref<i32",
    ]
    assert signature(module) == {"tensors[0]": "f32[?]", "tensors[1]": "f16[?]", "named.last": "i32[4]"}


def test_array_views() -> None:
    assert parameters(traced(host_samples.array_view, "f32[?]")) == ['!cute.memref<f32, gmem, "(?):(1)">']


def test_arrays_on_the_cpu_become_global_memory() -> None:
    array = np.zeros((4, 8), np.float32)
    for value in (array, from_dlpack(array).mark_layout_dynamic(), [array, from_dlpack(array)]):
        module = traced(host_samples.any_number, value)
        assert all("gmem" in text for text in parameters(module))


def test_torch_tensors_on_the_cpu_become_global_memory(torch: Any) -> None:
    [text] = parameters(traced(host_samples.scale, torch.zeros(64)))
    assert "gmem" in text


def test_fakes_are_traced_as_they_are() -> None:
    fake = make_fake_tensor(
        cutlass.Float32, (cute.sym_int(divisibility=8),), (1,), memspace=cutlass.AddressSpace.generic
    )
    assert parameters(traced(host_samples.scale, fake)) == ['!cute.memref<f32, generic, "(?{div=8}):(1)">']


def test_a_missing_spec_is_suggested() -> None:
    with pytest.raises(SpecError) as caught:
        traced(host_samples.everything, "f32[?]", 3)
    error = caught.value
    line = next(
        number
        for number, text in enumerate(open(host_samples.__file__), start=1)  # noqa: SIM115
        if text.startswith("    factor: float")
    )
    assert str(error.location) == f"{host_samples.__file__}:{line}:5"
    assert "no spec for parameters 'factor', 'mode', 'pair', 'several', 'pointer'" in error.message
    assert f"'factor' is declared as float at {host_samples.__file__}:{line}:5" in error.notes
    assert error.hints == [
        "a spec that fits 'factor': \"f32\"",
        "a spec that fits 'mode': \"const(1)\"",
        "a spec that fits 'pair': \"(f32[?,?], i32)\"",
        "a spec that fits 'several': \"(f32[?,?], f32)\"",
        "a spec that fits 'pointer': \"ptr<f32>\"",
        "a spec that fits 'stream': \"stream\"",
        "a spec that fits 'missing': \"f32[?,?]\"",
        "a spec that fits 'untyped': \"f32[?,?]\"",
    ]
    with pytest.raises(SpecError) as caught:
        bind_specs(Callee.of(host_samples.scale), {}, {})
    assert caught.value.hints == [
        "a spec that fits 'x': --arg x=\"f32[?,?]\"",
        "a ? for each mode that the tensor has; f32[?N=1024], a vector, also says what size to run with",
    ]


@pytest.mark.parametrize(
    ("spec", "message", "fitting"),
    [
        ("i32=3", "'x' is declared as cute.Tensor, which i32=3 does not fit", "f32[?,?]"),
        ("const(3)", "'x' is declared as cute.Tensor, which const(3) does not fit", "f32[?,?]"),
        ("stream", "'x' is declared as cute.Tensor, which stream does not fit", "f32[?,?]"),
    ],
)
def test_specs_that_do_not_fit(spec: str, message: str, fitting: str) -> None:
    with pytest.raises(SpecError) as caught:
        traced(host_samples.scale, spec)
    assert caught.value.message == message
    assert caught.value.hints == [f"a spec that fits: {fitting}"]


def test_numbers_of_another_type_do_not_fit() -> None:
    with pytest.raises(SpecError, match=r"'n' is declared as cutlass\.Int64, which i32=3 does not fit"):
        traced(host_samples.numbers, "i32=3", 0.5, True, 1)
    with pytest.raises(SpecError, match="argument 'plain': 5000000000 does not fit i32"):
        traced(host_samples.numbers, 3, 0.5, True, 5_000_000_000)


def test_nested_modes_are_refused() -> None:
    with pytest.raises(SpecError, match="nested modes"):
        traced(host_samples.scale, "f32[(2,?),4]")


def test_too_many_arguments() -> None:
    with pytest.raises(UsageError, match="scale: too many positional arguments"):
        traced(host_samples.scale, "f32[?]", "f32[?]")


def test_sizes_of_one_name_have_one_value() -> None:
    with pytest.raises(SpecError, match=r"size 'N' is 4 here and 3 in 'tensors\[0\]'"):
        traced(host_samples.any_number, "f32[?N=3]", "f32[?N=4]")
