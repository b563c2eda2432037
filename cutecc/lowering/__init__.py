"""The open lowering's toolkit: everything that the row of an atom, or a pass that lowers, is written with.

Rows of atoms are functions below `copies`, `multiplies` and `prefetches`. Each gets one thread's use of an atom, a
`Copy` or a `Product`. What a value of CuTe's carries at run time are its `Leaves`; layouts are computed with in
`cutecc.layout`, and written out as operations by `Arithmetic`. docs/writing-atoms.md is the guide.

The names load what they need when they are first used.
"""

from __future__ import annotations

from cutecc.support.lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cutecc.ir.inline_assembly import inline_assembly
    from cutecc.ir.mlir import ir
    from cutecc.ir.structs import members
    from cutecc.ir.types import CopyAtom, MmaAtom, Scalar, to_type, view
    from cutecc.layout import Layout, coalesce, composition, symbol
    from cutecc.passes.leaf_conversion import Converted, LeafConversion, convert_leaves, converts_leaves
    from cutecc.passes.lowering.atoms.registers import as_registers, packed, store_registers, unpacked
    from cutecc.passes.lowering.atoms.registry import copies, multiplies, prefetches
    from cutecc.passes.lowering.atoms.uses import Copy, Product, in_memory
    from cutecc.passes.lowering.values.failing import building_before
    from cutecc.passes.lowering.values.integers import (
        Arithmetic,
        Predicate,
        compare,
        computed,
        constant,
        converted,
        poison,
        resize,
        zero,
    )
    from cutecc.passes.lowering.values.leaves import Carried, Leaves, carried_by, pack
    from cutecc.passes.lowering.values.loops import carrying_loop, given_if, one_thread, only_if, unrolled_loop
    from cutecc.passes.lowering.values.pointers import advance, in_cluster, in_shared, swizzled
    from cutecc.passes.lowering.values.tensors import (
        Coordinates,
        Matrices,
        Operand,
        known_count,
        modes_of,
        operand_of,
        tensor_of,
        tensor_value,
    )
    from cutecc.passes.lowering.values.vector_accesses import (
        Tensor,
        bitcast,
        elements_of,
        joined,
        load,
        load_element,
        store,
        store_element,
        vector_of,
    )
    from cutecc.target import Target

__all__ = [
    "Arithmetic",
    "Carried",
    "Converted",
    "Coordinates",
    "Copy",
    "CopyAtom",
    "Layout",
    "LeafConversion",
    "Leaves",
    "Matrices",
    "MmaAtom",
    "Operand",
    "Predicate",
    "Product",
    "Scalar",
    "Target",
    "Tensor",
    "advance",
    "as_registers",
    "bitcast",
    "building_before",
    "carried_by",
    "carrying_loop",
    "coalesce",
    "compare",
    "composition",
    "computed",
    "constant",
    "convert_leaves",
    "converted",
    "converts_leaves",
    "copies",
    "elements_of",
    "given_if",
    "in_cluster",
    "in_memory",
    "in_shared",
    "inline_assembly",
    "ir",
    "joined",
    "known_count",
    "load",
    "load_element",
    "members",
    "modes_of",
    "multiplies",
    "one_thread",
    "only_if",
    "operand_of",
    "pack",
    "packed",
    "poison",
    "prefetches",
    "resize",
    "store",
    "store_element",
    "store_registers",
    "swizzled",
    "symbol",
    "tensor_of",
    "tensor_value",
    "to_type",
    "unpacked",
    "unrolled_loop",
    "vector_of",
    "view",
    "zero",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "cutecc.ir.mlir": ("ir",),
        "cutecc.ir.types": ("CopyAtom", "MmaAtom", "Scalar", "to_type", "view"),
        "cutecc.target": ("Target",),
        "cutecc.layout": ("Layout", "coalesce", "composition", "symbol"),
        "cutecc.ir.inline_assembly": ("inline_assembly",),
        "cutecc.ir.structs": ("members",),
        "cutecc.passes.leaf_conversion": ("Converted", "LeafConversion", "convert_leaves", "converts_leaves"),
        "cutecc.passes.lowering.atoms.registers": ("as_registers", "packed", "store_registers", "unpacked"),
        "cutecc.passes.lowering.atoms.registry": ("copies", "multiplies", "prefetches"),
        "cutecc.passes.lowering.atoms.uses": ("Copy", "Product", "in_memory"),
        "cutecc.passes.lowering.values.failing": ("building_before",),
        "cutecc.passes.lowering.values.integers": (
            "Arithmetic",
            "Predicate",
            "compare",
            "computed",
            "constant",
            "converted",
            "poison",
            "resize",
            "zero",
        ),
        "cutecc.passes.lowering.values.leaves": ("Carried", "Leaves", "carried_by", "pack"),
        "cutecc.passes.lowering.values.loops": ("carrying_loop", "given_if", "one_thread", "only_if", "unrolled_loop"),
        "cutecc.passes.lowering.values.pointers": ("advance", "in_cluster", "in_shared", "swizzled"),
        "cutecc.passes.lowering.values.tensors": (
            "Coordinates",
            "Matrices",
            "Operand",
            "known_count",
            "modes_of",
            "operand_of",
            "tensor_of",
            "tensor_value",
        ),
        "cutecc.passes.lowering.values.vector_accesses": (
            "Tensor",
            "bitcast",
            "elements_of",
            "joined",
            "load",
            "load_element",
            "store",
            "store_element",
            "vector_of",
        ),
    },
)
