"""Convolutions of the operations' kernels on the CPU emulator, held against loops in float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
from launching import Result, Vector
from products import MULTIPROCESSORS, _workspace
from products import describe as describe_gemm

import cutecc
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.emulator.options import EmulatorOptions
from cutecc.harness.elements import elements_of
from cutecc.operations.convolution.description import LAYOUTS, ConvolutionDescription
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.epilogue import reference
from cutecc.operations.epilogue.values import Output
from cutecc.operations.kernels.convolution import build, signature
from cutecc.operations.kernels.convolution.tiled_rows import tiled_rows
from cutecc.operations.kernels.signature import full_operand


def describe(
    kind: Any,
    instruction: str,
    tile: str = "32x32x32:stages=3:warps=2x1x1",
    a: str = "",
    b: str = "",
    d: str = "",
    *,
    iterator: Any = "optimized",
    stride: Any = "strided",
    rank: int = 2,
    groups: Any = "single",
    mode: Any = "cross_correlation",
    product_mode: Any = "gemm",
    **gemm: Any,
) -> ConvolutionDescription:
    """The convolution that stores its sums as they are, from the texts of its parts; most aligned where not said."""
    multiplied = {"tf32": "f32"}.get(dtype := instruction.split(":")[2], dtype)
    layouts = LAYOUTS[kind]
    a, b = (given or f"{multiplied}:{layout}" for given, layout in zip((a, b), layouts, strict=True))
    product = describe_gemm(instruction, tile, a, b, d or f"{multiplied}:row", mode=product_mode, **gemm)
    return ConvolutionDescription(kind, product, iterator, stride, rank, groups, mode)


class Tensor:
    """Dense in all modes but the rows of the last one, between which is poison; numpy need not know its type."""

    def __init__(self, dtype: str, *shape: int, gap: int = 0):
        found = find_numeric_type(dtype)
        assert found is not None
        self.elements, self.dtype = elements_of(found), found.name
        length, item = shape[-1] + gap, self.elements.code.itemsize
        size = int(np.prod(shape[:-1])) * length * item
        memory = np.full(size + 256, self.elements.poison, np.uint8)
        start = -memory.ctypes.data % 256
        memory = memory[start : start + size].view(self.elements.code)
        self.codes = memory.reshape(*shape[:-1], length)[..., : shape[-1]]
        self.device = SimpleNamespace(type="cpu")

    def randomize(self, generator: np.random.Generator) -> Tensor:
        """Random elements."""
        self.codes[...] = self.elements.random(self.codes.size, generator).reshape(self.codes.shape)
        return self

    def seen_as(self, *shape: int, stride: tuple[int, ...]) -> Tensor:
        """The same memory with other modes, `stride` in elements."""
        other = copy(self)
        strides = tuple(step * self.codes.itemsize for step in stride)
        other.codes = np.lib.stride_tricks.as_strided(self.codes, shape, strides)
        return other

    @property
    def values(self) -> Any:
        """As f64."""
        return self.elements.decode(self.codes).astype(np.float64)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape

    def stride(self) -> tuple[int, ...]:
        """In elements, as torch has it."""
        return tuple(step // self.codes.itemsize for step in self.codes.strides)

    def data_ptr(self) -> int:
        return self.codes.ctypes.data


@cache
def compiled(description: ConvolutionDescription) -> cutecc.Kernel:
    """The kernel of a description, which keeps everything in registers that it does not put into shared memory."""
    kernel, specs = build.kernel(description), signature.specs(description)
    found = cutecc.compile(kernel, *specs.values(), target=description.target, cache=False)
    assert isinstance(found, cutecc.Kernel)
    assert ".local" not in found.ptx
    return found


def meetings(sizes: ConvolutionProblem) -> Iterator[tuple[Any, Any, Any]]:
    """Every output, tap and pixel of an image that meet."""
    axes = range(sizes.rank)
    for output, tap in product(np.ndindex(sizes.output), np.ndindex(sizes.filter)):
        pixel = tuple(output[i] * sizes.stride[i] - sizes.padding[i][0] + tap[i] * sizes.dilation[i] for i in axes)
        if all(0 <= pixel[i] < sizes.image[i] for i in axes):
            yield output, tap, pixel


def sums_of(kind: str, mode: str, sizes: ConvolutionProblem, a: Any, b: Any) -> Any:
    """The definition, by loops: the tensor that D is of, its channels and filters as (group, within the group)."""
    groups, of_filters, of_channels = sizes.groups, sizes.filters_of_group, sizes.channels_of_group
    x = np.zeros((sizes.batch, *sizes.image, groups, of_channels))
    y = np.zeros((sizes.batch, *sizes.output, groups, of_filters))
    w = np.zeros((groups, of_filters, *sizes.filter, of_channels))
    names = {"fprop": (x, w), "dgrad": (y, w), "wgrad": (y, x)}[kind]
    for target, values in zip(names, (a, b), strict=True):
        target[...] = values.reshape(target.shape)
    for output, tap, pixel in meetings(sizes):
        if mode == "convolution":
            tap = tuple(taps - 1 - index for taps, index in zip(sizes.filter, tap, strict=True))
        of_tap = w[:, :, *tap]
        match kind:
            case "fprop":
                y[:, *output] += np.einsum("ngc,gkc->ngk", x[:, *pixel], of_tap)
            case "dgrad":
                x[:, *pixel] += np.einsum("ngk,gkc->ngc", y[:, *output], of_tap)
            case _:
                of_tap += np.einsum("ngk,ngc->gkc", y[:, *output], x[:, *pixel])
    return {"fprop": y, "dgrad": x, "wgrad": w}[kind]


def convolve(
    description: ConvolutionDescription,
    sizes: ConvolutionProblem,
    *,
    slices: int | None = None,
    numbers: Mapping[str, float] = {},
    seed: int = 0,
    launches: int = 1,
    schedule: str = "round-robin",
) -> dict[str, Result]:
    """Compute a convolution of random tensors with every check of the sanitizer, `launches` times in one workspace.

    The outputs by name. `numbers` are the epilogue's scalars, 1.5 unless given.
    """
    generator, gemm = np.random.default_rng(seed), signature.product(description)
    geometry = sizes.geometry
    m, n, k, groups = signature.problem(description, geometry, sizes.groups)
    a, b = (each.randomize(generator) for each in _tensors(description, sizes))
    sums = sums_of(description.kind, description.mode, sizes, a.values, b.values)
    if description.kind == "wgrad":
        sums = sums.reshape(groups, m, n)
        if description.groups != "depthwise":
            a = a.seen_as(k, sizes.filters, stride=(a.stride()[-2], 1))
    else:
        sums = np.moveaxis(sums.reshape(m, groups, n), 1, 0)

    memory: dict[str, Any] = {}
    values: dict[str, Any] = {}
    arguments: list[Any] = []
    for operand in gemm.epilogue.operands:
        is_output = isinstance(operand, Output)
        if full := full_operand(gemm, operand):
            # Groups are side by side, of filters below each other.
            rows, columns = (groups * m, n) if description.kind == "wgrad" else (m, groups * n)
            whole = Tensor(full.dtype, rows, columns, gap=0 if description.kind == "wgrad" else full.alignment)
            row = whole.stride()[0]
            each = whole.seen_as(m, n, groups, stride=(row, 1, m * row if description.kind == "wgrad" else n))
        elif operand.kind == "scalar" and not is_output and not operand.in_memory:
            values[operand.name] = numbers.get(operand.name, 1.5)
            arguments.append(values[operand.name])
            continue
        else:
            each = Vector(operand.dtype, {"row": n, "column": m}.get(operand.kind, 1), groups, operand.alignment)
        memory[operand.name] = each
        if not is_output:
            each.randomize(generator)
            values[operand.name] = np.moveaxis(each.values, -1, 0) if operand.kind != "scalar" else each.values[0]
        arguments.append(
            each if isinstance(each, Tensor) else each.codes[0] if operand.kind == "scalar" else each.codes
        )
    kernel = compiled(description)
    rows = tiled_rows(description, geometry, m)
    space = _workspace(gemm, rows, n, k, groups, slices)
    count = MULTIPROCESSORS if signature.is_persistent(gemm) else None
    given = ((m, n, k, groups), geometry, a, b, tuple(arguments), space, slices, count, 0)
    for _ in range(launches):
        options = EmulatorOptions(check=True, schedule=schedule, seed=seed)
        findings = kernel.emulate(*given, emulator=options).findings
        assert findings == [], findings[0]
    expected = reference.evaluate(gemm.epilogue, sums, values)
    found = {each.name: np.moveaxis(memory[each.name].values, -1, 0) for each in gemm.epilogue.outputs}
    return {name: Result(found[name].reshape(each.rounded.shape), each.rounded) for name, each in expected.items()}


def _tensors(description: ConvolutionDescription, sizes: ConvolutionProblem) -> tuple[Tensor, Tensor]:
    """A and B, with gaps between the pixels."""
    gemm = description.gemm
    shapes = {
        "activations": (sizes.batch, *sizes.image, sizes.channels),
        "outputs": (sizes.batch, *sizes.output, sizes.filters),
        "filters": (sizes.filters, sizes.taps, sizes.channels_of_group),
    }
    names = signature.TENSORS[description.kind]
    first, second = (
        Tensor(operand.dtype, *shapes[name], gap=0 if name == "filters" else operand.alignment)
        for name, operand in zip(names, (gemm.a, gemm.b), strict=True)
    )
    return first, second
