"""Convolutions by their definition, in float64: a loop over the taps of a filter."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from cutecc.operations.convolution.description import Kind
from cutecc.operations.convolution.geometry import ConvolutionProblem


def convolve(kind: Kind, sizes: ConvolutionProblem, a: Any, b: Any, *, turned: bool = False) -> Any:
    """What A and B give; tensors have their channels last, and `turned` filters are turned by half a turn."""
    shapes = {
        "fprop": (sizes.batch, *sizes.output, sizes.filters),
        "dgrad": (sizes.batch, *sizes.image, sizes.channels),
        "wgrad": (sizes.filters, *sizes.filter, sizes.channels_of_group),
    }
    a, b = a.astype(np.float64), b.astype(np.float64)
    result = np.zeros(shapes[kind])
    # Activations with the padding around them.
    padded = [size + sum(zeros) for size, zeros in zip(sizes.image, sizes.padding, strict=True)]
    wide = np.zeros((sizes.batch, *padded, sizes.channels))
    inner = tuple(slice(before, before + size) for (before, _), size in zip(sizes.padding, sizes.image, strict=True))
    if kind != "dgrad":
        wide[(slice(None), *inner)] = a if kind == "fprop" else b
    outputs = result if kind == "fprop" else a
    for tap in itertools.product(*map(range, sizes.filter)):
        seen = wide[(slice(None), *_places(tap, sizes))]
        used = tuple(count - 1 - each for each, count in zip(tap, sizes.filter, strict=True)) if turned else tap
        for group in range(sizes.groups):
            k = slice(group * sizes.filters_of_group, (group + 1) * sizes.filters_of_group)
            c = slice(group * sizes.channels_of_group, (group + 1) * sizes.channels_of_group)
            if kind == "fprop":
                outputs[..., k] += seen[..., c] @ b[(k, *used)].T
            elif kind == "dgrad":
                seen[..., c] += outputs[..., k] @ b[(k, *used)]
            else:
                axes = list(range(sizes.rank + 1))
                result[(k, *used)] += np.tensordot(outputs[..., k], seen[..., c], (axes, axes))
    return wide[(slice(None), *inner)] if kind == "dgrad" else result


def _places(tap: Sequence[int], sizes: ConvolutionProblem) -> list[slice]:
    """The padded activations that a tap of the filter meets, one for each output."""
    found: list[slice] = []
    for each, count, stride, dilation in zip(tap, sizes.output, sizes.stride, sizes.dilation, strict=True):
        first = each * dilation
        found.append(slice(first, first + (count - 1) * stride + 1, stride))
    return found
