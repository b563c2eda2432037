"""Sizes to try a kernel at: its own, the smallest, and some with ragged edges."""

from __future__ import annotations

import math
from collections.abc import Mapping

from cutecc.arguments.sizes import named_values, unify_sizes
from cutecc.arguments.specs import Dynamic, Spec, TensorSpec, leaves
from cutecc.harness.sizes import with_sizes
from cutecc.harness.tensors import memory_specs, value_bytes

SMALL_BYTES = 1 << 18
"""Of a point's tensors, for the emulator."""
_SHARES = ((1.0, 0), (0.0, 1), (0.0, 3), (0.37, 1), (1.71, 1))
"""A share of each size, in steps of what it is a multiple of, and how many steps more."""


def ragged_points(specs: Mapping[str, Spec], most_bytes: int | None = None) -> list[dict[str, int]]:
    """Points to try a kernel with these specs at: the specs' own sizes, the smallest, and ragged ones.

    With `most_bytes`, points whose tensors are larger together are halved until they are not. One point without sizes
    for a kernel that has no named ones.
    """
    own = named_values(unify_sizes(specs))
    steps = dict.fromkeys(own, 1) | _divisibilities(specs)
    found: list[dict[str, int]] = []
    for share, more in _SHARES:
        point = _point(own, steps, share, more)
        while most_bytes is not None and share and _bytes(specs, point) > most_bytes:
            share /= 2
            smaller = _point(own, steps, share, max(1, more))
            if smaller == point:
                break
            point = smaller
        if point not in found:
            found.append(point)
    return found


def _point(own: Mapping[str, int], steps: Mapping[str, int], share: float, more: int) -> dict[str, int]:
    return {name: (int(value * share) // steps[name] + more) * steps[name] for name, value in own.items()}


def _bytes(specs: Mapping[str, Spec], point: Mapping[str, int]) -> int:
    return sum(value_bytes(spec) for _, spec in memory_specs(with_sizes(specs, point)))


def _divisibilities(specs: Mapping[str, Spec]) -> dict[str, int]:
    """What each named size, also a stride, is a multiple of, by all specs together."""
    found: dict[str, int] = {}
    for _, spec in memory_specs(specs):
        if isinstance(spec, TensorSpec):
            for mode in (*leaves(spec.shape), *leaves(spec.stride or ())):
                if isinstance(mode, Dynamic) and mode.name:
                    found[mode.name] = math.lcm(found.get(mode.name, 1), mode.divisibility)
    return found
