"""What kernels are, in the same words for all of a kind: the metadata that filters know."""

from __future__ import annotations

from cutecc.operations.any_description import Description
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.description import GemmDescription
from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.metadata_filter import Fact


def facts_of(description: Description) -> dict[str, Fact]:
    """What a description says: of a convolution and of grouped products also what they have beside their product.

    `filter_mode` is that of a filter, `group_schedule` that of groups: `mode` and `schedule` are of the product.
    """
    own: dict[str, Fact] = {}
    if isinstance(description, ConvolutionDescription):
        own = {name: getattr(description, name) for name in ("kind", "iterator", "stride", "groups")}
        own |= {"class": f"Conv{description.rank}d", "filter_mode": description.mode}
    elif isinstance(description, GroupedDescription):
        own = {name: getattr(description, name) for name in ("packing", "scales")}
        own |= {"class": "GroupedGemm", "group_schedule": description.schedule}
    return _of_product(description.gemm) | own | {"name": description.name}


def _of_product(description: GemmDescription) -> dict[str, Fact]:
    """Those of a product, in the words of `cutecc operators` and more.

    Of each operand `a`, `b`, `c`, `out` its `.dtype`, `.layout` and `.alignment` in bytes; `tile.m`, `cluster.n` and so
    on are the sizes of `tile` and `cluster`.
    """
    instruction, tile = description.instruction, description.tile
    found: dict[str, Fact] = {
        "name": description.name,
        "class": "Gemm",
        "provider": "cutecc",
        "targets": description.target,
        "family": description.family,
    }
    matrices = {"a": description.a, "b": description.b, "c": description.c, "out": description.d}
    for role, operand in matrices.items():
        found[f"{role}.dtype"] = operand.dtype if operand else None
        found[f"{role}.layout"] = operand.layout if operand else None
        found[f"{role}.alignment"] = operand.alignment_bytes if operand else None
    found |= {
        "accumulator": instruction.accumulator,
        "unit": instruction.unit,
        "instruction": "x".join(map(str, instruction.shape)),
        "arithmetic": instruction.arithmetic,
        "stages": tile.stages,
        "schedule": tile.schedule,
        "swapped": tile.swapped,
        "swizzle": description.swizzle,
        "mode": description.mode,
        "epilogue": description.epilogue.name or "identity",
    }
    for key, sizes in (("tile", tile.threadblock), ("warps", tile.warps), ("cluster", tile.cluster)):
        found[key] = "x".join(map(str, sizes))
        found |= {f"{key}.{letter}": size for letter, size in zip("mnk", sizes, strict=False)}
    return found
