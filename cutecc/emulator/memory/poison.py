"""What is in memory and registers before anything is written.

Kernels that read it are wrong, and a GPU may still give them zeros: here it shows. The word is no number as `f32`, in
each half as `f16` and `bf16`, twice as `f64`, and in each of its bytes or the highest as an 8-bit float; as an integer
it is the largest, which no index or count is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, get_args

if TYPE_CHECKING:
    from numpy.typing import NDArray

SharedStart = Literal["poison", "zero"]
"""How shared memory begins."""
SHARED_STARTS: Final = get_args(SharedStart)
_WORD: Final = 0x7FFF_FFFF
POISON: Final = {1: 0x7F, 2: 0x7FFF, 4: _WORD, 8: _WORD << 32 | _WORD}
"""In a register, by its bytes. A predicate is false."""


def poison(data: NDArray[Any]) -> None:
    """Fill memory, whose size and alignment are multiples of 4 bytes."""
    data.view("u4")[:] = _WORD
