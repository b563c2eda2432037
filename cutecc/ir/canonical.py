"""A module's content as a hash that two traces of the same kernel share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from cutecc.ir.mlir import ir
from cutecc.ir.modules import to_text

# The names that the DSL makes for functions, from the user's name and a spelling of the arguments. The pattern begins
# with plain characters, which is what makes it fast.
_DSL_SYMBOL = re.compile(r"cutlass_(?:(?<=\bcutlass_)|(?<=\b(?P<kernel>kernel_)cutlass_))\w+")
# Where that spelling begins, or a part that does not say which kernel it is: types, layouts and the reprs of objects,
# which hold names of modules. `__` stands for an argument that is spelled with no letters.
_SPELLING = re.compile(
    r"_(?:tensor(?:ptr|\d)|CopyAtom|Tiled(?:Copy|MMA)|FakeTensor|S\d|_|[^_]*(?:_object_at|objectat)).*"
)


def canonical_hash(module: ir.Module, *, locations: bool = False) -> str:
    """The SHA-256 of what the module does, in hexadecimal.

    Source locations count with `locations` alone. Of the names that the DSL makes for the functions, those of kernels
    count as the user wrote them: they stand in the cubin, profilers show them, and they can change what ptxas makes.
    What the DSL appends for arguments, objects and by counting does not, nor the name of the host function.
    """
    # The generic form leaves nothing out.
    text = to_text(module, locations=locations, generic=True)
    made = set(_functions(module.operation))
    numbers: dict[str, str] = {}

    def plain(match: re.Match[str]) -> str:
        name = f"{match['kernel'] or ''}{match[0]}"
        # Text that is printed and functions of a library have names of their own.
        if name not in made:
            return match[0]
        if name not in numbers:
            numbers[name] = f"function {len(numbers)} {kernel_name(name) if match['kernel'] else ''}"
        return numbers[name]

    return hashlib.sha256(_DSL_SYMBOL.sub(plain, text).encode()).hexdigest()


def _functions(op: ir.Operation) -> Iterator[str]:
    """The names of the functions with a body, also in modules inside of the module `op`."""
    for each in op.regions[0].blocks[0].operations:
        if not any(len(region.blocks) for region in each.operation.regions):
            continue
        if each.operation.name in ("gpu.module", "builtin.module"):
            yield from _functions(each.operation)
        elif "sym_name" in each.operation.attributes:
            yield ir.StringAttr(each.operation.attributes["sym_name"]).value


def kernel_name(symbol: str) -> str:
    """The name of a kernel in the user's source, as well as its symbol tells."""
    name = symbol.removeprefix("kernel_").removeprefix("cutlass_")
    return _SPELLING.sub("", re.sub(r"_\d+$", "", name)).rstrip("_")
