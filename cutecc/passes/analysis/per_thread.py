"""Values that follow from a thread's index alone, computed for each thread of a block."""

from __future__ import annotations

import numpy as np

from cutecc.ir.mlir import ir
from cutecc.memory_rules.warps import WARP, Array
from cutecc.passes.analysis import lanes
from cutecc.passes.analysis.operations import width_of

_LARGEST_CLUSTER = 16
_MOST_DEEP = 100
"""Operations between an index and what is made of it; longer ways are not followed."""

Values = tuple[int, ...]
"""One for each thread, by linear index."""

_RESIZING = {
    "arith.extsi": True,
    "arith.extui": False,
    "arith.trunci": True,
    "arith.index_cast": True,
    "arith.index_castui": False,
}
"""And whether they keep the sign."""
_KNOWN = (
    *(f"arith.{name}" for name in (*lanes.BINARY, "floordivsi", "cmpi", "select")),
    *_RESIZING,
    "cute_nvgpu.arch.make_warp_uniform",
)
_AXES = "xyz"


class ThreadValues:
    """What values of a kernel are in each thread, where the shape of its block is known."""

    def __init__(self, shape: tuple[int, int, int], rank: int | None = None) -> None:
        """`shape` is that of the block, x first; `rank` the block's in its cluster, where that may count too."""
        self._shape = shape
        self._rank = rank
        self.threads = shape[0] * shape[1] * shape[2]
        self._known: dict[ir.Value, Array | None] = {}

    def of(self, value: ir.Value) -> Values | None:
        """What `value` is in each thread; `None` when more than the thread's index decides."""
        with np.errstate(all="ignore"):
            found = self._of(value, 0)
        return None if found is None else tuple(found.tolist())

    def in_cluster(self, value: ir.Value) -> list[Values] | None:
        """What `value` is in each thread of the block of each rank; `None` when more decides."""
        found: list[Values] = []
        for rank in range(_LARGEST_CLUSTER):
            known = ThreadValues(self._shape, rank).of(value)
            if known is None:
                return None
            found.append(known)
        return found

    def _of(self, value: ir.Value, depth: int) -> Array | None:
        """Of the shape `(threads,)`, and the type of the value's width."""
        if value not in self._known:
            self._known[value] = None if depth > _MOST_DEEP else self._computed(value, depth + 1)
        return self._known[value]

    def _computed(self, value: ir.Value, depth: int) -> Array | None:
        width = width_of(value.type)
        if isinstance(value.owner, ir.Block) or not width:
            return None
        operation = value.owner.operation
        name = operation.name
        if name == "arith.constant":
            number = ir.IntegerAttr(operation.attributes["value"]).value
            return lanes.of_width(np.full(self.threads, lanes.normalised(number, width)), width)
        if name.startswith("nvvm.read.ptx.sreg."):
            found = self._register(name.removeprefix("nvvm.read.ptx.sreg."))
            return None if found is None else lanes.of_width(found, width)
        if name == "nvvm.elect.sync":
            # One thread of each warp; which one does not matter.
            return lanes.of_width((np.arange(self.threads) % WARP == 0).astype(np.int64), width)
        if name not in _KNOWN:
            return None
        operands = [known for each in operation.operands if (known := self._of(each, depth)) is not None]
        return self._made(operation, operands, width) if len(operands) == len(operation.operands) else None

    def _made(self, operation: ir.Operation, operands: list[Array], width: int) -> Array | None:
        """What an operation makes of known operands."""
        name, source = operation.name, width_of(operation.operands[0].type)
        first, *others = operands
        found: lanes.Value = None
        if name in _RESIZING:
            found = lanes.resized(first, width, signed=_RESIZING[name], source=source)
        elif name == "cute_nvgpu.arch.make_warp_uniform":
            threads = np.arange(self.threads)
            found = first[threads - threads % WARP]
        elif name == "arith.select":
            found = lanes.selected(lanes.as_mask(first), others[0], others[1], width)
        elif name == "arith.cmpi":
            predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
            found = lanes.compared(predicate, first, others[0], source)
        elif ("div" in name or "rem" in name) and not others[0].all():
            return None
        elif name == "arith.floordivsi":
            found = first // others[0]
        elif compute := lanes.binary(name.removeprefix("arith."), width):
            found = compute(first, others[0])
        return found if isinstance(found, np.ndarray) else None

    def _register(self, name: str) -> Array | None:
        threads = np.arange(self.threads)
        width, height, _ = self._shape
        match name.partition("."):
            case "tid", _, axis:
                place = _AXES.index(axis)
                return threads // (1, width, width * height)[place] % self._shape[place]
            case "ntid", _, axis:
                return np.full(self.threads, self._shape[_AXES.index(axis)])
            case "cluster", _, "ctarank" if self._rank is not None:
                return np.full(self.threads, self._rank)
            case "laneid", _, _:
                return threads % WARP
            case _:
                return None


def block_shape(kernel: ir.Operation) -> tuple[int, int, int] | None:
    """The shape of the block that `kernel` is always launched with, x first; `None` when it says of none."""
    if "nvvm.reqntid" not in kernel.attributes:
        return None
    sizes = list(ir.DenseI32ArrayAttr(kernel.attributes["nvvm.reqntid"]))
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
