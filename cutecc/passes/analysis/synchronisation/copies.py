"""How many bytes each copy by the TMA moves: the traced module says it in the types of atoms, the lowered one not."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.ir.mlir import ir
from cutecc.ir.pass_context import memo
from cutecc.ir.types import CopyAtom, view
from cutecc.passes import walk
from cutecc.passes.analysis.device_code import walk_device

_MULTICAST = "mcast = true"
_KEY = "bytes of copies by the TMA"
_MADE = "cute_nvgpu.atom.make_non_exec_tiled_tma_load"
_BYTE = 8


def remember_copies(module: ir.Module) -> None:
    """Keep for the rest of the compilation what one instruction of each copy of a traced module moves to a block."""
    copies = [copy for copy in walk_device(module, "cute.copy") if "tma" in str(copy.operands[0].type)]
    shares = _shares(module) if copies else {}
    found: dict[tuple[str, bool], list[int | None]] = {}
    for copy in copies:
        atom = view(copy.operands[0].type)
        if isinstance(atom, CopyAtom) and "copy_bits" in atom.parameters:
            is_multicast = _MULTICAST in str(copy.operands[0].type)
            among = shares.get(_kind(atom), set()) - {1} if is_multicast else {1}
            size = int(atom.parameters["copy_bits"]) // _BYTE
            each = size // next(iter(among)) if len(among) == 1 else None
            found.setdefault((_place(copy), is_multicast), []).append(each)
    memo()[_KEY] = found


def bytes_of_copies(copies: Sequence[tuple[ir.Operation, bool]]) -> dict[ir.Operation, int]:
    """What instructions of the lowered module move to one block each: all of the kernels', and whether to several.

    Left out are those of which the traced module does not say it, or was not seen.
    """
    known: dict[tuple[str, bool], list[int | None]] = memo().get(_KEY, {})
    by_place: dict[tuple[str, bool], list[ir.Operation]] = {}
    for operation, is_multicast in copies:
        by_place.setdefault((_place(operation), is_multicast), []).append(operation)
    found: dict[ir.Operation, int] = {}
    for place, operations in by_place.items():
        sizes = known.get(place, [])
        if len(set(sizes)) == 1:
            sizes = sizes[:1] * len(operations)
        if len(sizes) == len(operations):
            # A loop that Python unrolls leaves several copies at a line, one after another.
            found |= {each: size for each, size in zip(operations, sizes, strict=True) if size is not None}
    return found


def _shares(module: ir.Module) -> dict[str, set[int]]:
    """Among how many blocks each kind of copy is shared: each of them copies a part to all."""
    found: dict[str, set[int]] = {}
    for made in walk(module, _MADE):
        atom = view(made.results[0].type)
        if isinstance(atom, CopyAtom) and "num_multicast" in made.attributes:
            number = ir.IntegerAttr(made.attributes["num_multicast"]).value
            found.setdefault(_kind(atom), set()).add(number)
    return found


def _kind(atom: CopyAtom) -> str:
    parameters = atom.parameters
    return f"{atom.element} {parameters['copy_bits']} {parameters.get('tma_gbasis')}"


def _place(operation: ir.Operation) -> str:
    return str(operation.location)
