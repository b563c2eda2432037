"""The owners of the instructions of PTX and SASS, by the LLVM IR that they were made of."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from cutecc.report.flow import MOST_SOURCES, Flow, flow_of
from cutecc.report.listings import Listing, is_instruction, with_owners
from cutecc.report.owners import Operation, Operations, Step, owners
from cutecc.report.stage_text import Function
from cutecc.report.work import Kinds, kinds_of_llvm, kinds_of_ptx, kinds_of_sass, zeros
from cutecc.sass import SassFunction
from cutecc.support.locations import Owner, Place

FunctionWork = Mapping[str, Sequence[Operation]]
"""By function the operations of its LLVM IR that have a place, in order."""
_PROLOGUE = re.compile(r"\S+ (?:U?R\d+, (?:RZ, RZ, )?c\[0x0\]\[0x(?:28|37c|118|208|358|ff8)\]|R1, R1, )")
"""The stack's end and room, and the descriptor of global memory, which the constant bank has before any parameter."""
_BARRIER = re.compile(r"\bB\d+\b")


def work_of(listing: Listing) -> FunctionWork:
    """The work of each function of LLVM IR."""
    lines = listing.text.split("\n")
    return {function.name: [*_operations(listing, lines, function)] for function in listing.functions}


def _operations(listing: Listing, lines: Sequence[str], function: Function) -> Iterator[Operation]:
    entered: Place | None = None
    for number in range(function.first, function.last + 1):
        if listing.places[number] < 0:
            continue
        place, kinds = listing.table[listing.places[number]], kinds_of_llvm(lines[number])
        if "phi" in kinds:
            # What a loop carries has the place of nothing in particular; how it is entered has that of the loop.
            place = entered or place
        elif "branch" in kinds:
            entered = place
        yield Operation(place, kinds, zeros(lines[number]))


def own_sass(function: SassFunction, work: FunctionWork, *, spills: bool) -> None:
    """Give each instruction of a function its owner. `spills` says that it has registers in local memory."""
    if function.name not in work:
        # Without LLVM IR, all that is known is the line table.
        for each in function.instructions:
            each.reason = "order" if each.place is not None else "unknown"
        return
    for each, owner in zip(function.instructions, _sass_owners(function, work, spills=spills), strict=True):
        each.place, each.reason, each.detail = owner


def _sass_owners(function: SassFunction, work: FunctionWork, *, spills: bool) -> list[Owner]:
    operations = Operations(work[function.name], columns=False)
    flow = flow_of(function)
    steps = [
        Step(kinds, each.place, _made_for(each.text, kinds), *_flow(flow, number))
        for number, each in enumerate(function.instructions)
        for kinds in (kinds_of_sass(each.text, spills=spills),)
    ]
    _link_convergence(function, steps)
    return owners(steps, operations)


def _link_convergence(function: SassFunction, steps: Sequence[Step]) -> None:
    """Have what makes threads meet again be for the branch where they part."""
    begun: dict[str, int] = {}
    waiting: list[int] = []
    for number, (each, step) in enumerate(zip(function.instructions, steps, strict=True)):
        barrier = _BARRIER.search(each.text) if step.made_for == "convergence" else None
        if barrier and "BSSY" in each.text:
            begun[barrier[0]] = number
            waiting.append(number)
        elif barrier and barrier[0] in begun:
            step.sources.append(begun[barrier[0]])
        elif each.text.startswith("@") and "branch" in step.kinds:
            for bssy in waiting:
                steps[bssy].users.append(number)
            waiting.clear()


def _flow(flow: Flow, number: int) -> tuple[list[int], list[int], bool]:
    return flow.users[number], flow.sources[number], flow.is_phi[number]


def _made_for(text: str, kinds: Kinds) -> str:
    if kinds & {"spill load", "spill store"}:
        return "spill"
    if text.startswith("@!PT ") or "no operation" in kinds:
        return "no operation"
    if "convergence" in kinds:
        return "convergence"
    return "prologue" if _PROLOGUE.search(text) else ""


_REGISTER = re.compile(r"%(?:rd|rs|rq|r|fd|f|h|hh|p|b|q|SP|SPL)\d*\b")
_NO_RESULT = re.compile(
    r"\s*(?:@!?%?\w+\s+)?(?:st|bra|brx|bar|barrier|ret|exit|red|membar|fence|prefetch|cp|call|trap|stmatrix|setmaxnreg|"
    r"mbarrier\.(?:init|inval|complete)|wgmma\.(?:fence|commit|wait))\b"
)
"""Instructions all of whose registers are read."""


def own_ptx(listing: Listing, work: FunctionWork) -> Listing:
    """A listing of PTX with the owner of each instruction."""
    lines, found = listing.text.split("\n"), dict[int, Owner]()
    for function in listing.functions:
        numbers = [
            number
            for number in range(function.first, function.last)
            if listing.places[number] >= 0 or is_instruction(lines[number])
        ]
        places = [listing.table[listing.places[number]] if listing.places[number] >= 0 else None for number in numbers]
        if function.name in work:
            owned = _ptx_owners([*zip((lines[number] for number in numbers), places, strict=True)], work[function.name])
        else:
            owned = [Owner(place, "order" if place else "unknown") for place in places]
        found.update(zip(numbers, owned, strict=True))
    return with_owners(listing, found)


def _ptx_owners(instructions: Sequence[tuple[str, Place | None]], work: Sequence[Operation]) -> list[Owner]:
    operations = Operations(work, columns=True)
    steps = [Step(kinds_of_ptx(text), place) for text, place in instructions]
    written: defaultdict[str, list[int]] = defaultdict(list)
    read: list[list[str]] = []
    for number, (text, _) in enumerate(instructions):
        results, operands = _registers(text)
        read.append(operands)
        for each in results:
            written[each].append(number)
    for number, operands in enumerate(read):
        for each in operands:
            sources = written.get(each, ())
            if len(sources) > MOST_SOURCES:
                continue
            for source in sources:
                steps[number].sources.append(source)
                steps[source].users.append(number)
                steps[source].is_phi = steps[source].is_phi or len(sources) > 1
    return owners(steps, operations)


def _registers(text: str) -> tuple[list[str], list[str]]:
    """The virtual registers that an instruction of PTX writes and reads, its guard among these."""
    guard, _, rest = text.partition(" ") if text.lstrip().startswith("@") else ("", "", text)
    if _NO_RESULT.match(text):
        return [], _REGISTER.findall(text)
    first, rest = _first_operand(rest)
    return _REGISTER.findall(first), _REGISTER.findall(guard) + _REGISTER.findall(rest)


def _first_operand(text: str) -> tuple[str, str]:
    """The first operand, which may be a list in braces, and the rest."""
    begin = text.find("{")
    comma = text.find(",")
    if 0 <= begin < comma and (end := text.find("}", begin)) > 0:
        return text[: end + 1], text[end + 1 :]
    return (text[:comma], text[comma:]) if comma >= 0 else (text, "")
