"""Atoms that load and store with qualifiers: how accesses are ordered, and what caches do with them."""

from __future__ import annotations

from typing import Any

from cutecc.ir.mlir import ir, nvvm
from cutecc.ir.types import CopyAtom, Scalar
from cutecc.passes.lowering.atoms.registry import copies
from cutecc.passes.lowering.atoms.rows import State
from cutecc.passes.lowering.atoms.uses import Copy
from cutecc.passes.lowering.values.vector_accesses import Loading, Storing, bitcast, joined, load

_LOAD_CACHES = {"global": "cg", "streaming": "cs", "last_use": "lu"}
_STORE_CACHES = {"global": "cg", "streaming": "cs", "write_through": "wt"}
"""By CuTe's name: PTX's. The others are what an access does that says nothing."""
_CACHED: State = (("cache_policy", "i64"),)


@copies("g2r", state=_CACHED)
@copies("s2r")
def load_qualified(copy: Copy) -> None:
    """`ld` with a memory order, a cache operator, a priority of eviction, a prefetch size."""
    qualifiers = _qualifiers(copy.atom)
    if (cache := copy.atom.parameters.get("load_cache_mode")) in _LOAD_CACHES:
        qualifiers["cache_modifier"] = ir.Attribute.parse(f"#nvvm.load_cache_modifier_ext<{_LOAD_CACHES[cache]}>")
    if (size := copy.atom.parameters.get("l2_prefetch_size", "none")) not in ("none", "reserved"):
        qualifiers["prefetch"] = ir.Attribute.parse(f"#nvvm.l2_prefetch<{size}>")

    def load_words(type: ir.Type, pointer: ir.Value, _: int) -> ir.Value:
        return bitcast(nvvm.load_ext(_words(type), pointer, **qualifiers), type)

    def load_invariant(type: ir.Type, pointer: ir.Value, alignment: int) -> ir.Value:
        loaded = load(type, pointer, alignment)
        loaded.owner.operation.attributes["invariant"] = ir.UnitAttr.get()
        return loaded

    loading: Loading | None = load_words if qualifiers else None
    if loading is None and copy.atom.parameters.get("invariant"):
        loading = load_invariant
    copy.destination.store([joined(copy.source.load(copy.count, loading))], copy.count)


@copies("r2g", state=_CACHED)
@copies("r2s")
def store_qualified(copy: Copy) -> None:
    """`st` with a memory order, a cache operator, a priority of eviction."""
    qualifiers = _qualifiers(copy.atom)
    if (cache := copy.atom.parameters.get("store_cache_mode")) in _STORE_CACHES:
        qualifiers["cache_modifier"] = ir.Attribute.parse(f"#nvvm.store_cache_modifier<{_STORE_CACHES[cache]}>")

    def store_words(value: ir.Value, pointer: ir.Value, _: int) -> None:
        nvvm.store_ext(bitcast(value, _words(value.type)), pointer, **qualifiers)

    storing: Storing | None = store_words if qualifiers else None
    copy.destination.store([joined(copy.source.load(copy.count))], copy.count, storing)


def _qualifiers(atom: CopyAtom) -> dict[str, Any]:
    """What loads and stores share, by the names of their builders' arguments."""
    given = atom.parameters
    found: dict[str, str] = {}
    if (order := given.get("mem_order", "weak")) != "weak":
        found |= {"order": f"#nvvm.mem_order<{order}>", "scope": f"#nvvm.mem_scope<{given.get('mem_scope', 'cta')}>"}
    if (priority := given.get("l1_cache_evict_priority", "evict_normal")) != "evict_normal":
        found["evict"] = f"#nvvm.evict_kind<evict_{priority.removeprefix('evict_')}>"
    if given.get("shared_space") == "cluster":
        found["shared_space"] = "#nvvm.shared_space<cluster>"
    return {name: ir.Attribute.parse(text) for name, text in found.items()}


def _words(type: ir.Type) -> ir.Type:
    """The integers that the instruction moves for a vector of numbers: one, or several of 32 bits and more."""
    vector = ir.VectorType(type)
    width = Scalar(str(vector.element_type)).bits
    bits = vector.shape[0] * width
    word = ir.IntegerType.get_signless(min(bits, max(32, width)))
    return word if bits == word.width else ir.VectorType.get([bits // word.width], word)
