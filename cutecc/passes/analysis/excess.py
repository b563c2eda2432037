"""Remarks about accesses that take more than their bytes need, those of one line of Python together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cutecc.ir.mlir import ir
from cutecc.passes.analysis.program import Kind
from cutecc.passes.analysis.reasons import Pattern, pattern_of
from cutecc.passes.analysis.request_pictures import picture_of
from cutecc.passes.analysis.requests import AccessRequests, KernelRequests, Requests, Space
from cutecc.passes.analysis.swizzles import Proposal, proposals
from cutecc.passes.diagnostics import remark

_NAMES: dict[Kind, tuple[str, str]] = {
    "load": ("a load", "loads"),
    "store": ("a store", "stores"),
    "atomic": ("an atomic operation", "atomic operations"),
    "copy": ("an asynchronous copy", "asynchronous copies"),
    "matrix load": ("a matrix load", "matrix loads"),
    "matrix store": ("a matrix store", "matrix stores"),
}


@dataclass(frozen=True)
class Line:
    """Accesses of one kind and width at one place, in one space."""

    accesses: list[AccessRequests]
    sums: Requests
    assumed: dict[str, int]
    """Numbers of a launch that decide what threads access, and what was taken for them."""
    proposal: Proposal | None = None
    """The swizzle with which all accesses of the tensor take fewest wavefronts, where these take fewer, too."""

    @property
    def operation(self) -> ir.Operation:
        """One that takes most."""
        return self._worst.operation

    @property
    def _worst(self) -> AccessRequests:
        return max(self.accesses, key=lambda each: max(of.worst for of in each.spaces.values()))

    def worst(self, space: Space) -> AccessRequests:
        """The access with the request that takes most."""
        return max(self.accesses, key=lambda each: each.spaces[space].worst)

    def pattern(self, space: Space) -> Pattern | None:
        """Where the threads of the request that takes most are."""
        worst = self.worst(space)
        addresses = worst.spaces[space].worst_addresses
        return pattern_of(addresses, worst.size) if addresses is not None else None

    def numbers(self, unit: str) -> dict[str, int | float | str]:
        """What a remark about them is based on; `unit` names what requests take."""
        found: dict[str, int | float | str] = {
            f"{unit} a request": _short(self.sums.each),
            f"ideal {unit} a request": _short(self.sums.ideal_each),
            f"most {unit} of a request": self.sums.worst,
            "bits a thread": 8 * self.accesses[0].size,
            "accesses": len(self.accesses),
        }
        if self.proposal is not None:
            found["swizzle"] = str(self.proposal.swizzle)
            found["bits of an element"] = 8 * self.proposal.unit
            found[f"{unit} a request with it"] = _short(self.proposal.each(self.accesses))
        if self.assumed:
            found["assumed"] = assumptions(self.assumed)
        return found

    def message(self, space: Space, unit: str) -> str:
        """`a load of 32 bits a thread takes 32 sectors a request, 4 would do: …`."""
        first, count = self.accesses[0], len(self.accesses)
        one, many = _NAMES[first.kind]
        width = "" if first.kind.startswith("matrix") else f" of {8 * first.size} bits a thread"
        text = f"{count} {many}{width} take" if count > 1 else f"{one}{width} takes"
        text += f" {_short(self.sums.each)} {unit} a request"
        if self.sums.taken <= self.sums.ideal:
            return f"{text}, as few as possible"
        text += f", {_short(self.sums.ideal_each)} would do"
        if first.past_l1 and space == "shared":
            text += ": lines of 128 bytes of shared memory are written from several of global memory, or are permuted"
        elif (pattern := self.pattern(space)) is not None:
            text += f": {pattern.explained(space)}"
        if self.proposal is not None:
            what = "its bytes" if self.proposal.unit == 1 else f"its elements of {8 * self.proposal.unit} bits"
            text += f"; {_short(self.proposal.each(self.accesses))} with the swizzle {self.proposal.swizzle} of {what}"
        return f"{text}, with {assumptions(self.assumed)}" if self.assumed else text


def lines_of(kernel: KernelRequests, space: Space) -> Iterator[Line]:
    """The accesses of a kernel whose addresses are known, in the order of the program."""
    groups: dict[tuple[str, str, int, bool], list[AccessRequests]] = {}
    for access in kernel.accesses:
        if space in access.spaces:
            key = (str(access.operation.location), access.kind, access.size, access.past_l1)
            groups.setdefault(key, []).append(access)
    proposed = proposals(kernel) if space == "shared" else {}
    for accesses in groups.values():
        yield _line(accesses, space, [proposed.get(id(each)) for each in accesses])


def _line(accesses: list[AccessRequests], space: Space, proposed: list[Proposal | None]) -> Line:
    of_space = [each.spaces[space] for each in accesses]
    sums = Requests(
        sum(each.requests for each in of_space),
        sum(each.taken for each in of_space),
        sum(each.ideal for each in of_space),
        max(each.worst for each in of_space),
    )
    assumed = {name: number for access in accesses for name, number in access.assumed[space].items()}
    first = proposed[0]
    is_better = first is not None and proposed.count(first) == len(proposed) and first.each(accesses) < sums.each
    return Line(accesses, sums, assumed, first if is_better else None)


def assumptions(assumed: dict[str, int]) -> str:
    """`a dynamic stride of argument 0 = 8192`."""
    return ", ".join(f"{name} = {number}" for name, number in assumed.items())


def check(kernel: KernelRequests, space: Space, unit: str, *, everything: bool) -> None:
    """Remark on what takes more than it needs, with `everything` on the rest too, and on how much is known."""
    for line in lines_of(kernel, space):
        if everything or line.sums.taken > line.sums.ideal:
            picture = picture_of(line.worst(space), space, line.proposal)
            remark(line.operation, line.message(space, unit), line.numbers(unit), picture=picture)
    known, present = kernel.understood(space)
    if known < present or (everything and present):
        numbers: dict[str, int | float | str] = {"accesses understood": known, "accesses": present}
        remark(kernel.kernel, f"the addresses of {known} of {present} accesses of {space} memory are known", numbers)


def _short(number: float) -> int | float:
    return int(number) if number == int(number) else round(number, 2)
