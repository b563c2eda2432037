"""Going through a kernel as some of its warps do, and asking at each access for the addresses of all threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cutecc.passes.analysis import lanes
from cutecc.passes.analysis.lanes import Value
from cutecc.passes.analysis.operations import SEMANTICS, UNKNOWN, Known, multiplied, width_of
from cutecc.passes.analysis.program import Access, Block, KernelProgram, Node, bytes_of

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir
    from cutecc.memory_rules.warps import Mask
    from cutecc.passes.analysis.sample import Sample

Observer = Callable[[Access, Known, Known, Known, "Mask"], None]
"""Takes an access, its source, target and amount, and the threads that execute it."""

_LOCAL = 1 << 56
"""Addresses from here on are of local memory."""
_ROOM = 1 << 32
"""Bytes between two local arrays."""
_BLIND_TURNS = 2
"""Of a loop of which nothing says when it ends."""
_LESS = 2
"""`slt`, as `arith.cmpi` numbers it."""
_SHARED_ALIGNMENT = 1024
"""Bytes; what the DSL asks of its shared memory."""


class Machine:
    """The state of the warps."""

    def __init__(self, program: KernelProgram, sample: Sample, observe: Observer) -> None:
        self.sample = sample
        self.mask = sample.mask
        """The threads that execute what comes next."""
        self._program = program
        self._observe = observe
        self._accesses = {id(access.node): access for access in program.accesses}
        self._values: dict[ir.Value, Known] = {}
        self._variables: dict[str, int] = {}
        self._local: dict[int, dict[int, tuple[int, Known]]] = {}
        """Of each local array what is stored at which offset, with its size."""
        self._allocations: dict[ir.Value, int] = {}
        self._is_imagined: bool = False
        """Inside of what would not be executed, if what is assumed were true."""

    def run(self) -> None:
        """Go through the kernel."""
        with np.errstate(all="ignore"):
            self._run(self._program.body)

    def argument(self, value: ir.Value, path: tuple[int, ...], type_: ir.Type) -> Known | None:
        """What is at `path` in an argument of the kernel; `None` when `value` is none of them."""
        for number, argument in enumerate(self._program.body.arguments):
            if argument == value:
                return self.sample.parameter(number, path, value.type, type_)
        return None

    def variable(self, name: str) -> int:
        """The address of a variable of the module."""
        return self._variables.setdefault(name, _SHARED_ALIGNMENT * (1 + 64 * len(self._variables)))

    def allocate(self, array: ir.Value) -> int:
        """The address of a local array."""
        return self._allocations.setdefault(array, _LOCAL + _ROOM * len(self._allocations))

    def load(self, operation: ir.Operation, address: Value) -> Known:
        """What was stored in local memory."""
        if not isinstance(address, int) or address < _LOCAL:
            return UNKNOWN
        number, offset = divmod(address - _LOCAL, _ROOM)
        size, known = self._local.get(number, {}).get(offset, (0, UNKNOWN))
        return known if size == bytes_of(operation.results[0].type) else UNKNOWN

    def store(self, operation: ir.Operation, stored: Known, address: Value) -> None:
        """Keep what is stored in local memory."""
        if self._is_imagined:
            return
        root = self._program.root(operation.operands[1])
        if root not in self._allocations:
            return
        number = (self._allocations[root] - _LOCAL) // _ROOM
        array = self._local.setdefault(number, {})
        if not isinstance(address, int):
            array.clear()
            return
        offset, size = (address - _LOCAL) % _ROOM, bytes_of(operation.operands[0].type)
        before = array.get(offset)
        for at in [at for at, (length, _) in array.items() if at < offset + size and offset < at + length]:
            del array[at]
        width = width_of(operation.operands[0].type)
        if before is not None and before[0] == size and self.mask is not self.sample.mask and width:
            _, (old, on_old) = before
            stored = lanes.selected(self.mask, stored[0], old, width), stored[1] | on_old
        array[offset] = size, stored if width else UNKNOWN

    def _of(self, value: ir.Value) -> Known:
        found = self._values.get(value)
        if found is None:
            found = UNKNOWN
            if width_of(value.type):
                found = self.argument(value, (), value.type) or UNKNOWN
        return found

    def _run(self, block: Block) -> None:
        for node in block.nodes:
            if node.is_needed:
                self._step(node)

    def _step(self, node: Node) -> None:
        access = self._accesses.get(id(node))
        if access is not None:
            known = [
                UNKNOWN if each is None else self._of(each) for each in (access.source, access.target, access.amount)
            ]
            self._observe(access, known[0], known[1], known[2], self.mask)
            return
        match node.name:
            case "scf.for":
                _ForLoop(self, node).run()
            case "scf.if":
                self._branch(node)
            case "scf.while":
                self._while(node)
            case name:
                semantics = SEMANTICS.get(name)
                operation = node.operation
                results = operation.results
                if semantics is not None:
                    found = semantics(self, operation, [self._of(each) for each in operation.operands])
                    for result, known in zip(results, found, strict=True):
                        self._values[result] = known

    def run_for(self, block: Block, mask: Mask, *, imagined: bool = False) -> None:
        """Run a block for the threads in `mask`."""
        outer, was_imagined = self.mask, self._is_imagined
        self.mask, self._is_imagined = mask, was_imagined or imagined
        self._run(block)
        self.mask, self._is_imagined = outer, was_imagined

    def _branch(self, node: Node) -> None:
        condition, depends = self._of(node.operation.operands[0])
        given: list[list[Known]] = []
        holds, fails = self._sides(condition)
        for block, mask in zip(node.blocks, (holds, fails), strict=False):
            if mask.any():
                self.run_for(block, mask)
            elif depends:
                # What nobody executes where the size is the assumed one, others do.
                self.run_for(block, self.mask, imagined=True)
            given.append([self._of(each) for each in block.last.operands])
        for index, result in enumerate(node.operation.results):
            if self._program.is_needed(result):
                (a, on_a), (b, on_b) = given[0][index], given[1][index]
                if condition is not None and not (holds.any() and fails.any()):
                    self._values[result] = (a, on_a | depends) if holds.any() else (b, on_b | depends)
                    continue
                merged = lanes.selected(condition, a, b, width_of(result.type))
                self._values[result] = multiplied(merged, on_a | on_b | depends)

    def _sides(self, condition: Value) -> tuple[Mask, Mask]:
        """Who executes the first and the second branch: everybody both, where the condition is not known."""
        if condition is None:
            return self.mask, self.mask
        nobody = np.zeros_like(self.mask)
        if isinstance(condition, int):
            return (self.mask, nobody) if condition else (nobody, self.mask)
        condition = lanes.as_mask(condition)
        return self.narrowed(condition), self.narrowed(~condition)

    def narrowed(self, condition: Mask) -> Mask:
        """The threads that execute for which a condition holds; the same object if those are all."""
        found = self.mask & condition
        return self.mask if np.array_equal(found, self.mask) else found

    def _while(self, node: Node) -> None:
        before, after = node.blocks
        carried = [self._of(each) for each in node.operands]
        outer, active = self.mask, self.mask
        loop = self.sample.assume("turns of loops") if self.sample.is_assumed else 0
        passed: list[Known] = []
        for turn in range(self.sample.trips):
            self.set_all(before.arguments, carried)
            self.run_for(before, active)
            condition, *handed = before.last.operands
            value, depends = self._of(condition)
            now = [self._of(each) for each in handed]
            passed = self.carry(passed, now, active, handed)
            self.mask = active
            active, _ = self._sides(value)
            self.mask = outer
            is_imagined = not active.any()
            if (is_imagined and (turn or not depends)) or (value is None and turn + 1 >= _BLIND_TURNS):
                break
            if is_imagined:
                active = outer
            self.set_all(after.arguments, now)
            self.run_for(after, active, imagined=is_imagined)
            carried = self.carry(carried, [self._of(each) for each in after.last.operands], active, after.last.operands)
        for result, (value, depends) in zip(node.operation.results, passed, strict=True):
            self._values[result] = value, depends | loop

    def carry(
        self, old: Sequence[Known], new: Sequence[Known], active: Mask, values: Sequence[ir.Value]
    ) -> list[Known]:
        """What a loop carries from one turn to the next: threads that have left it keep theirs."""
        if active is self.mask:
            return list(new)
        found: list[Known] = []
        for (a, on_a), (b, on_b), value in zip(new, old, values, strict=True):
            width = width_of(value.type)
            found.append((lanes.selected(active, a, b, width), on_a | on_b) if width else UNKNOWN)
        return found

    def set_all(self, values: Sequence[ir.Value], known: Sequence[Known]) -> None:
        for value, each in zip(values, known, strict=True):
            self._values[value] = each

    def known(self, values: Sequence[ir.Value]) -> list[Known]:
        return [self._of(each) for each in values]


class _ForLoop:
    """`scf.for`: its first turns."""

    def __init__(self, machine: Machine, node: Node) -> None:
        self._machine = machine
        self._node = node
        (self._body,) = node.blocks
        low, high, step, *initial = machine.known(node.operands)
        self._low, self._high, self._step = low[0], high[0], step[0]
        self._width = width_of(node.operands[0].type)
        self._depends = low[1] | step[1]
        """Of the counter."""
        self._turns_depend = low[1] | high[1] | step[1]
        self._carried = initial

    def _limit(self, turns: int | None) -> int:
        """Of the turns that are gone through."""
        sample = self._machine.sample
        return sample.constant_trips if turns is not None and not self._turns_depend else sample.trips

    def run(self) -> None:
        machine, sample, body = self._machine, self._machine.sample, self._body
        turns = self._turns()
        limit = self._limit(turns)
        depends = self._depends
        if sample.is_assumed and (turns is None or turns > limit):
            depends |= sample.assume("turns of loops")
        counter: Value = self._low
        outer = machine.mask
        yielded = body.last.operands
        for turn in range(_BLIND_TURNS if turns is None else min(limit, max(1, turns))):
            active = outer
            if counter is not None and self._high is not None:
                active = machine.narrowed(
                    lanes.as_mask(np.asarray(lanes.compared(_LESS, counter, self._high, self._width)))
                )
            is_imagined = not active.any()
            if is_imagined:
                if turn or not self._turns_depend:
                    break
                active = outer
            machine.set_all(body.arguments, [(counter, depends), *self._carried])
            machine.run_for(body, active, imagined=is_imagined)
            self._carried = machine.carry(self._carried, machine.known(yielded), active, yielded)
            if counter is not None:
                step = lanes.binary("addi", self._width)
                counter = step(counter, self._step) if step and self._step is not None else None
        results = self._node.operation.results
        machine.set_all(list(results), [(value, on | depends) for value, on in self._carried])

    def _turns(self) -> int | None:
        """How many turns the thread takes that takes most."""
        if self._low is None or self._high is None or self._step is None or not np.all(np.asarray(self._step) > 0):
            return None
        distance = np.asarray(self._high).astype(np.int64) - np.asarray(self._low).astype(np.int64)
        return int(np.max(-(-distance // self._step)))
