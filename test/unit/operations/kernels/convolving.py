"""Convolutions with their epilogues on the CPU emulator, with poison around all tensors, held against float64."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache
from typing import Any

import numpy as np
from launching import Result, epilogue_operands, results
from products import MULTIPROCESSORS, _Device, _Emulator, _workspace

import cutecc
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.emulator.options import EmulatorOptions
from cutecc.harness.elements import elements_of
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.build import build, specs
from cutecc.operations.kernels.convolution import signature
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.signature import is_persistent
from cutecc.operations.operand import Operand


class Tensor:
    """Channels of pixels, or of taps, in memory; poison between the last of one and the first of the next."""

    device = _Device()

    def __init__(self, operand: Operand, shape: Sequence[int]):
        found = find_numeric_type(operand.dtype)
        assert found is not None
        self.elements, self.dtype = elements_of(found), found.name
        row = -(-shape[-1] // operand.alignment) * operand.alignment + operand.alignment
        size = int(np.prod(shape[:-1])) * row * self.elements.code.itemsize
        memory = np.full(size + 256, self.elements.poison, np.uint8)
        start = -memory.ctypes.data % 256
        memory = memory[start : start + size].view(self.elements.code)
        self.codes = memory.reshape(*shape[:-1], row)[..., : shape[-1]]

    def randomize(self, generator: np.random.Generator) -> Tensor:
        """Random elements."""
        self.codes[...] = self.elements.random(self.codes.size, generator).reshape(self.codes.shape)
        return self

    def flattened(self) -> Tensor:
        """The same memory as a matrix of all pixels by channels."""
        found = copy(self)
        found.codes = self.codes.reshape(-1, self.codes.shape[-1])
        return found

    @property
    def values(self) -> Any:
        return self.elements.decode(self.codes).astype(np.float64)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape

    def stride(self) -> tuple[int, ...]:
        """In elements, as torch has it."""
        return tuple(step // self.codes.itemsize for step in self.codes.strides)

    def data_ptr(self) -> int:
        return self.codes.ctypes.data


def geometry(
    images: int,
    image: Sequence[int],
    channels: int,
    filters: int,
    filter: Sequence[int],
    padding: Sequence[tuple[int, int]] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
) -> Geometry:
    """The sizes of a convolution; padding is (before, behind) for each spatial mode."""
    ones = (1,) * len(image)
    padding, stride, dilation = padding or ((0, 0),) * len(image), tuple(stride or ones), tuple(dilation or ones)
    output = tuple(
        (size + sum(around) - (taps - 1) * apart - 1) // step + 1
        for size, around, taps, apart, step in zip(image, padding, filter, dilation, stride, strict=True)
    )
    before = tuple(first for first, _ in padding)
    return Geometry(images, channels, filters, tuple(image), tuple(filter), output, before, stride, dilation)


@cache
def compiled(description: ConvolutionDescription) -> cutecc.Kernel:
    """The kernel of a description, which keeps everything in registers that it does not put into shared memory."""
    arguments = specs(description).values()
    kernel = cutecc.compile(build(description.to_json()), *arguments, target=description.target, cache=False)
    assert isinstance(kernel, cutecc.Kernel)
    assert ".local" not in kernel.ptx
    return kernel


def convolve(
    description: ConvolutionDescription,
    sizes: Geometry,
    *,
    groups: int = 1,
    slices: int | None = None,
    numbers: Mapping[str, float] = {},
    seed: int = 0,
    multiprocessors: int = MULTIPROCESSORS,
    schedule: str = "round-robin",
) -> dict[str, Result]:
    """Run the kernel of a description on random operands, with every check of the sanitizer, as `launching.launch`."""
    gemm, generator = description.gemm, np.random.default_rng(seed)
    m, n, k, batches = signature.problem(description, sizes, groups)
    activations = (sizes.images, *sizes.image, sizes.channels)
    outputs = (sizes.images, *sizes.output, sizes.filters)
    filters = (sizes.filters, int(np.prod(sizes.filter)), sizes.channels // groups)
    first, second = {
        "fprop": (activations, filters),
        "dgrad": (outputs, filters),
        "wgrad": (outputs, activations),
    }[description.kind]
    a, b = (Tensor(each, shape).randomize(generator) for each, shape in ((gemm.a, first), (gemm.b, second)))
    memory, arguments, values = epilogue_operands(gemm, m, n, batches, generator, numbers)
    kernel = compiled(description)
    emulator = _Emulator(kernel.compilation, kernel.launcher.binder)
    space = _workspace(gemm, m, n, k, batches, slices)
    count = multiprocessors if is_persistent(gemm) else None
    options = EmulatorOptions(check=True, schedule=schedule, seed=seed)
    left = a.flattened() if description.kind == "wgrad" else a
    given = ((m, n, k, batches), tuple(sizes), left, b, tuple(arguments), space, slices, count, 0)
    findings = emulator.emulate(given, {}, options).findings
    assert findings == [], findings
    return results(gemm, memory, sums(description, a.values, b.values, sizes, groups), values)


def sums(description: ConvolutionDescription, a: Any, b: Any, sizes: Geometry, groups: int) -> Any:
    """The matrix (L, M, N) of the product, tap by tap from the definition."""
    c, k = sizes.channels // groups, sizes.filters // groups
    taps = list(itertools.product(*map(range, sizes.filter)))
    shape = {
        "fprop": (sizes.images, *sizes.output, sizes.filters),
        "dgrad": (sizes.images, *sizes.image, sizes.channels),
        "wgrad": (sizes.filters, len(taps), c),
    }[description.kind]
    d = np.zeros(shape)
    for number, tap in enumerate(reversed(taps) if description.mode == "convolution" else taps):
        inside: list[Any] = []
        outside: list[Any] = []
        for axis, at in enumerate(tap):
            places = (
                np.arange(sizes.output[axis]) * sizes.stride[axis] - sizes.padding[axis] + at * sizes.dilation[axis]
            )
            valid = (places >= 0) & (places < sizes.image[axis])
            outside.append(np.nonzero(valid)[0])
            inside.append(places[valid])
        at_y, at_x = (np.ix_(range(sizes.images), *each) for each in (outside, inside))
        for group in range(groups):
            channels, filters = slice(group * c, group * c + c), slice(group * k, group * k + k)
            match description.kind:
                case "fprop":
                    d[..., filters][at_y] += a[..., channels][at_x] @ b[filters, number].T
                case "dgrad":
                    d[..., channels][at_x] += a[..., filters][at_y] @ b[filters, number]
                case "wgrad":
                    y, x = a[..., filters][at_y], b[..., channels][at_x]
                    d[filters, number] += y.reshape(-1, k).T @ x.reshape(-1, c)
    if description.kind == "wgrad":
        return d.reshape(groups, k, len(taps) * c)
    return np.moveaxis(d.reshape(-1, groups, d.shape[-1] // groups), 1, 0)
