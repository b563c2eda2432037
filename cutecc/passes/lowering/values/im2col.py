"""TMA's descriptors of images that copies walk pixel by pixel, and the coordinates of a convolution's matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cutecc.errors import Error
from cutecc.ir.mlir import arith, cf, ir
from cutecc.ir.types import CopyAtom, view
from cutecc.layout import ComposedLayout, Layout
from cutecc.layout.functions import View
from cutecc.layout.im2col import Window, im2col
from cutecc.layout.integers import Integer, add, multiply, subtract
from cutecc.layout.tuples import modes as as_modes
from cutecc.passes.lowering.values.descriptors import either, joined, shifted, tensor_words
from cutecc.passes.lowering.values.integers import Arithmetic, Predicate, compare, constant, word
from cutecc.passes.lowering.values.leaves import Leaves, carried_by
from cutecc.passes.lowering.values.materialize import algebraic, evaluate
from cutecc.passes.lowering.values.tma_modes import Mode
from cutecc.passes.lowering.values.vector_accesses import Tensor

_CORNER_BITS = {1: 16, 2: 8, 3: 5}
"""Of one mode, by how many modes of pixels there are; how far a tap is has as many, and no sign."""
_MOST_STRIDE = 8
_MOST_PIXELS = 1024


@dataclass(frozen=True)
class Columns:
    """What is said of a convolution where its atom is made."""

    window: Window
    taps: tuple[Integer, ...]
    """How many the filter has, by mode of pixels."""
    arithmetic: Arithmetic
    """Knows the variables of both."""
    coordinates: list[ir.Value]
    """What the tensor of coordinates carries."""

    @classmethod
    def of(cls, operation: ir.Operation, leaves: Leaves) -> Columns:
        """Those of `make_non_exec_im2col_tma_load`, or of `…_store`, which has no window.

        Raises `Error` where the window does not fit the images.
        """
        operands = list(operation.operands)
        arithmetic = Arithmetic(dict(_variables(operands, leaves)))
        images, _, _, *window = [algebraic(view(operand.type), index) for index, operand in enumerate(operands)]
        atom = view(operation.results[0].type)
        assert isinstance(atom, CopyAtom)
        channel, pixel = (step.path[0] for step in atom.parameters["tma_gbasis"].stride)
        pixels, channels = as_modes(images.shape[pixel]), images.shape[channel]
        laid = Window(*map(as_modes, window)) if window else Window.of_one_tap(len(pixels) - 1)
        matrix = im2col(pixels, channels, laid, pixels_first=pixel < channel)
        _, numbers = evaluate(operation, lambda *_, **__: [(), View(matrix.layout, matrix.offset)]).numbers
        carried = carried_by(operation.results[1].type)
        assert carried is not None
        found = [
            arithmetic.value(number, ir.IntegerType(type).width)
            for number, type in zip(numbers, carried.types, strict=True)
        ]
        return cls(laid, matrix.taps, arithmetic, found)

    def descriptor(
        self, atom: CopyAtom, tensor: Tensor, found: Sequence[Mode], pixels: int, shared: Layout | ComposedLayout
    ) -> ir.Value:
        """The descriptor of images, of modes `found`, for copies of so many pixels.

        It is of type `DESCRIPTOR`. Raises `Error` for what TMA cannot copy.
        """
        if pixels > _MOST_PIXELS:
            raise Error(f"TMA copies at most {_MOST_PIXELS} pixels at once, not {pixels}")
        one = constant(1, 64)
        steps = [one, *map(self._wide, self.window.stride), one]
        bits = _CORNER_BITS[len(self.window.stride)]
        corners = [
            shifted(arith.andi(self._wide(corner), constant((1 << bits) - 1, 64)), first + bits * mode)
            for first, each in ((0, self.window.lower_corner), (16, self.window.upper_corner))
            for mode, corner in enumerate(each)
        ]
        last = either([*corners, word(pixels - 1 << 32)])
        return joined([*tensor_words(atom, tensor, found, shared, steps), last])

    def assert_walkable(self) -> None:
        """Assert that a descriptor, and its copies, have room for corners, strides and taps; TMA would take others.

        Raises `Error` for those that the types say.
        """
        bits = _CORNER_BITS[len(self.window.stride)]
        corner, far = (-(1 << bits - 1), (1 << bits - 1) - 1), (0, (1 << bits) - 1)
        window = self.window
        last = [
            add(first, multiply(subtract(count, 1), step))
            for first, count, step in zip(window.first_tap, self.taps, window.tap_stride, strict=True)
        ]
        for what, numbers, (least, most) in (
            ("lower corner", window.lower_corner, corner),
            ("upper corner", window.upper_corner, corner),
            ("stride", window.stride, (1, _MOST_STRIDE)),
            ("first tap", window.first_tap, far),
            ("last tap", last, far),
        ):
            for mode, number in enumerate(numbers):
                message = f"the {what} along mode {mode} of a convolution's pixels, for TMA, is not {least} to {most}"
                self._assert_between(number, least, most, message)

    def _assert_between(self, number: Integer, least: int, most: int, message: str) -> None:
        if isinstance(number, int):
            if not least <= number <= most:
                raise Error(f"{message}, but {number}")
            return
        wide = self._wide(number)
        above = compare(Predicate.AT_LEAST, wide, constant(least, 64))
        holds = arith.andi(above, compare(Predicate.LESS, wide, constant(most + 1, 64)))
        cf.assert_(holds, message)

    def _wide(self, number: Integer) -> ir.Value:
        return self.arithmetic.value(number, 64)


def _variables(operands: Sequence[ir.Value], leaves: Leaves) -> Iterator[tuple[str, ir.Value]]:
    """The leaves of operands, by what `algebraic` calls them."""
    for index, operand in enumerate(operands):
        carried = carried_by(operand.type)
        if carried is not None:
            for name, leaf in zip(carried.names, leaves.of(operand), strict=True):
                yield f"{index}.{name}", leaf
