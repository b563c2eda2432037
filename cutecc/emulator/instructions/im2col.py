"""The pixels that a load by a descriptor for im2col takes: rows of the matrix that a convolution multiplies.

Pixels of a box that may hang over the image, one after the other, innermost mode first, and images after that. The
offsets, of the filter's tap, are added to each pixel's coordinates; what is outside of the tensor then is filled.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.emulator.instructions.tensor_box import Box
from cutecc.emulator.tensor_map import Im2colMap


def columns(matrix: Im2colMap, coordinates: Sequence[int], offsets: Sequence[int]) -> list[Box]:
    """The channels of each pixel."""
    tensor = matrix.tensor
    channel, *pixel, image = coordinates
    ends = [size + upper for size, upper in zip(tensor.sizes[1:-1], matrix.upper, strict=True)]
    found: list[Box] = []
    for _ in range(matrix.pixels):
        taken = (each + offset for each, offset in zip(pixel, offsets, strict=True))
        found.append(Box.at(tensor, (channel, *taken, image)))
        for mode, stride in enumerate(tensor.element_strides[1:-1]):
            pixel[mode] += stride
            if pixel[mode] < ends[mode]:
                break
            pixel[mode] = matrix.lower[mode]
        else:
            image += 1
    return found
