"""The parameters of a call, flat, each with its place among the numbers that the host program takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.specs import (
    ConstSpec,
    Dynamic,
    NoneSpec,
    PointerSpec,
    ScalarSpec,
    Spec,
    StreamSpec,
    TensorSpec,
    TupleSpec,
    leaves,
)
from cutecc.errors import ArgumentError, RecordError, SpecError
from cutecc.record.compilation import Parameter, Signature
from cutecc.record.host_program import HostProgram, Leaf, ValueType

FlatSpec: TypeAlias = "TensorSpec | ScalarSpec | PointerSpec | StreamSpec | NoneSpec | ConstSpec"

_PASSABLE_SPACES = ("gmem", "generic", "cmem")
"""Address spaces whose memory a caller can have a pointer to."""


@dataclass(frozen=True)
class CallParameter:
    """One array, number, pointer or stream of a call; a constant or `none`, which are no part of one."""

    name: str
    """`x`; of an item of a tuple `factors[0]`."""
    spec: FlatSpec
    first_leaf: int
    """The number of its first leaf. A constant and `none` have no leaves."""
    leaves: tuple[Leaf, ...]
    """What the program takes for it: a tensor's pointer, dynamic sizes and dynamic strides, or one number."""
    sizes: tuple[int | Dynamic, ...] = ()
    """Of a tensor: the flat shape, left to right."""
    strides: tuple[int | Dynamic, ...] = ()
    """Of a tensor: the flat strides, in elements. Those of a compact layout are worked out: static where they follow
    from static sizes, else dynamic of 64 bits with the divisibility that the sizes promise."""
    compact: tuple[int, ...] | None = None
    """Of a tensor with a compact layout: its modes (indices into `sizes`) from the fastest to the slowest. `None` when
    the spec gives strides."""


@dataclass(frozen=True)
class CallGroup:
    """One parameter of the compiled function: a single `CallParameter`, or for a tuple one group per item."""

    name: str
    spec: Spec
    items: tuple[CallParameter | CallGroup, ...]

    @property
    def is_constant(self) -> bool:
        """Whether the parameter is a compile-time constant, which calls leave out."""
        return isinstance(self.spec, ConstSpec)

    @property
    def is_optional(self) -> bool:
        """Whether a call may leave the parameter out: a stream, and `none`."""
        return isinstance(self.spec, StreamSpec | NoneSpec)


def call_parameters(signature: Signature, program: HostProgram | None = None) -> tuple[CallGroup, ...]:
    """The function's parameters in order, constants included, with the leaves of each.

    Leaves are counted in order over all parameters: 0, 1, …; `flat_parameters` walks them. Raises `ArgumentError` for a
    parameter that no caller can pass, an object of a class of the user's or memory inside of the kernel, and
    `RecordError` when `program` does not take just these leaves. An object that `program` takes nothing for, such as a
    mask with methods alone, is a constant.
    """
    count = 0

    def group(name: str, spec: Spec) -> CallGroup:
        nonlocal count
        if isinstance(spec, TupleSpec):
            return CallGroup(name, spec, tuple(group(f"{name}[{index}]", s) for index, s in enumerate(spec.items)))
        parameter = _call_parameter(name, spec, count)
        count += len(parameter.leaves)
        return CallGroup(name, spec, (parameter,))

    groups = tuple(group(parameter.name, _spec(signature, parameter)) for parameter in signature.parameters)
    if program is None or len(_taken(groups)) != len(program.arguments):
        _check_objects(signature)
    if program is not None:
        _compare(signature.function, _taken(groups), program)
    return groups


def flat_parameters(groups: tuple[CallGroup, ...]) -> list[CallParameter]:
    """Every array, number, pointer, stream, constant and `none` in `groups`, left to right."""

    def walk(item: CallParameter | CallGroup) -> Iterator[CallParameter]:
        if isinstance(item, CallParameter):
            yield item
        else:
            for inner in item.items:
                yield from walk(inner)

    return [parameter for each in groups for parameter in walk(each)]


def _taken(groups: tuple[CallGroup, ...]) -> list[CallParameter]:
    """Those that the host program gets something for."""
    return [parameter for parameter in flat_parameters(groups) if parameter.leaves]


def _check_objects(signature: Signature) -> None:
    for parameter in signature.parameters:
        if (kind := _object_class(parameter)) and not parameter.is_constant_object:
            raise ArgumentError(
                f"{signature.function} cannot be called: its parameter '{parameter.name}' is an object of class "
                f"{kind}, and no number stands for it",
                hints=["pass the object's tensors and numbers as parameters or in a tuple, its constants as Constexpr"],
            )


def _object_class(parameter: Parameter) -> str | None:
    return parameter.spec[len("object<") : -1] if parameter.spec.startswith("object<") else None


def _spec(signature: Signature, parameter: Parameter) -> Spec:
    if kind := _object_class(parameter):
        return ConstSpec.of(f"object of class {kind}")
    try:
        return parse_spec(parameter.spec)
    except SpecError as error:
        raise RecordError(f"the signature of {signature.function}: '{parameter.name}': {error.message}") from None


def _call_parameter(name: str, spec: FlatSpec, first: int) -> CallParameter:
    match spec:
        case TensorSpec():
            _check_space(name, spec)
            sizes = tuple(leaves(spec.shape))
            compact = None if spec.stride is not None else _fastest_first(spec, len(sizes))
            strides = tuple(leaves(spec.stride or ())) if compact is None else _compact_strides(sizes, compact)
            numbers = [Leaf("size", _integer(size)) for size in sizes if isinstance(size, Dynamic)]
            numbers += [Leaf("stride", _integer(step)) for step in strides if isinstance(step, Dynamic)]
            return CallParameter(name, spec, first, (Leaf("pointer", "i64"), *numbers), sizes, strides, compact)
        case PointerSpec():
            _check_space(name, spec)
            return CallParameter(name, spec, first, (Leaf("pointer", "i64"),))
        case ScalarSpec():
            return CallParameter(name, spec, first, (Leaf("scalar", _scalar_type(spec)),))
        case StreamSpec():
            return CallParameter(name, spec, first, (Leaf("stream", "i64"),))
        case NoneSpec() | ConstSpec():
            return CallParameter(name, spec, first, ())


def _check_space(name: str, spec: TensorSpec | PointerSpec) -> None:
    if spec.space not in _PASSABLE_SPACES:
        raise ArgumentError(f"the kernel cannot be called: '{name}' is {spec}, and {spec.space} is memory of its own")


def _fastest_first(spec: TensorSpec, rank: int) -> tuple[int, ...]:
    """The modes of a compact layout. An order is over the outermost modes, and those with one are flat."""
    if spec.order is None:
        return tuple(reversed(range(rank)))
    return tuple(sorted(range(rank), key=lambda mode: cast("tuple[int, ...]", spec.order)[mode]))


def _compact_strides(sizes: tuple[int | Dynamic, ...], compact: tuple[int, ...]) -> tuple[int | Dynamic, ...]:
    """Products of the faster sizes, as the DSL forms them: `?{i64 div=…}` as soon as one of them is dynamic."""
    strides: dict[int, int | Dynamic] = {}
    product, dynamic = 1, False
    for mode in compact:
        strides[mode] = Dynamic(divisibility=product, bits=64) if dynamic else product
        size = sizes[mode]
        dynamic = dynamic or isinstance(size, Dynamic)
        product *= size.divisibility if isinstance(size, Dynamic) else size
    return tuple(strides[mode] for mode in range(len(sizes)))


def _integer(mode: Dynamic) -> ValueType:
    return "i64" if mode.bits == 64 else "i32"


def _scalar_type(spec: ScalarSpec) -> ValueType:
    dtype = spec.dtype
    if dtype.kind == "float":
        return cast(ValueType, "f32" if dtype.name == "tf32" else dtype.name)
    return cast(ValueType, f"i{dtype.width}")


def _compare(function: str, taken: list[CallParameter], program: HostProgram) -> None:
    if len(taken) != len(program.arguments):
        raise RecordError(
            f"the host program of {function} takes {len(program.arguments)} arguments, and its signature has "
            f"{len(taken)}: {', '.join(repr(parameter.name) for parameter in taken) or 'none'}"
        )
    for parameter, argument in zip(taken, program.arguments, strict=True):
        if list(parameter.leaves) != argument.leaves:
            raise RecordError(
                f"the host program of {function} takes {_text(argument.leaves)} for '{parameter.name}', "
                f"and its spec {parameter.spec} says {_text(parameter.leaves)}"
            )


def _text(numbers: list[Leaf] | tuple[Leaf, ...]) -> str:
    return f"({', '.join(f'{leaf.kind} {leaf.type}' for leaf in numbers)})"
