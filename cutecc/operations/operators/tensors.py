"""Tensors that operators take: real arrays, also of numpy, and specs that stand for arrays that are not there.

The package itself takes tensors of torch and jax, and CuTe's. What is made here is one of its own tensor objects, so it
goes wherever these go.
"""

# pyright: basic, reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false

from __future__ import annotations

from typing import Any

from cutecc.arguments.arrays import Array, leading_mode, read_array
from cutecc.arguments.dtypes import NumericType, find_numeric_type
from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.specs import Dynamic, TensorSpec
from cutecc.errors import ArgumentError, SpecError
from cutecc.frontend import dsl
from cutecc.harness.tensors import place
from cutecc.operations.operators.package import TensorWrapper, ops

ALIGNMENT = 16
"""Bytes: what the operators of the package promise of every address and leading dimension."""


class Codes:
    """A numpy array whose elements stand for numbers of a type that numpy lacks: `Codes(uint16_array, "bf16")`."""

    def __init__(self, array: Any, dtype: str) -> None:
        found = find_numeric_type(dtype)
        if found is None or found.width != 8 * array.dtype.itemsize:
            raise SpecError(
                f"elements of {array.dtype} cannot stand for {dtype}: they are {array.dtype.itemsize} bytes"
            )
        self.array = array
        self.dtype = found.name
        self.itemsize: int = array.dtype.itemsize
        self.shape: tuple[int, ...] = array.shape

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.array.ctypes.data

    def stride(self) -> tuple[int, ...]:
        """In elements."""
        return tuple(step // self.itemsize for step in self.array.strides)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class OperandTensor(TensorWrapper):
    """A tensor of an operator's arguments, over an array or over nothing but a spec."""

    def __init__(self, tensor: Any, alignment_bytes: int = ALIGNMENT, static_layout: bool = False) -> None:
        fill(self, tensor, alignment_bytes, static_layout)

    @property
    def runtime_tensor(self) -> Any:
        """The array; `ArgumentError` for a tensor that is a spec."""
        if self._runtime_tensor is None:
            raise ArgumentError(
                f"a tensor of {self.dtype.__name__} and shape {self.shape} has no memory: it was made of a spec",
                hints=["run the operator with arguments made of arrays"],
            )
        return self._runtime_tensor


def tensor(value: Any, dtype: str | None = None, *, alignment: int = ALIGNMENT) -> OperandTensor:
    """A tensor for `GemmArguments`: an array of any library, or a spec, `"f16[4096,4096]"`, which needs no memory.

    In a spec all sizes are known, `[?M=4096,…]` or `[4096,…]`. Strides of a spec are compact, rows contiguous unless it
    says otherwise (`order=(0,1)` for columns). `dtype` is what the elements of an array stand for, where numpy has no
    such type: `tensor(codes, "bf16")` of `uint16`. `alignment` in bytes is what kernels may rely on.

    Raises `SpecError` for an unknown type, an open size, and strides of which none is 1.
    """
    return OperandTensor(value if dtype is None else Codes(value, dtype), alignment)


def gemm_arguments(a: Any, b: Any, out: Any, accumulator: str = "f32") -> Any:
    """`cutlass.operators.GemmArguments` for `out = a @ b`, of arrays or specs as `tensor` takes them.

    `accumulator` is a type by cutecc's name. Raises `SpecError` as `tensor`, `ArgumentError` for shapes of no product.
    """
    wrapped = [each if isinstance(each, TensorWrapper) else tensor(each) for each in (a, b, out)]
    try:
        return ops.GemmArguments(*wrapped, accumulator_type=dsl.numeric_class(_numeric_type(accumulator)))
    except ValueError as error:
        raise ArgumentError(str(error)) from None


def is_foreign_array(value: Any) -> bool:
    """Whether `value` is an array that the package does not take and cutecc does: numpy's, and `Codes`."""
    return isinstance(value, Codes) or (hasattr(value, "__array_interface__") and not hasattr(value, "data_ptr"))


def fill(wrapper: Any, value: Any, alignment: int, static_layout: bool = False) -> None:
    """Give a tensor object of the package what it holds, of an array or a spec."""
    if isinstance(value, str | TensorSpec):
        dtype, shape, stride, address, runtime = *_of_spec(value), 0, None
    else:
        array = read_array(value)
        if array is None:
            raise ArgumentError(f"a {type(value).__module__}.{type(value).__qualname__} is no array and no spec")
        dtype, shape, stride = _numeric_type(array.dtype), array.shape, array.stride
        address, runtime = array.address, value
    fitting = Array(dtype.name, shape, stride, address)
    leading = leading_mode(fitting)
    if leading is None:
        raise SpecError(f"a tensor with strides {stride}: operators take tensors of which one mode is contiguous")
    wrapper._alignment_bytes = alignment
    wrapper._runtime_tensor = runtime
    wrapper._shape, wrapper._stride, wrapper._data_ptr = shape, stride, address
    wrapper.compile_time_tensor = _placeholder(dtype, shape, stride, leading, alignment, static_layout)


def _placeholder(
    dtype: NumericType, shape: tuple[int, ...], stride: tuple[int, ...], leading: int, alignment: int, static: bool
) -> Any:
    """What a kernel is compiled for: every size dynamic, the contiguous mode a multiple of the alignment."""
    runtime, symbol = dsl.cute().runtime, dsl.cute().sym_int
    # By stride, the contiguous mode first whatever other modes of size 1 have.
    by_stride = sorted(range(len(shape)), key=lambda mode: (mode != leading, stride[mode]))
    order = tuple(by_stride.index(mode) for mode in range(len(shape)))
    divisor = alignment * 8 // dtype.width
    sizes = shape if static else tuple(symbol(divisibility=divisor if m == leading else 1) for m in range(len(shape)))
    return runtime.make_fake_compact_tensor(
        dsl.numeric_class(dtype), sizes, stride_order=order, assumed_align=alignment
    )


def _of_spec(value: str | TensorSpec) -> tuple[NumericType, tuple[int, ...], tuple[int, ...]]:
    spec = parse_spec(value) if isinstance(value, str) else value
    if not isinstance(spec, TensorSpec):
        raise SpecError(f"'{value}' is no tensor", hints=["for example f16[4096,4096]"])
    for mode in (*spec.shape, *(spec.stride or ())):
        if not isinstance(mode.value if isinstance(mode, Dynamic) else mode, int):
            hint = "give every size: f16[4096,4096], or f16[?M=4096,4096]"
            raise SpecError(f"{spec} leaves a size open", hints=[hint])
    placed = place(spec)
    return spec.dtype, placed.shape, placed.stride


def _numeric_type(name: str) -> NumericType:
    found = find_numeric_type(name)
    if found is None:
        raise SpecError(f"CuTe has no element type {name}")
    return found
