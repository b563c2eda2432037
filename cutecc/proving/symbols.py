"""Which numbers of a launch decide: the fewest that all conditions, bounds and addresses are made of.

A count of tiles is computed from sizes by divisions, remainders and selections, over again in every role. Two values
that are computed alike are one class. A class through which all of its sizes reach what decides stands for them: it
becomes a symbol, and what it is made of is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from cutecc.proving.formulas import Formula, offset_in
from cutecc.proving.kernel import Block, Kernel, Operation
from cutecc.proving.skeleton import Skeleton
from cutecc.proving.values import Symbol

_LEAVES = (
    "nvvm.read.ptx.sreg.ctaid",
    "nvvm.read.ptx.sreg.nctaid",
    "nvvm.read.ptx.sreg.nclusterid",
    "nvvm.read.ptx.sreg.clusterid",
)
_POSITIVE = ("nvvm.read.ptx.sreg.nctaid", "nvvm.read.ptx.sreg.nclusterid")
_SIZE_BITS = (32, 64)
_TRANSPARENT = ("nvvm.shfl.sync",)
"""Of what all lanes have the same, the same."""
_POSITION = re.compile(r"(?<=[ ,:])\d+")


@dataclass(frozen=True, slots=True)
class _Key:
    """What is alike of values that are computed alike."""

    name: str
    attributes: tuple[object, ...] = ()
    parts: tuple[int, ...] = ()


@dataclass(eq=False, slots=True)
class _Class:
    """Values that are computed alike."""

    key: _Key
    made_of: list[_Class]
    values: list[int] = field(default_factory=list[int])
    users: set[_Class] = field(default_factory=set["_Class"])
    leaves: frozenset[str] = frozenset()
    """Numbers of the launch that it is made of; none where anything else takes part, such as the thread."""
    is_leaf: bool = False
    decides: bool = False
    """Whether what synchronises asks for it, or a loop carries it."""


def symbols_of(skeleton: Skeleton) -> dict[int, Symbol]:
    """The values of a skeleton that are symbols."""
    return {value: symbol for symbol, each in _symbols(skeleton) for value in each.values}


def formulas_of(skeleton: Skeleton) -> dict[Symbol, Formula]:
    """How the symbols of a skeleton are computed, of those whose parameters are told apart."""
    found: dict[Symbol, Formula] = {}
    for symbol, each in _symbols(skeleton):
        with suppress(ValueError):
            found[symbol] = _formula(skeleton.kernel, each, {})
    return found


def _formula(kernel: Kernel, each: _Class, known: dict[_Class, Formula]) -> Formula:
    """Raises `ValueError` for a parameter of a type that is none."""
    if each not in known:
        parts = tuple(_formula(kernel, part, known) for part in each.made_of)
        width = kernel.widths.get(each.values[0], 32)
        known[each] = Formula(*_meaning(kernel, each), parts, width)
    return known[each]


def _meaning(kernel: Kernel, each: _Class) -> tuple[str, tuple[int | str, ...]]:
    name, attributes = each.key.name, each.key.attributes
    if name == "arith.constant":
        return "constant", (int(str(attributes[0])),)
    if name == "argument":
        return "parameter", (kernel.arguments.index(int(str(attributes[0]))), 0)
    if name == "llvm.extractvalue":
        argument, position = int(str(attributes[0])), [int(each) for each in _POSITION.findall(str(attributes[1]))]
        return "parameter", (argument, offset_in(kernel.types[kernel.arguments[argument]], position))
    if each.is_leaf:
        return "register", (name.removeprefix("nvvm.read.ptx.sreg."),)
    index, plain = attributes
    predicate = dict(cast("tuple[tuple[str, str], ...]", plain)).get("predicate", "")
    return name, (cast("int", index), predicate)


def _symbols(skeleton: Skeleton) -> Iterator[tuple[Symbol, _Class]]:
    kernel = skeleton.kernel
    numbering = _Numbering(skeleton)
    for value in skeleton.deciding:
        numbering.class_of(value).decides = True
    covered: set[_Class] = set()
    names: dict[str, int] = {}
    # What is made of most comes first.
    for each in reversed(numbering.in_order):
        if not each.leaves or each in covered or not _is_size(kernel, each) or not _closes(each):
            continue
        name = _name(each, names)
        symbol = Symbol(name, all(leaf.startswith("nct") or leaf.startswith("nclu") for leaf in each.leaves))
        covered |= set(_below(each))
        yield symbol, each


def _is_size(kernel: Kernel, each: _Class) -> bool:
    return kernel.widths.get(each.values[0]) in _SIZE_BITS


def _name(each: _Class, names: dict[str, int]) -> str:
    name = "×".join(sorted(each.leaves)) if _is_product(each) else f"f({', '.join(sorted(each.leaves))})"
    names[name] = names.get(name, 0) + 1
    return name if names[name] == 1 else f"{name} #{names[name]}"


def _is_product(each: _Class) -> bool:
    return each.is_leaf or (each.key.name == "arith.muli" and all(_is_product(part) for part in each.made_of))


def _below(each: _Class) -> Iterator[_Class]:
    yield each
    for part in each.made_of:
        yield from _below(part)


def _closes(each: _Class) -> bool:
    """Whether nothing that decides is reached from its leaves but through it."""
    inside = set(_below(each))
    waiting = [part for part in inside if part.is_leaf and part is not each]
    seen = {each, *waiting}
    if any(part.decides for part in waiting):
        return False
    while waiting:
        for user in waiting.pop().users - seen:
            if user.decides:
                return False
            seen.add(user)
            waiting.append(user)
    return True


class _Numbering:
    """The classes of a kernel's values."""

    def __init__(self, skeleton: Skeleton) -> None:
        kernel = self._kernel = skeleton.kernel
        self._needed = skeleton.needed
        self._classes: dict[_Key, _Class] = {}
        self._of_value: dict[int, _Class] = {}
        self._arguments = {value: number for number, value in enumerate(kernel.arguments)}
        self.in_order: list[_Class] = []
        for value in kernel.arguments:
            if kernel.widths.get(value) in _SIZE_BITS and kernel.types[value].startswith("i"):
                self._leaf(_Key("argument", (value,)), f"argument {self._arguments[value]}", value)
            else:
                self._class(_Key("argument", (value,)), [], value)
        self._block(kernel.body)

    def class_of(self, value: int) -> _Class:
        return self._of_value[value]

    def _class(self, key: _Key, made_of: list[_Class], value: int) -> _Class:
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = _Class(key, made_of)
            self.in_order.append(found)
            for part in made_of:
                part.users.add(found)
        found.values.append(value)
        self._of_value[value] = found
        return found

    def _block(self, block: Block) -> None:
        for argument in block.arguments:
            if argument not in self._of_value:
                self._class(_Key("carried", (argument,)), [], argument)
        for operation in block.operations:
            for inner in operation.blocks:
                self._block(inner)
            for index, result in enumerate(operation.results):
                if result in self._needed:
                    self._result(operation, index, result)

    def _result(self, operation: Operation, index: int, result: int) -> None:
        name, attributes = operation.name, operation.attributes
        if name.startswith(_LEAVES) and not self._differs_in_cluster(name):
            self._leaf(_Key(name), name.removeprefix("nvvm.read.ptx.sreg."), result)
        elif name == "llvm.extractvalue" and self._is_number_of_launch(operation):
            argument, position = self._arguments[operation.operands[0]], attributes["position"]
            where = position.split(":", 1)[-1].strip(" >").replace(" ", "")
            self._leaf(_Key(name, (argument, position)), f"argument {argument}[{where}]", result)
        elif name == "arith.constant":
            self._class(_Key(name, (attributes["value"], self._kernel.types[result])), [], result)
        elif operation.blocks or not name.startswith((*_TRANSPARENT, "arith.")):
            self._class(_Key(name, (result,)), [], result)
        else:
            parts = [self._of_value[value] for value in operation.operands]
            if name in _TRANSPARENT and parts[1].leaves:
                parts[1].values.append(result)
                self._of_value[result] = parts[1]
                return
            plain = tuple(sorted((k, str(v)) for k, v in attributes.items() if k != "overflowFlags"))
            self._class(_Key(name, (index, plain), tuple(map(id, parts))), parts, result).leaves = _leaves(parts)

    def _differs_in_cluster(self, name: str) -> bool:
        """Whether it is the place of a block in the grid, which is the cluster's and the block's in that."""
        is_place = name.startswith("nvvm.read.ptx.sreg.ctaid.")
        return is_place and self._kernel.cluster["xyz".index(name[-1])] > 1

    def _is_number_of_launch(self, operation: Operation) -> bool:
        """Whether it is a size that an argument holds, and that is not the same in every launch."""
        (argument,) = operation.operands
        is_size = self._kernel.widths.get(operation.results[0]) in _SIZE_BITS
        return is_size and argument in self._arguments and argument not in self._kernel.constants

    def _leaf(self, key: _Key, name: str, value: int) -> None:
        found = self._class(key, [], value)
        found.leaves, found.is_leaf = frozenset((name,)), True


def _leaves(parts: Iterable[_Class]) -> frozenset[str]:
    """Those of all, if nothing but them and constants takes part."""
    found: frozenset[str] = frozenset()
    for part in parts:
        if not part.leaves and part.key.name != "arith.constant":
            return frozenset()
        found |= part.leaves
    return found
