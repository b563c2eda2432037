"""A convolution as an operator of torch: tensors are (N, C, H, W), with their channels last in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from cutecc.errors import UsageError
from cutecc.operations.arguments import operands_of
from cutecc.operations.convolution.operation import Convolution
from cutecc.operations.torch_types import TYPES

_DEFAULTS: dict[str, Any] = {"stride": (1,), "padding": (0,), "dilation": (1,), "groups": 1}
"""torch leaves out what is as by default."""


class ConvolutionForm:
    """A convolution with stride, padding, dilation and groups as torch's functions have them."""

    def __init__(self, op: Convolution) -> None:
        """Raises `UsageError` for tensors with 32 channels together."""
        if any(each.is_interleaved for each in operands_of(op.description.gemm).values()):
            raise UsageError("an operator of torch takes tensors in torch's order, and this operation interleaved ones")
        self._description, rank = op.description, op.rank
        self.tensors: list[str] = []
        self.settings = [f"int[{rank}] stride=1", f"int[{rank}] padding=0", f"int[{rank}] dilation=1", "int groups=1"]
        if op.description.kind == "dgrad":
            self.settings.append("SymInt[]? image=None")
        if op.description.kind == "wgrad":
            self.settings.insert(0, "SymInt[] filter")

    def results(self, torch: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        first, *spatial, channels = self._shape(torch, given)
        pixels = first if self._description.kind == "wgrad" else first * prod(spatial)
        columns = prod(spatial) * channels if self._description.kind == "wgrad" else channels
        made: dict[str, Any] = {}
        for each in self._description.gemm.epilogue.outputs:
            dtype = getattr(torch, TYPES[each.dtype])
            if each.kind == "full":
                made[each.name] = given["A"].new_empty((first, *spatial, channels), dtype=dtype).movedim(-1, 1)
            else:
                shape = {"row": (columns,), "column": (pixels,)}.get(each.kind, ())
                made[each.name] = given["A"].new_empty(shape, dtype=dtype)
        return made

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        rank = self._description.rank
        others = _DEFAULTS | {name: value for name, value in given.items() if name not in ("image", "filter")}
        return others | {"padding": pairs(others["padding"], rank)}

    def _shape(self, torch: Any, given: Mapping[str, Any]) -> list[Any]:
        """Of D, with its channels last."""
        given = _DEFAULTS | dict(given)
        a, b, rank, kind = given["A"], given["B"], self._description.rank, self._description.kind
        torch._check(a.dim() == b.dim() == rank + 2, lambda: f"A and B have {rank + 2} modes")
        if kind == "wgrad":
            return [a.shape[1], *given["filter"], b.shape[1] // given["groups"]]
        stride, dilation = (spread(given[name], rank) for name in ("stride", "dilation"))
        around = [sum(each) for each in pairs(given["padding"], rank)]
        steps = list(zip(a.shape[2:], b.shape[2:], around, stride, dilation, strict=True))
        if kind == "dgrad":
            if given.get("image") is not None:
                return [a.shape[0], *given["image"], b.shape[1] * given["groups"]]
            least = [(size - 1) * step + apart * (taps - 1) + 1 - zeros for size, taps, zeros, step, apart in steps]
            return [a.shape[0], *least, b.shape[1] * given["groups"]]
        outputs = [(size + zeros - apart * (taps - 1) - 1) // step + 1 for size, taps, zeros, step, apart in steps]
        return [a.shape[0], *outputs, b.shape[0]]


def spread(values: Sequence[int], rank: int) -> tuple[int, ...]:
    """One number for each spatial mode; a single one is for all."""
    return tuple(values) * rank if len(values) == 1 else tuple(values)


def pairs(padding: Sequence[int], rank: int) -> tuple[tuple[int, int], ...]:
    """The zeros before and behind each spatial mode, of one number for all, one for each, or two for each."""
    if len(padding) == 2 * rank:
        return tuple(zip(padding[::2], padding[1::2], strict=True))
    return tuple((each, each) for each in spread(padding, rank))
