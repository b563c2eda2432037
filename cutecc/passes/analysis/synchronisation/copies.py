"""How many bytes each copy by the TMA moves: the traced module says it in the types of atoms, the lowered one not."""

from __future__ import annotations

from cutecc.ir.mlir import ir
from cutecc.ir.pass_context import memo
from cutecc.ir.types import CopyAtom, view
from cutecc.passes.analysis.device_code import walk_device
from cutecc.passes import walk

_KEY = "bytes of copies by the TMA"
_MADE = "cute_nvgpu.atom.make_non_exec_tiled_tma_load"
_BYTE = 8


def remember_copies(module: ir.Module) -> None:
    """Keep for the rest of the compilation what one instruction of each copy of a traced module moves to a block."""
    copies = [copy for copy in walk_device(module, "cute.copy") if "tma" in str(copy.operands[0].type)]
    shares = _shares(module) if copies else {}
    found: dict[str, set[int]] = {}
    for copy in copies:
        atom = view(copy.operands[0].type)
        if isinstance(atom, CopyAtom) and "copy_bits" in atom.parameters:
            among = shares.get(_kind(atom), set()) - {1} if "mcast = true" in str(copy.operands[0].type) else {1}
            size = int(atom.parameters["copy_bits"]) // _BYTE
            found.setdefault(_place(copy), set()).update([size // next(iter(among))] if len(among) == 1 else [0, 1])
    memo()[_KEY] = {place: next(iter(sizes)) for place, sizes in found.items() if len(sizes) == 1}


def bytes_of_copy(operation: ir.Operation) -> int | None:
    """What an instruction of the lowered module moves to one block; `None` where the traced module was not seen."""
    return memo().get(_KEY, {}).get(_place(operation))


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
