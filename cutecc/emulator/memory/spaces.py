"""How addresses say which memory they mean.

A generic address of global memory is the address that the host passed. The other state spaces lie in windows of the
generic address space, told apart by the top byte. Within its window an address is an offset.
"""

from __future__ import annotations

from typing import Final

APERTURE_SHIFT: Final = 56
SHARED_APERTURE: Final = 1 << APERTURE_SHIFT
LOCAL_APERTURE: Final = 2 << APERTURE_SHIFT
PARAM_APERTURE: Final = 3 << APERTURE_SHIFT
MODULE_APERTURE: Final = 4 << APERTURE_SHIFT
"""Variables of the module, `.global` and `.const`."""
FUNCTION_APERTURE: Final = 5 << APERTURE_SHIFT
"""Functions, which have addresses and no bytes."""

APERTURES: Final = {
    "shared": SHARED_APERTURE,
    "local": LOCAL_APERTURE,
    "param": PARAM_APERTURE,
    "module": MODULE_APERTURE,
}
SPACE_OF_TOP: Final = {
    0: "global",
    **{aperture >> APERTURE_SHIFT: space for space, aperture in APERTURES.items()},
}
"""State space by the top byte of a generic address."""
OFFSET_MASK: Final = SHARED_APERTURE - 1
"""What remains of a generic address without its window."""

CLUSTER_SHIFT: Final = 24
"""A `shared::cluster` address is `(rank + 2) << 24 | offset`; below `1 << 24` it is the own block's."""
FIRST_RANK: Final = 2
"""What is added to a rank there. It is even: kernels clear the lowest bit of a rank for the first block of a pair."""
CLUSTER_OFFSET_MASK: Final = (1 << CLUSTER_SHIFT) - 1
SHARED_ADDRESS_MASK: Final = (1 << 32) - 1


def base_space(space: str) -> str:
    """The state space of a modifier: `shared::cluster` is `shared`, `param::entry` is `param`."""
    return space.partition("::")[0]
