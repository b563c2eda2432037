"""TMA's descriptors of images that copies walk pixel by pixel, and the coordinates of a convolution's matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cutecc.errors import Error
from cutecc.ir.mlir import arith, cf, ir
from cutecc.ir.types import CopyAtom, view
from cutecc.layout import ComposedLayout, Layout
from cutecc.layout.functions import View
from cutecc.layout.im2col import Im2col, Window, im2col
from cutecc.layout.integers import Integer, add, multiply, subtract
from cutecc.layout.tuples import modes as as_modes
from cutecc.passes.lowering.values.descriptors import either, joined, shifted, tensor_words
from cutecc.passes.lowering.values.integers import Arithmetic, Predicate, compare, constant, word
from cutecc.passes.lowering.values.leaves import Leaves, carried_by
from cutecc.passes.lowering.values.materialize import algebraic, evaluate
from cutecc.passes.lowering.values.tma_modes import Mode, image_steps
from cutecc.passes.lowering.values.vector_accesses import Tensor

_CORNER_BITS = {1: 16, 2: 8, 3: 5}
"""Of one mode, by how many modes of pixels there are; how far a tap is has as many, and no sign."""
_MOST_STRIDE = 8
_MOST_PIXELS = 1024


@dataclass(frozen=True)
class Columns:
    """What is said of a convolution where its atom is made."""

    window: Window
    matrix: Im2col
    arithmetic: Arithmetic
    """Knows the variables of both."""

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
        channel, pixel = (step.path[0] for step in image_steps(atom))
        pixels, channels = as_modes(images.shape[pixel]), images.shape[channel]
        laid = Window(*map(as_modes, window)) if window else Window.of_one_tap(len(pixels) - 1)
        return cls(laid, im2col(pixels, channels, laid, pixels_first=pixel < channel), arithmetic)

    def coordinates(self, operation: ir.Operation) -> list[ir.Value]:
        """What the tensor of coordinates carries, which is the second result of `operation`."""
        _, numbers = evaluate(operation, lambda *_, **__: [(), View(self.matrix.layout, self.matrix.offset)]).numbers
        carried = carried_by(operation.results[1].type)
        assert carried is not None
        return [
            self.arithmetic.value(number, ir.IntegerType(type).width)
            for number, type in zip(numbers, carried.types, strict=True)
        ]

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
        window, taps = self.window, self.matrix.taps
        bits = _CORNER_BITS[len(taps)]
        corner, far = (-(1 << bits - 1), (1 << bits - 1) - 1), (0, (1 << bits) - 1)
        self._assert_within("lower corner", window.lower_corner, corner)
        self._assert_within("upper corner", window.upper_corner, corner)
        self._assert_within("stride", window.stride, (1, _MOST_STRIDE))
        for mode, step in enumerate(window.tap_stride):
            if not isinstance(step, int):
                apart = compare(Predicate.NOT_EQUAL, self._wide(step), constant(0, 64))
                cf.assert_(apart, f"the taps along mode {mode} of a convolution's pixels, for TMA, are no step apart")
        self._assert_within("first tap", window.first_tap, far)
        steps = zip(window.first_tap, taps, window.tap_stride, strict=True)
        last = [add(first, multiply(subtract(count, 1), step)) for first, count, step in steps]
        self._assert_within("last tap", last, far)

    def _assert_within(self, what: str, numbers: Sequence[Integer], bounds: tuple[int, int]) -> None:
        """Assert that a number of each mode of pixels is within bounds. Raises `Error` where it is known not to be."""
        least, most = bounds
        for mode, number in enumerate(numbers):
            message = f"the {what} along mode {mode} of a convolution's pixels, for TMA, is not {least} to {most}"
            if not isinstance(number, int):
                wide = self._wide(number)
                above = compare(Predicate.AT_LEAST, wide, constant(least, 64))
                cf.assert_(arith.andi(above, compare(Predicate.LESS, wide, constant(most + 1, 64))), message)
            elif not least <= number <= most:
                raise Error(f"{message}, but {number}")

    def _wide(self, number: Integer) -> ir.Value:
        return self.arithmetic.value(number, 64)


def _variables(operands: Sequence[ir.Value], leaves: Leaves) -> Iterator[tuple[str, ir.Value]]:
    """The leaves of operands, by what `algebraic` calls them."""
    for index, operand in enumerate(operands):
        carried = carried_by(operand.type)
        if carried is not None:
            for name, leaf in zip(carried.names, leaves.of(operand), strict=True):
                yield f"{index}.{name}", leaf
