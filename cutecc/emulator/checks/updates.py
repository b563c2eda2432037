"""Which stores write back what a load has read, as in `h[i] = h[i] + 1`: by what flows through the program's registers.

That a load and a store name the same address says nothing: one thread may publish what the others read. So two things
are asked for. Of the program, that what is stored, or whether it is, comes of what the load has read at that address
(here). And of the run, that several threads do both at one place (`Races`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from cutecc.emulator.checks.registers import guard_of, slots_of, uses_of

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.program import Program


def writes_back(program: Program, one: Operation, two: Operation) -> tuple[Operation, Operation] | None:
    """The two as a load and the store that writes back what comes of it; `None` where they are none."""
    load, store = (one, two) if one.form.opcode == "ld" else (two, one)
    if (load.form.opcode, store.form.opcode) != ("ld", "st") or one.scope is not two.scope:
        return None
    if load.operands[1] != store.operands[0] or _moves(program, load, store):
        return None
    results = frozenset(slots_of(load, load.operands[:1]))
    return (load, store) if results & _sources(program, store.index, load.index) else None


def _moves(program: Program, load: Operation, store: Operation) -> bool:
    """Whether the address's register is another one's by the time of the store."""
    base = frozenset(slots_of(store, store.operands[:1]))
    between = range(min(load.index, store.index) + 1, max(load.index, store.index))
    return any(uses_of(program)[index].writes & base for index in between)


@lru_cache(maxsize=1024)
def _sources(program: Program, store: int, load: int) -> frozenset[int]:
    """The registers that a store's value comes of, and the conditions of it and of branches between the two."""
    uses, operations = uses_of(program), program.operations
    found = set(slots_of(operations[store], operations[store].operands[1:2]))
    for operation in operations[load:store]:
        if program.controls[operation.index] is not None:
            found |= guard_of(operation)
    found |= guard_of(operations[store])
    wanted = list(found)
    makers: dict[int, set[int]] = {}
    for operation in operations:
        for slot in uses[operation.index].writes:
            makers.setdefault(slot, set()).update(uses[operation.index].reads)
    while wanted:
        for slot in makers.get(wanted.pop(), ()):
            if slot not in found:
                found.add(slot)
                wanted.append(slot)
    return frozenset(found)
