"""Views of atoms, the smallest copies and matrix products that hardware does at once, and of their tilings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cutecc.ir.types.elements import Scalar
from cutecc.ir.types.values import Element
from cutecc.layout import Layout, Tile


class Parameters(Mapping[str, Any]):
    """What else an atom's type says, by the names in its text; a value, like the views that hold it."""

    __slots__ = ("_items",)

    def __init__(self, **items: Any) -> None:
        self._items = items

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"Parameters({', '.join(f'{name}={value!r}' for name, value in self._items.items())})"

    def with_(self, **items: Any) -> Parameters:
        """The same with some of them changed; one that becomes `None` goes."""
        merged = self._items | items
        return Parameters(**{name: value for name, value in merged.items() if value is not None})


@dataclass(frozen=True, slots=True)
class CopyAtom:
    """A copy that one instruction does: `!cute_nvgpu.atom.*`.

    The thread-value layouts map (thread, value) to a place in the block of elements that the atom copies. They follow
    from the rest; leave them out to make an atom.
    """

    kind: str
    """The type's name after `atom.`: `universal_copy`, `ldsm`, `tma_load` and so on."""
    element: Element
    parameters: Parameters = field(default_factory=Parameters)
    """Such as `copy_bits`; `atom.parameters["num_matrices"]`."""
    thread_id: Layout | None = None
    """Which threads take part: from an index among them to the thread."""
    source_tv: Layout | None = None
    destination_tv: Layout | None = None


@dataclass(frozen=True, slots=True)
class MmaAtom:
    """A matrix product that one instruction does: `!cute_nvgpu.sm90.mma` and its like.

    The thread-value layouts map (thread, value) to a place in A (M, K), B (N, K) and C (M, N). They follow from the
    rest; leave them out to make an atom.
    """

    kind: str
    """The type's name: `sm80.mma`, `sm100.mma_bs`, `atom.universal_fma` and so on."""
    shape_mnk: tuple[int, ...]
    element_a: Scalar
    element_b: Scalar
    element_c: Scalar
    """Of the accumulator too."""
    major_a: str | None = None
    """`k` or `mn`, the mode that is contiguous in shared memory; `None` where the instruction leaves no choice."""
    major_b: str | None = None
    parameters: Parameters = field(default_factory=Parameters)
    """Such as `frag_kind`: `ss` for A and B in shared memory, `rs` for A in registers, `ts` for A in tensor memory."""
    thread_id: Layout | None = None
    """Which threads, or on Blackwell blocks, take part: from an index among them to the thread."""
    a_tv: Layout | None = None
    b_tv: Layout | None = None
    c_tv: Layout | None = None


@dataclass(frozen=True, slots=True)
class TiledCopy:
    """`!cute.tiled_copy`: an atom repeated over threads and values until it covers a tile."""

    atom: CopyAtom
    layout_tv: Layout
    """From (thread, value) to a place in the tile, counted leftmost mode fastest."""
    tiler: Tile
    """The tile, mode by mode."""
    source_tv: Layout | None = None
    """`layout_tv` as the atom's source sees it; follows from the rest. `None` for a tiling that has no such layout."""
    destination_tv: Layout | None = None


@dataclass(frozen=True, slots=True)
class TiledMma:
    """`!cute.tiled_mma`: an atom repeated over M, N and K."""

    atom: MmaAtom
    atom_layout_mnk: Layout
    """How atoms lie over M, N and K; its size is their number."""
    permutation_mnk: Tile = None
    """The tile that is covered, mode by mode, `None` where it is what the atoms cover."""
    thread_layout_vmnk: Layout | None = None
    """From (thread of the atom, atom along M, N, K) to the thread; follows from the rest, as do the following."""
    a_tv: Layout | None = None
    b_tv: Layout | None = None
    c_tv: Layout | None = None
