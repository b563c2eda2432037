"""The arguments of a convolution as its user gives them, read and held against a description.

Tensors of torch have the shape (N, C, H, W), and filters (K, C, R, S), in memory that is `channels_last`; those of any
other library, and `DeviceMatrix`, have the shape (N, H, W, C) and (K, R, S, C). A filter has the channels of its group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any, Literal, NoReturn

from cutecc.arguments.arrays import Array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import ArgumentError
from cutecc.operations.convolution.description import INTERLEAVED_LAYOUTS, ConvolutionDescription, Kind
from cutecc.operations.convolution.geometry import ConvolutionProblem, Padding
from cutecc.operations.epilogue.values import Input, Output
from cutecc.operations.kernels.signature import INTERLEAVED
from cutecc.operations.operand import Operand, common_alignment
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.vector_arguments import vector_view
from cutecc.operations.views import DeviceMatrix, View
from cutecc.operations.words import whole_number
from cutecc.runtime.checks import array_text

Role = Literal["activations", "filters", "outputs"]
"""Gradients have the role of what they are the gradient of."""
Form = Literal["tensor", "matrix", "filters", "dense_filters", "rows"]
"""How kernels take an argument:

| form | modes | distances |
|---|---|---|
| `tensor` | images, spatial extents, channels | any |
| `matrix` | pixels, channels | all pixels at one distance |
| `filters` | filters, taps, channels | all taps of a filter at one distance |
| `dense_filters` | filters, taps, one channel | taps follow one another |
| `rows` | rows and columns of D, groups | rows at one distance: pixels, or filters of taps that follow one another |

Where 32 channels are kept together, there are two modes of channels instead of one, groups of 32 and the channels of
such a group. `rows` are then the pixels of an image, 32 channels, groups of 32, and images.
"""

ROLES: dict[Kind, dict[str, Role]] = {
    "fprop": {"A": "activations", "B": "filters", "D": "outputs"},
    "dgrad": {"A": "outputs", "B": "filters", "D": "activations"},
    "wgrad": {"A": "outputs", "B": "activations", "D": "filters"},
}
_ALIGNED = 128
"""Elements: a multiple of every alignment."""
SHAPES: dict[Role, tuple[str, dict[int, str], str]] = {
    "activations": ("N", {1: "W", 2: "HW", 3: "DHW"}, "C"),
    "outputs": ("N", {1: "Q", 2: "PQ", 3: "ZPQ"}, "K"),
    "filters": ("K", {1: "S", 2: "RS", 3: "TRS"}, "C"),
}
"""The modes of each: images or filters, those of so many spatial extents, channels."""
_COPIES = {
    1: "{}.transpose(1, 2).contiguous().transpose(1, 2)",
    2: "{}.contiguous(memory_format=torch.channels_last)",
    3: "{}.contiguous(memory_format=torch.channels_last_3d)",
}
"""What makes torch's tensors lie with their channels contiguous."""
_ALLOCATED = {
    1: "torch.empty({}, …).transpose(1, 2)",
    2: "torch.empty({}, …, memory_format=torch.channels_last)",
    3: "torch.empty({}, …, memory_format=torch.channels_last_3d)",
}
_EMPTY = {"numpy": "np.empty({}, …)", "cupy": "cupy.empty({}, …)"}
"""By the library, what makes arrays without gaps."""
_MODEL = {
    2: "the weights of a model: model.to(memory_format=torch.channels_last)",
    3: "the weights of a model: model.to(memory_format=torch.channels_last_3d)",
}


@dataclass(frozen=True)
class Tensor:
    """An argument with its channels last, wherever its library has them."""

    name: str
    role: Role
    array: Array
    """As it was given."""
    shape: tuple[int, ...]
    """(images or filters, spatial extents, channels)."""
    stride: tuple[int, ...]
    is_torch: bool
    is_written: bool = False
    """By the kernel, so that a copy would be lost."""
    between: int | None = None
    """Elements from 32 channels to the next 32, where so many are kept together; `None` where all are."""

    @property
    def spatial(self) -> tuple[int, ...]:
        return self.shape[1:-1]

    @property
    def text(self) -> str:
        """`A (8, 56, 56, 64)`, in the order of its library."""
        return f"{self.name} ({', '.join(map(str, self.array.shape))})"

    @property
    def remedies(self) -> list[str]:
        """What makes it lie as kernels read it: a copy, or of what is written an allocation."""
        rank, name, library = len(self.spatial), self.name, self.array.library
        first, spatial, channels = SHAPES[self.role]
        if not self.is_torch and self.shape[1] > 1 and self.stride[1] == 1:
            order = ", ".join(map(str, (0, *range(2, rank + 2), 1)))
            return [f"in the order ({', '.join([first, *spatial[rank], channels])}): {name}.transpose({order})"]
        if self.is_written:
            # Into a copy the result would be lost.
            shape = f"({', '.join(map(str, self.shape if self.is_torch and rank == 1 else self.array.shape))})"
            made = _ALLOCATED[rank] if self.is_torch else _EMPTY.get(library)
            return [f"allocate it so: {name} = {made.format(shape)}" if made else f"allocate {name} without gaps"]
        if self.is_torch:
            model = [_MODEL[rank]] if rank in _MODEL else []
            return [f"pass {_COPIES[rank].format(name)}", *model]
        return [f"pass {name}.copy()"]

    def listed(self, shape: tuple[int, ...]) -> str:
        """A shape with the channels last, in the order of its library."""
        sizes = (shape[0], shape[-1], *shape[1:-1]) if self.is_torch else shape
        return f"({', '.join(map(str, sizes))})"

    @property
    def order(self) -> str:
        """The order of its modes in words."""
        return "torch's tensors are (N, C, H, W)" if self.is_torch else "tensors are (N, H, W, C), torch's (N, C, H, W)"

    @property
    def pitch(self) -> int | None:
        """Elements from one row of all channels to the next; `None` where not all rows lie at one distance."""
        steps = [(size, step) for size, step in zip(self.shape[:-1], self.stride[:-1], strict=True) if size > 1]
        for (_, outer), (size, inner) in pairwise(steps):
            if outer != size * inner:
                return None
        return steps[-1][1] if steps else self.shape[-1]


def has_torch_order(value: Any, array: Array) -> bool:
    """Whether an argument has its channels before its spatial extents, as torch has them."""
    return array.library == "torch" and not isinstance(value, DeviceMatrix | View)


def tensor(name: str, role: Role, array: Array, rank: int, *, is_torch: bool, is_written: bool = False) -> Tensor:
    """An argument with its channels last. Raises `ArgumentError` for another number of modes or another layout."""
    text = f"argument '{name}': {array_text(array)}"
    if len(array.shape) != rank + 2:
        raise ArgumentError(f"{text} has {len(array.shape)} modes: {_shape_text(role, rank, is_torch)}")
    order = (0, *range(2, rank + 2), 1) if is_torch else range(rank + 2)
    shape, stride = tuple(array.shape[each] for each in order), tuple(array.stride[each] for each in order)
    found = Tensor(name, role, array, shape, stride, is_torch, is_written)
    if any(size > 1 and step < 0 for size, step in zip(shape, stride, strict=True)):
        raise ArgumentError(f"{text} is in reverse order: strides {array.stride}", hints=found.remedies)
    if shape[-1] > 1 and stride[-1] != 1 and 0 not in shape:
        raise ArgumentError(
            f"{text}: its channels are not contiguous, as every kernel reads them: strides {array.stride}",
            notes=[_shape_text(role, rank, is_torch)],
            hints=found.remedies,
        )
    return found


def _shape_text(role: Role, rank: int, is_torch: bool) -> str:
    """The shape of an argument in words."""
    first, spatial, channels = SHAPES[role]
    if is_torch:
        return f"torch's {role} are ({', '.join([first, channels, *spatial[rank]])}), in memory with the channels last"
    return f"{role} are ({', '.join([first, *spatial[rank], channels])})"


def check_elements(each: Tensor, operand: Operand) -> None:
    """Raise `ArgumentError` for a tensor of another type."""
    dtype = find_numeric_type(each.array.dtype)
    if dtype is None or dtype.name != operand.dtype:
        hints: list[str] = []
        if dtype is not None and dtype.width == operand.bits == 8:
            hints = [f"bytes that hold {operand.dtype} numbers can be viewed as such: x.view(torch.float8_e4m3fn)"]
        _refuse(each, operand, f"its elements are {dtype or each.array.dtype}, not {operand.dtype}", hints)


def form_of(kind: Kind, name: str, *, is_depthwise: bool) -> Form:
    """How kernels take an argument; every other one than A and B is as D."""
    if name == "A":
        return "matrix" if kind == "wgrad" and not is_depthwise else "tensor"
    if name == "B":
        return "tensor" if kind == "wgrad" else "dense_filters" if is_depthwise else "filters"
    return "rows"


def check_alignment(each: Tensor, form: Form, operand: Operand, groups: int) -> None:
    """Raise `ArgumentError` unless address, channels of a group and distances are multiples of the alignment."""
    if 0 in each.shape or form == "dense_filters":
        return
    align, array = operand.alignment, each.array
    hint = f"describe it with a smaller alignment, {operand.dtype}:1 for any, or choose by the arguments: for_arguments"
    hint = hint if each.between is None else f"pass {each.name}.copy()"
    if array.address % operand.alignment_bytes:
        reason = f"its address {array.address:#x} is not a multiple of {operand.alignment_bytes} bytes"
        _refuse(each, operand, reason, [hint])
    if each.between is not None:
        align = INTERLEAVED
    contiguous, distances = _extents(each, form, groups)
    if contiguous % align:
        what = "elements of a filter" if (form, each.role) == ("rows", "filters") else "channels"
        of_group = " of a group" if groups > 1 and each.role != "filters" else ""
        _refuse(each, operand, f"{contiguous} {what}{of_group} are not a multiple of {align}", [hint])
    for step in distances:
        if step % align:
            _refuse(each, operand, f"the distance {step} of its rows is not a multiple of {align} elements", [hint])


def aligned(each: Tensor, form: Form, dtype: str, groups: int) -> Operand:
    """The operand that a tensor is, with as many aligned channels as it allows."""
    if each.between is not None:
        return Operand(dtype, INTERLEAVED_LAYOUTS[each.role == "filters"])
    if 0 in each.shape or form == "dense_filters":
        return Operand(dtype, "row")
    # The copy of a numpy array on the GPU has an address of its own.
    addresses = () if each.array.library == "numpy" else (each.array.address,)
    contiguous, distances = _extents(each, form, groups)
    return Operand(dtype, "row", common_alignment(dtype, [contiguous, *distances], addresses))


def _extents(each: Tensor, form: Form, groups: int) -> tuple[int, list[int]]:
    """What is read or written along at once, and the distances of what is so."""
    if (form, each.role) == ("rows", "filters"):
        return prod(each.shape[1:]), [each.stride[0]] if each.shape[0] > 1 else []
    channels = each.shape[-1] if each.role == "filters" else each.shape[-1] // groups
    distances = [step for size, step in zip(each.shape[:-1], each.stride[:-1], strict=True) if size > 1]
    return channels, distances if each.between is None else [*distances, each.between]


def sizes_of(
    kind: Kind,
    tensors: Mapping[str, Tensor],
    *,
    padding: Padding = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int = 1,
) -> ConvolutionProblem:
    """The sizes that the arguments have together. Raises `ArgumentError`, which names all shapes."""
    by_role = {role: tensors[name] for name, role in ROLES[kind].items()}
    activations, filters, outputs = (by_role[role] for role in ("activations", "filters", "outputs"))
    channels, of_group = activations.shape[-1], filters.shape[-1]
    groups = whole_number(groups, "the number of groups")
    if channels != of_group * groups:
        number = f"{groups} groups of {of_group}" if groups > 1 else str(of_group)
        hint = [f"of several groups say how many: groups={channels // of_group}"] if groups == 1 <= of_group else []
        several = hint if hint and channels % of_group == 0 else []
        reason = f"{activations.name} has {channels} channels, and the filters {filters.name} {number}"
        raise _misfit(tensors, reason, several)
    try:
        found = ConvolutionProblem(
            activations.shape[0],
            activations.spatial,
            channels,
            filters.shape[0],
            filters.spatial,
            padding=padding,
            stride=stride,
            dilation=dilation,
            groups=groups,
        )
    except ArgumentError as error:
        error.notes = [*error.notes, _shapes(tensors)]
        raise
    expected = (found.batch, *found.output, found.filters)
    if outputs.shape != expected:
        hints: list[str] = []
        if kind == "dgrad":
            hints = [f"outputs as {outputs.name} are those of activations {_images(found, outputs.spatial)}"]
        raise _misfit(tensors, f"with {found}, {outputs.name} is {outputs.listed(expected)}", hints)
    for name, each in tensors.items():
        if name not in ROLES[kind] and each.shape != tensors["D"].shape:
            raise _misfit(tensors, f"{name} is not of D's shape", [])
    return found


def _images(found: ConvolutionProblem, output: tuple[int, ...]) -> str:
    """The spatial extents that activations with these outputs may have."""
    spans: list[str] = []
    for mode, size in enumerate(output):
        step, padding = found.stride[mode], sum(found.padding[mode])
        least = (size - 1) * step + found.dilation[mode] * (found.filter[mode] - 1) + 1 - padding
        spans.append(str(least) if step == 1 else f"{least} to {least + step - 1}")
    return " by ".join(spans)


def _misfit(tensors: Mapping[str, Tensor], reason: str, hints: list[str]) -> ArgumentError:
    orders = dict.fromkeys(each.order for each in tensors.values())
    return ArgumentError(f"the shapes do not fit: {_shapes(tensors)}: {reason}", hints=[*hints, *orders])


def _shapes(tensors: Mapping[str, Tensor]) -> str:
    return ", ".join(each.text for each in tensors.values())


# What kernels take.


def check_rows(each: Tensor, form: Form) -> None:
    """Raise `ArgumentError` where distances are not as the form has them."""
    if 0 in each.shape or form == "tensor":
        return
    pitch = _pitch(each)
    is_dense = form == "dense_filters" or (form == "rows" and each.role == "filters")
    if pitch is None or (is_dense and pitch != each.shape[-1]):
        what = "the taps of a filter" if each.role == "filters" else "its rows of channels"
        how = "do not follow one another" if is_dense else "do not lie at one distance"
        raise ArgumentError(
            f"argument '{each.name}': {array_text(each.array)}: {what} {how}: strides {each.array.stride}",
            hints=each.remedies,
        )


def view(each: Tensor, form: Form, problem: Problem) -> View:
    """What a kernel takes for an argument; `problem` is the product that it is of."""
    array, channels = each.array, each.shape[-1]
    count, is_empty = each.shape[0], 0 in each.shape
    # Distances that mean nothing are multiples of every alignment, or of that of the others.
    pitch = _pitch(each) or _ALIGNED
    outer = each.stride[0] if count > 1 and not is_empty else _ALIGNED
    pixels = prod(each.spatial)
    modes: list[tuple[int, int]] = [(channels, 1)]
    if each.between is not None:
        modes = [(channels // INTERLEAVED, each.between), (INTERLEAVED, 1)]
    match form:
        case "tensor":
            sizes = zip(each.shape[:-1], each.stride[:-1], strict=True)
            modes = [*((size, step if size > 1 and not is_empty else _ALIGNED) for size, step in sizes), *modes]
        case "matrix":
            modes = [(count * pixels, pitch), *modes]
        case "filters" | "dense_filters":
            modes = [(count, outer), (pixels, pitch), *modes]
        case "rows" if each.between is not None:
            modes = [(pixels, pitch), *reversed(modes), (count, outer)]
        case "rows" if each.role == "filters":
            modes = [(problem.m, outer), (problem.n, 1), (problem.batches, problem.m * outer)]
        case "rows":
            of_group = problem.n if problem.batches > 1 else 0
            modes = [(problem.m, pitch), (problem.n, 1), (problem.batches, of_group)]
    shape, stride = zip(*modes, strict=True)
    return View(array, array.dtype, shape, stride)


def _pitch(each: Tensor) -> int | None:
    """Elements between the taps of a filter, the pixels of an image with 32 channels together, or all pixels."""
    is_one = each.role == "filters" or each.between is not None
    return (replace(each, shape=(1, *each.shape[1:])) if is_one else each).pitch


def vector(description: ConvolutionDescription, operand: Input | Output, array: Array, problem: Problem) -> View:
    """What a kernel takes for a row, a column or a scalar in memory. Raises `ArgumentError` for another shape.

    What has one value a channel of D, or of `wgrad` a filter, holds those of all groups, one behind the other.
    """
    of_channels = "column" if description.kind == "wgrad" else "row"
    if operand.kind == of_channels and problem.batches > 1:
        each = problem.m if of_channels == "column" else problem.n
        if array.shape != (each * problem.batches,):
            raise ArgumentError(
                f"argument '{operand.name}': {array_text(array)}: it holds one value a channel of all groups: the "
                f"shape ({each * problem.batches},)"
            )
        step = array.stride[0]
        array = replace(array, shape=(problem.batches, each), stride=(each * step, step))
    return vector_view(operand, array, problem)


def _refuse(each: Tensor, operand: Operand, reason: str, hints: list[str]) -> NoReturn:
    raise ArgumentError(
        f"argument '{each.name}': {array_text(each.array)}, but the operation takes {operand_text(operand)}: {reason}",
        hints=hints,
    )


def operand_text(operand: Operand) -> str:
    """`f16:8`: the layout is that of every convolution, unless 32 channels are kept together."""
    return f"{operand.dtype}:{'interleaved32' if operand.is_interleaved else operand.alignment}"
