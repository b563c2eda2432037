"""Real arguments as specs."""

from typing import Any

import cutlass
import cutlass.cute as cute
import numpy as np
import pytest
from cutlass._mlir.dialects import cute as cute_dialect
from cutlass.cute.runtime import from_dlpack, make_fake_stream, make_fake_tensor, make_ptr

from cutecc.arguments.arrays import Array, describe_array
from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.specs import NoneSpec, TensorSpec
from cutecc.errors import SpecError
from cutecc.frontend.describe import describe


class TorchLike:
    """What a torch tensor offers, on a device that is not there."""

    def __init__(self, dtype: str, shape: tuple[int, ...], stride: tuple[int, ...], address: int) -> None:
        self.dtype, self.shape, self._stride, self._address = f"torch.{dtype}", shape, stride, address

    def stride(self) -> tuple[int, ...]:
        return self._stride

    def data_ptr(self) -> int:
        return self._address


class OwnPointer(cute.Pointer):
    """What packages make of the DSL's abstract class: `flashinfer.cute_dsl.utils.make_ptr` gives one."""

    def __init__(self, dtype: Any, space: Any, alignment: int) -> None:
        self._type = (dtype, space, alignment)

    @property
    def mlir_type(self) -> Any:
        dtype, space, alignment = self._type
        return cute_dialect.PtrType.get(dtype.mlir_type, space, alignment)


class CupyLike:
    """What a cupy array offers."""

    def __init__(self, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...] | None, address: int) -> None:
        self.dtype = np.dtype(dtype)
        layout = {"shape": shape, "strides": strides, "typestr": self.dtype.str}
        self.__cuda_array_interface__ = {**layout, "data": (address, False), "version": 3}


def aligned(spec: object) -> str:
    """The spec without its alignment, which depends on where numpy put the array."""
    assert isinstance(spec, TensorSpec)
    return str(TensorSpec(spec.dtype, spec.shape, spec.stride, spec.space))


@pytest.mark.parametrize(
    ("array", "spec"),
    [
        (np.zeros((4, 3), np.float32), "f32[?=4,?=3]:(?{i64}=3,1)"),
        (np.zeros((4, 3), np.float16).T, "f16[?=3,?=4]:(1,?{i64}=3)"),
        (np.zeros((8, 8), np.int64)[::2, ::2], "i64[?=4,?=4]:(?{i64}=16,?{i64}=2)"),
        (np.zeros((1, 8), np.uint8), "u8[?=1,?=8]:(?{i64}=8,1)"),
        (np.zeros((8, 1), np.bool_), "bool[?=8,?=1]:(1,?{i64}=1)"),
        (np.zeros((1, 1), np.float64), "f64[?=1,?=1]:(?{i64}=1,1)"),
        (np.broadcast_to(np.zeros(4, np.float32), (3, 4)), "f32[?=3,?=4]:(0,1)"),
        (np.zeros((), np.float32), "f32[]:()"),
    ],
)
def test_numpy_arrays(array: np.ndarray, spec: str) -> None:
    assert aligned(describe(array)) == spec


@pytest.mark.parametrize(("address", "alignment"), [(0x1000, 16), (0x1008, 8), (0x1004, 4), (0x1002, 2), (0, 4)])
def test_alignment_comes_from_the_address(address: int, alignment: int) -> None:
    spec = describe(TorchLike("float32", (4,), (1,), address))
    assert isinstance(spec, TensorSpec)
    assert spec.alignment == alignment


def test_torch_and_cupy_arrays() -> None:
    assert str(describe(TorchLike("bfloat16", (4, 8), (8, 1), 0x100))) == "bf16[?=4,?=8]:(?{i64}=8,1) align=16"
    assert str(describe(TorchLike("float8_e4m3fn", (4,), (1,), 0x100))) == "f8E4M3FN[?=4]:(1) align=16"
    assert str(describe(CupyLike("f4", (4, 8), None, 0x100))) == "f32[?=4,?=8]:(?{i64}=8,1) align=16"
    assert str(describe(CupyLike("f4", (4, 8), (4, 16), 0x100))) == "f32[?=4,?=8]:(1,?{i64}=4) align=16"


def test_other_libraries_with_dlpack() -> None:
    class Other:
        def __init__(self) -> None:
            self.array = np.zeros((4, 8), np.float32)

        def __dlpack__(self, **options: object) -> object:
            return self.array.__dlpack__()

        def __dlpack_device__(self) -> object:
            return self.array.__dlpack_device__()

    assert aligned(describe(Other())) == "f32[?=4,?=8]:(?{i64}=8,1)"


def test_pairs_of_narrow_floats_are_counted_one_by_one() -> None:
    spec = describe(TorchLike("float4_e2m1fn_x2", (4, 8), (8, 1), 0x100))
    assert str(spec) == "f4E2M1FN[?=4,?=16]:(?{i64}=16,1) align=16"


def test_arrays_that_cute_does_not_have() -> None:
    with pytest.raises(SpecError, match="no element type complex64"):
        describe(np.zeros(4, np.complex64))
    with pytest.raises(SpecError, match="not whole elements"):
        describe(CupyLike("f4", (4,), (6,), 0x100))


@pytest.mark.parametrize("shape", [(4, 3), (1, 8), (8, 1), (5,), (2, 3, 4)])
def test_layouts_are_those_of_the_dsl(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, np.float32)
    assert aligned(describe(array)) == aligned(describe(from_dlpack(array).mark_layout_dynamic()))


def test_real_torch_tensors(torch: Any) -> None:
    tensor = torch.zeros(4, 8, dtype=torch.bfloat16)
    assert aligned(describe(tensor)) == "bf16[?=4,?=8]:(?{i64}=8,1)"


def test_cute_tensors_are_described_as_marked() -> None:
    array = np.zeros((4, 8), np.float32)
    static = from_dlpack(array, assumed_align=16)
    assert str(describe(static)) == "f32[4,8]:(8,1) align=16"
    dynamic = from_dlpack(array).mark_layout_dynamic()
    assert str(describe(dynamic)) == "f32[?=4,?=8]:(?{i64}=8,1)"
    compact = from_dlpack(array).mark_compact_shape_dynamic(mode=1, divisibility=4)
    assert str(describe(compact)) == "f32[4,?{div=4}=8]:(?{i64 div=4}=8,1)"


def test_fakes_pointers_and_streams() -> None:
    size = cute.sym_int(divisibility=4, symbol="N")
    fake = make_fake_tensor(cutlass.Uint8, (size, 3), (1, cute.sym_int(64)), memspace=cutlass.AddressSpace.smem)
    assert str(describe(fake)) == "u8[?N{div=4},3]:(1,?{i64})@smem"
    pointer = make_ptr(cutlass.Float16, 0, cutlass.AddressSpace.gmem, assumed_align=16)
    assert str(describe(pointer)) == "ptr<f16> align=16"
    assert str(describe(make_ptr(cutlass.Float16, 0))) == "ptr<f16>@generic"
    assert str(describe(make_fake_stream())) == "stream"


def test_pointers_of_a_package() -> None:
    pointer = OwnPointer(cutlass.Float4E2M1FN, cute_dialect.AddressSpace.gmem, 16)
    assert str(describe(pointer)) == "ptr<f4E2M1FN> align=16"
    assert str(describe(OwnPointer(cutlass.Float16, cute_dialect.AddressSpace.smem, 2))) == "ptr<f16>@smem"
    with pytest.raises(SpecError, match="a pointer of type Untyped"):
        describe(type("Untyped", (cute.Pointer,), {})())


def test_numbers() -> None:
    assert str(describe(3)) == "i32=3"
    assert str(describe(0.5)) == "f32=0.5"
    assert str(describe(True)) == "bool=True"
    assert str(describe(cutlass.Int64(3))) == "i64=3"
    assert str(describe(cutlass.Float16(0.5))) == "f16=0.5"
    assert str(describe(np.float64(0.5))) == "f64=0.5"
    with pytest.raises(SpecError, match="does not fit i32"):
        describe(5_000_000_000)


def test_the_rest() -> None:
    assert describe(None) == NoneSpec()
    assert str(describe((1, [0.5, None]))) == "(i32=1, (f32=0.5, none))"
    assert describe("f32[?]") == parse_spec("f32[?]")
    assert describe(parse_spec("const(3)")) == parse_spec("const(3)")
    with pytest.raises(SpecError, match=r"no argument spec describes a builtins\.object"):
        describe(object())


def test_overlapping_modes_keep_one_unit_stride() -> None:
    assert str(describe_array(Array("float32", (3, 3), (1, 1), 16))) == "f32[?=3,?=3]:(?{i64}=1,1) align=16"
