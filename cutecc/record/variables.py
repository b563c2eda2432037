"""Memory of a kernel that the user's source names: what stands behind an address of shared memory, or a register."""

from __future__ import annotations

from typing import Literal

import msgspec


class Variable(msgspec.Struct, frozen=True):
    """A tensor, an array, a member of a struct or a fragment."""

    kernel: str
    """The symbol of the kernel that has it."""
    space: Literal["shared", "registers"]
    name: str
    """As the source calls it: `tile`, `storage.sA`."""
    location: str | None = None
    """`file:line:column` of the call that makes it."""
    offset: int = 0
    """Of shared memory: bytes from where the kernel's dynamic shared memory begins."""
    bytes: int = 0
    element_bits: int = 8
    modes: list[list[tuple[int, int]]] = []
    """Of each mode of its layout, size and stride of the modes inside, the fastest first; none where it is no tensor,
    or only the running kernel knows its layout."""
    swizzle: tuple[int, int, int] | None = None
    """Bits, base and shift, of bytes."""
    uses: list[str] = []
    """Of a fragment: `file:line:column` of what reads or writes it."""
    accumulates: list[str] = []
    """Of a fragment: of the multiplications that add to it."""
