"""Which functions a kernel calls: by name, or by an address that the PTX takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cutecc.errors import EmulatorError
from cutecc.ptx.syntax import Function, Instruction, Module, callee_of, symbols_of

_MOST = 1_000
"""Functions that a kernel calls."""
_MOST_BY_ADDRESS = 100_000
"""Pairs of a call by an address and a function that it may be of: each has operations of its own."""


class CallGraph:
    """A kernel and all that it may call."""

    def __init__(self, module: Module, entry: Function) -> None:
        """Raises `EmulatorError` for more functions than any program has."""
        self._module = module
        self._callees: dict[str, list[Function]] = {}
        self.functions: list[Function] = []
        """The kernel first, each once."""
        self._taken = [*_addresses_taken(module)]
        by_address = 0
        waiting = [entry]
        while waiting:
            function = waiting.pop()
            if function.name in self._callees:
                continue
            self.functions.append(function)
            if len(self.functions) > _MOST:
                raise EmulatorError(f"'{entry.name}' calls more than {_MOST:,} functions")
            by_address += len(self._taken) * sum(_is_by_address(each) for each in function.instructions)
            if by_address > _MOST_BY_ADDRESS:
                raise EmulatorError(
                    f"'{entry.name}' calls functions by their addresses at so many places that they may be of "
                    f"{len(self._taken):,} functions in more than {_MOST_BY_ADDRESS:,} ways"
                )
            called = {each.name: each for call in function.instructions for each in self.callees(call)}
            self._callees[function.name] = [*called.values()]
            waiting += reversed(called.values())
        self._reached = {name: self._reachable(name) for name in self._callees}

    def callees(self, instruction: Instruction) -> Sequence[Function]:
        """Functions of the program that an instruction may call: several where it takes an address."""
        if instruction.opcode != "call":
            return ()
        name = callee_of(instruction)
        if name is None:
            return self._taken
        called = self._module.functions.get(name)
        return () if called is None or called.is_declaration else (called,)

    def has(self, wanted: Callable[[Instruction], bool]) -> bool:
        """Whether one of the functions has such an instruction."""
        return any(wanted(each) for function in self.functions for each in function.instructions)

    def is_recursive(self, caller: Function, callee: Function) -> bool:
        """Whether a call of the one by the other may be inside of another call of it."""
        return caller.name in self._reached[callee.name]

    def _reachable(self, name: str) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            for each in self._callees[waiting.pop()]:
                if each.name not in found:
                    found.add(each.name)
                    waiting.append(each.name)
        return found


def _is_by_address(instruction: Instruction) -> bool:
    return instruction.opcode == "call" and callee_of(instruction) is None


def _addresses_taken(module: Module) -> Iterator[Function]:
    """Functions whose address an instruction takes, or a variable has, each once."""
    names = dict.fromkeys(each.symbol.name for variable in module.variables.values() for each in variable.addresses)
    for function in module.functions.values():
        for instruction in function.instructions:
            if instruction.opcode != "call":
                names.update(dict.fromkeys(symbols_of(instruction)))
    for name in names:
        found = module.functions.get(name)
        if found is not None and not found.is_entry and not found.is_declaration:
            yield found
