"""The places of accesses that the wheel's code generator loses.

`cute.arch.load` and `cute.arch.store` are `nvvm.load.ext` and `nvvm.store.ext`. Observed: in the PTX each stands under
the `.loc` of the instruction that follows it when code is generated, optimised and with loops unrolled; all other
operations keep their places. The module before code generation has the right ones, and which of its accesses an
instruction is follows from what the `.loc` names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cutecc.errors import SourceLocation
from cutecc.ir.casters import plain_values
from cutecc.ir.locations import place_of_location
from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.ptx.locations import FILE, FUNCTION, LOC, InlineAssembly, LineTable
from cutecc.support.locations import InstructionPlace, Place, without_columns

_OPCODES = {"nvvm.load.ext": "ld", "nvvm.store.ext": "st"}
_INSTRUCTION = re.compile(r"\t(?:@!?%p\d+ )?(?P<name>(?:ld|st)\.[\w.:]+) [\[{%]")
"""How such an access is printed: a blank behind its name, where others have a tab."""
_ORDERS = frozenset(("relaxed", "acquire", "release", "volatile", "mmio"))
_SCOPES = frozenset(("cta", "cluster", "gpu", "sys"))
_WIDTH = re.compile(r"[bsuf](\d+)")
_TYPE = re.compile(r"(?:vector<(\d+)x)?[a-z]+(\d+)\w*>?")
_ENUMERATION = re.compile(r"mem_(order|scope)[< ](\w+)>")
_PURE = re.compile(r"llvm\.(?!load|store|atomicrmw|cmpxchg|fence|call|inline_asm|intr\.mem)|nvvm\.read\.")
_NO_INSTRUCTIONS = frozenset(("llvm.mlir.constant", "llvm.mlir.addressof", "llvm.mlir.poison", "llvm.mlir.undef"))


class Form(NamedTuple):
    """What an access and its instruction have in common."""

    opcode: str
    order: str
    scope: str
    bits: int


@dataclass(frozen=True)
class LostAccess:
    """An access of the module before code generation."""

    form: Form
    place: Place
    following: frozenset[Place]
    """Those of the operations that may be the next ones when code is generated, up to one with side effects."""


LostAccesses = dict[str, list[LostAccess]]
"""By the symbol of their function, in its order."""


def lost_accesses(module: ir.Module) -> LostAccesses:
    """The accesses in `module`, lowered and before code generation, whose places its PTX will not have."""
    found: LostAccesses = {}
    with plain_values():
        by_function: dict[ir.Operation, list[ir.Operation]] = {}
        function: ir.Operation | None = None
        for operation in walk(module, "llvm.func", *_OPCODES):
            if operation.name == "llvm.func":
                function = operation
            elif function is not None:
                by_function.setdefault(function, []).append(operation)
        for function, accesses in by_function.items():
            found[function.attributes["sym_name"].value] = [*_located(function, accesses)]
    return found


def _located(function: ir.Operation, accesses: Sequence[ir.Operation]) -> Iterator[LostAccess]:
    blocks: dict[ir.Block, list[ir.Operation]] = {}
    # A block's own list would import what the bindings generate for every dialect, which takes longer than all else.
    for operation in walk(function):
        if operation != function:
            blocks.setdefault(operation.block, []).append(operation)
    for access in accesses:
        if place := place_of_location(access.location):
            yield LostAccess(_form(access), place, frozenset(_following(access, blocks)))


def _form(access: ir.Operation) -> Form:
    accessed = access.results[0] if len(access.results) else access.operands[0]
    match = _TYPE.fullmatch(str(accessed.type))
    bits = int(match[1] or 1) * int(match[2]) if match else 0
    # As text, for the same reason.
    found = _ENUMERATION.findall(str(access))
    order = next((value for kind, value in found if kind == "order" and value in _ORDERS), "")
    scope = next((value for kind, value in found if kind == "scope" and value in _SCOPES), "")
    return Form(_OPCODES[access.name], order, scope if order else "", bits)


def _following(access: ir.Operation, blocks: Mapping[ir.Block, list[ir.Operation]]) -> Iterator[Place]:
    seen: set[ir.Block] = set()
    here = blocks[access.block]
    waiting = [here[here.index(access) + 1 :]]
    while waiting:
        for each in waiting.pop():
            if each.name not in _NO_INSTRUCTIONS and (place := place_of_location(each.location)):
                yield place
            if not _PURE.match(each.name):
                break
            for successor in each.successors:
                if successor not in seen:
                    seen.add(successor)
                    waiting.append(blocks[successor])


class _Instruction(NamedTuple):
    """An access in the PTX."""

    line: int
    """From 1."""
    form: Form
    named: SourceLocation | None
    """What its `.loc` says."""


def instruction_places(ptx: str, accesses: LostAccesses) -> tuple[InstructionPlace, ...]:
    """Where the instructions of `ptx` come from that are such accesses.

    A place is known where all accesses of the instruction's form in its function have it; where what the `.loc` names
    follows accesses of one place alone; and where there are as many accesses as instructions, each followed by what the
    `.loc` of its instruction names. All others are inferred.
    """
    if not accesses:
        return ()
    found: list[InstructionPlace] = []
    for function, instructions in _instructions(ptx):
        by_form: dict[Form, list[_Instruction]] = {}
        for each in instructions:
            by_form.setdefault(each.form, []).append(each)
        for form, group in by_form.items():
            known = [each for each in accesses.get(function, []) if each.form == form]
            if known:
                found += _placed(group, known)
    return tuple(sorted(found, key=lambda each: each.line))


def _candidates(instruction: _Instruction, accesses: Sequence[LostAccess]) -> list[LostAccess]:
    """The accesses that an instruction may be."""
    return [access for access in accesses if _is_followed_by(access, instruction.named)]


def _are_in_order(accesses: Sequence[LostAccess], candidates: Sequence[Sequence[LostAccess]]) -> bool:
    """Whether each instruction may be the access of its number."""
    return all(access in those for access, those in zip(accesses, candidates, strict=True))


def _placed(instructions: Sequence[_Instruction], accesses: Sequence[LostAccess]) -> Iterator[InstructionPlace]:
    common = _one_place(accesses)
    candidates = [_candidates(each, accesses) for each in instructions]
    as_many = len(instructions) == len(accesses)
    in_order = as_many and _are_in_order(accesses, candidates)
    certain = [
        common or _one_place(those) or (accesses[number].place if in_order else None)
        for number, those in enumerate(candidates)
    ]
    for number, (each, place) in enumerate(zip(instructions, certain, strict=True)):
        if place is not None:
            yield InstructionPlace.of(each.line, place)
            continue
        # Of those that it may be, one that no other instruction is: each access is somewhere.
        likely = [access for access in candidates[number] if access.place not in certain]
        access = accesses[number] if as_many else (likely or candidates[number] or accesses)[0]
        yield InstructionPlace.of(each.line, access.place, inferred=True)


def _one_place(accesses: Sequence[LostAccess]) -> Place | None:
    """The place that they all have, without columns where these differ; `None` when there are several."""
    places = {access.place for access in accesses}
    if len(places) > 1:
        places = {without_columns(place) for place in places}
    return places.pop() if len(places) == 1 else None


def _is_followed_by(access: LostAccess, named: SourceLocation | None) -> bool:
    if named is None:
        return False
    return (named.file, named.line or 0, named.column or 0) in {place[-1] for place in access.following}


def _instructions(ptx: str) -> Iterator[tuple[str, list[_Instruction]]]:
    """The functions of a PTX text with such accesses in them."""
    lines, assembly = LineTable(), InlineAssembly(ptx)
    for match in FILE.finditer(ptx):
        lines.add_file(match)
    name, found = "", list[_Instruction]()
    named: SourceLocation | None = None
    position = 0
    for number, text in enumerate(ptx.split("\n"), start=1):
        if match := FUNCTION.match(text):
            if found:
                yield name, found
            name, found, named = match[1] or "", [], None
        elif not assembly.holds(position):
            if match := LOC.match(text):
                named = lines.location(lines.add_loc(match))
            elif match := _INSTRUCTION.match(text):
                found.append(_Instruction(number, _form_of(match["name"]), named))
        position += len(text) + 1
    if found:
        yield name, found


def _form_of(name: str) -> Form:
    opcode, *modifiers = name.split(".")
    order = next((each for each in modifiers if each in _ORDERS), "")
    scope = next((each for each in modifiers if each in _SCOPES), "")
    count = next((int(each[1:]) for each in modifiers if each in ("v2", "v4", "v8")), 1)
    width = _WIDTH.fullmatch(modifiers[-1])
    return Form(opcode, order, scope, count * int(width[1]) if width else 0)
