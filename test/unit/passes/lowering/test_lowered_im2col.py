"""TMA's im2col copies in both pipelines: convolutions' matrices of any window, and the descriptors that say it."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from emulated_runs import EmulatedKernels
from hypothesis import given, settings
from hypothesis import strategies as st
from launches import host_program, launched

from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.specs import Spec
from cutecc.emulator.tensor_map import Im2colMap, decode
from cutecc.errors import LaunchError
from cutecc.kernel import Kernel
from cutecc.runtime.launch import TENSOR_MAP_BYTES

KERNEL = Path(__file__).with_name("kernels") / "im2col.py"
PIPELINES = ("nvidia", "open")
TILE = (32, 16)
ADDRESS = 0x7F00_0000_0000


@dataclass(frozen=True)
class Convolution:
    """Images and a window, by mode of pixels, the innermost first."""

    images: int
    channels: int
    sizes: tuple[int, ...]
    taps: tuple[int, ...]
    before: tuple[int, ...]
    behind: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Pixels of the result; none where the filter is larger than the image and what is around it."""
        return tuple(
            (size + before + behind - (taps - 1) * dilation - 1) // stride + 1
            for size, taps, before, behind, stride, dilation in zip(self.sizes, *self.window, strict=True)
        )

    @property
    def window(self) -> tuple[tuple[int, ...], ...]:
        return self.taps, self.before, self.behind, self.stride, self.dilation

    @property
    def rows(self) -> int:
        return self.images * math.prod(self.counts)

    @property
    def columns(self) -> int:
        return self.channels * math.prod(self.taps)

    @property
    def upper(self) -> tuple[int, ...]:
        """The upper corner."""
        reach = ((taps - 1) * step for taps, step in zip(self.taps, self.dilation, strict=True))
        return tuple(behind - far for behind, far in zip(self.behind, reach, strict=True))

    @property
    def leaves(self) -> list[int]:
        """What the host program takes."""
        sizes = [self.images, *self.sizes[::-1], self.channels]
        strides = [math.prod(sizes[mode + 1 :]) for mode in range(len(sizes) - 1)]
        x = [ADDRESS, *sizes, *strides]
        # Nothing asks for the sizes of y.
        y = [ADDRESS, 1, 8, 8]
        return [*x, *y, *(number for each in self.window for number in each)]


def convolutions(modes: int, most: int = 9) -> st.SearchStrategy[Convolution]:
    """Such as have pixels in their result."""
    per_mode = {"taps": st.integers(1, 4), "stride": st.integers(1, 8), "dilation": st.integers(1, 3)}
    padding = st.integers(0, 3)
    drawn = st.builds(
        Convolution,
        images=st.integers(1, 3),
        channels=st.integers(1, 5).map(lambda eighths: 8 * eighths),
        sizes=st.tuples(*[st.integers(1, most)] * modes),
        before=st.tuples(*[padding] * modes),
        behind=st.tuples(*[padding] * modes),
        **{name: st.tuples(*[strategy] * modes) for name, strategy in per_mode.items()},
    )
    return drawn.filter(lambda each: min(each.counts) > 0)


def specs(modes: int, convolution: Convolution | None = None, **constants: Any) -> dict[str, Spec]:
    """Of the kernel's arguments: for images of so many modes of pixels, with the numbers of a convolution."""
    names = ("taps", "before", "behind", "stride", "dilation")
    values = convolution.window if convolution is not None else ((1,) * modes,) * len(names)
    sizes = ", ".join(f"?{name}" for name in "DHW"[3 - modes :])
    found = {"x": f"f16[?N, {sizes}, ?C{{div=8}}] align=16", "y": "f16[?M, ?K] align=16"}
    for name, numbers in zip(names, values, strict=True):
        found[name] = f"({', '.join(f'i32={number}' for number in numbers)},)"
    found |= {name: f"const({value!r})" for name, value in constants.items()}
    return {name: parse_spec(text) for name, text in found.items()}


def compiled(emulated: EmulatedKernels, modes: int, pipeline: str, **constants: Any) -> Kernel:
    return emulated.compile(KERNEL, pipeline, args=specs(modes, **constants))


def agrees(emulated: EmulatedKernels, kernel: Kernel, convolution: Convolution) -> None:
    """The matrix is numpy's."""
    modes = len(convolution.sizes)
    sizes = {"N": convolution.images, "C": convolution.channels, "M": convolution.rows, "K": convolution.columns}
    sizes |= dict(zip("WHD", convolution.sizes, strict=False))
    emulated.agrees(kernel, KERNEL, args=specs(modes, convolution), sizes=sizes)


RAGGED = {
    1: Convolution(3, 24, (13,), (3,), (2,), (1,), (2,), (3,)),
    2: Convolution(2, 40, (11, 6), (3, 2), (1, 0), (2, 1), (2, 1), (1, 2)),
    3: Convolution(2, 8, (5, 4, 3), (2, 3, 2), (1, 1, 0), (0, 2, 1), (1, 2, 3), (2, 1, 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize(("blocks", "transposed"), [(1, False), (2, False), (1, True), (4, True)])
@pytest.mark.parametrize("modes", RAGGED)
def test_the_matrix_is_that_of_the_reference(
    emulated: EmulatedKernels, modes: int, blocks: int, transposed: bool, pipeline: str
) -> None:
    kernel = compiled(emulated, modes, pipeline, blocks=blocks, transposed=transposed)
    agrees(emulated, kernel, RAGGED[modes])


@pytest.mark.slow
@pytest.mark.parametrize("modes", RAGGED)
def test_any_window(emulated: EmulatedKernels, modes: int) -> None:
    kernels = [compiled(emulated, modes, pipeline) for pipeline in PIPELINES]

    @given(convolutions(modes, most=7))
    @settings(max_examples=8, deadline=None)
    def check(convolution: Convolution) -> None:
        for kernel in kernels:
            agrees(emulated, kernel, convolution)

    check()


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("modes", RAGGED)
def test_descriptors_and_coordinates_are_those_of_the_wheel(emulated: EmulatedKernels, modes: int, blocks: int) -> None:
    """Bit for bit, and what the emulator reads in them is the convolution."""
    programs = [host_program(compiled(emulated, modes, pipeline, blocks=blocks)) for pipeline in PIPELINES]

    @given(convolutions(modes, most=300))
    @settings(max_examples=100, deadline=None)
    def check(convolution: Convolution) -> None:
        wheel, ours = (launched(program, convolution.leaves) for program in programs)
        assert ours == wheel
        described = decode(ours[1][:TENSOR_MAP_BYTES])
        assert isinstance(described, Im2colMap)
        assert described.pixels == TILE[0] // blocks
        assert described.lower == tuple(-size for size in convolution.before)
        assert described.upper == convolution.upper
        assert described.tensor.sizes == (convolution.channels, *convolution.sizes, convolution.images)
        assert described.tensor.box == (TILE[1], *(1 for _ in range(modes + 1)))
        assert described.tensor.element_strides == (1, *convolution.stride, 1)

    check()


CORNERS = {1: 32768, 2: 128, 3: 16}


@pytest.mark.parametrize("modes", CORNERS)
def test_what_a_descriptor_has_no_room_for_is_refused(emulated: EmulatedKernels, modes: int) -> None:
    program, most = host_program(compiled(emulated, modes, "open")), CORNERS[modes]
    last = modes - 1
    # One mode of pixels is as large as it takes; the others have one pixel.
    at = functools.partial(along, modes)
    for fits, too_much, message in (
        (at(before=most), at(before=most + 1), f"the lower corner along mode {last} .* is not {-most} to {most - 1}"),
        (at(behind=most - 1), at(behind=most), f"the upper corner along mode {last} .* is not {-most} to {most - 1}"),
        (at(stride=8), at(stride=9), f"the stride along mode {last} .* is not 1 to 8"),
        (at(stride=1), at(stride=0), f"the stride along mode {last} .* is not 1 to 8"),
        (at(stride=1), at(stride=-1), f"the stride along mode {last} .* is not 1 to 8"),
        (at(dilation=1), at(dilation=0), f"the taps along mode {last} .* are no step apart"),
        (
            at(taps=most, dilation=2, behind=most),
            at(taps=most + 1, dilation=2, behind=most),
            f"the last tap along mode {last} .* is not 0 to {2 * most - 1}",
        ),
    ):
        launched(program, fits.leaves)
        with pytest.raises(LaunchError, match=message):
            launched(program, too_much.leaves)


def along(modes: int, **numbers: int) -> Convolution:
    """Of one pixel in each mode but the last, along which there is room for a window with these numbers."""
    names: Mapping[str, int] = {"taps": 1, "before": 0, "behind": 0, "stride": 1, "dilation": 1}
    window = {name: (*(usual for _ in range(modes - 1)), numbers.get(name, usual)) for name, usual in names.items()}
    return Convolution(1, 8, (*(1 for _ in range(modes - 1)), 70000), **window)
