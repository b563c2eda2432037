"""Small programs of warps, all their interleavings by brute force, and the same as a kernel for the prover.

Nothing here knows of clocks or of the prover: a state is where each warp is and what the barriers hold, and every
step that some warp can take is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Operation = tuple[str, int, int]
"""`("arrive", barrier, 0)`, `("wait", barrier, parity)`, `("read"|"write", cell, 0)`, `("sync", 0, 0)`."""
_CELL = 16
_FIRST_CELL = 1024


@dataclass(frozen=True)
class Program:
    """What each warp does, one after the other, and how many arrivals complete a phase of each mbarrier."""

    warps: tuple[tuple[Operation, ...], ...]
    counts: tuple[int, ...]

    def text(self) -> str:
        """The program as a lowered kernel; one thread of a warp does what is not a wait."""
        return _Text(self).whole()


@dataclass(frozen=True)
class State:
    """A state of the machine."""

    at: tuple[int, ...]
    pending: tuple[int, ...]
    complete: tuple[int, ...]
    arrived: frozenset[int] = frozenset()
    """Warps that wait at the block's barrier."""


@dataclass
class Outcome:
    """What some interleaving comes to."""

    deadlocks: bool = False
    races: bool = False
    states: set[State] = field(default_factory=set[State])

    @property
    def is_right(self) -> bool:
        return not self.deadlocks and not self.races


def explore(program: Program) -> Outcome:
    """All interleavings. A race is a state in which two warps can do what collides."""
    found = Outcome()
    waiting = [State((0,) * len(program.warps), program.counts, (0,) * len(program.counts))]
    while waiting:
        state = waiting.pop()
        if state in found.states:
            continue
        found.states.add(state)
        steps = list(_steps(program, state))
        is_over = all(at == len(warp) for at, warp in zip(state.at, program.warps, strict=True))
        found.deadlocks |= not steps and not is_over
        found.races |= _collides([operation for _, operation, _ in steps])
        waiting += [after for _, _, after in steps]
    return found


def _collides(operations: Sequence[Operation]) -> bool:
    accesses = [each for each in operations if each[0] in ("read", "write")]
    return any(
        a[1] == b[1] and "write" in (a[0], b[0]) for number, a in enumerate(accesses) for b in accesses[number + 1 :]
    )


def _steps(program: Program, state: State) -> Iterator[tuple[int, Operation, State]]:
    for warp, operations in enumerate(program.warps):
        if state.at[warp] < len(operations) and warp not in state.arrived:
            operation = operations[state.at[warp]]
            after = _step(program, state, warp, operation)
            if after is not None:
                yield warp, operation, after


def _step(program: Program, state: State, warp: int, operation: Operation) -> State | None:
    kind, number, parity = operation
    at = _with(state.at, warp, state.at[warp] + 1)
    if kind == "wait":
        return None if state.complete[number] % 2 == parity else State(at, state.pending, state.complete, state.arrived)
    if kind == "arrive":
        pending, complete = state.pending, state.complete
        if pending[number] == 1:
            pending = _with(pending, number, program.counts[number])
            complete = _with(complete, number, (complete[number] + 1) % 2)
        else:
            pending = _with(pending, number, pending[number] - 1)
        return State(at, pending, complete, state.arrived)
    if kind == "sync":
        arrived = state.arrived | {warp}
        if len(arrived) < len(program.warps):
            return State(state.at, state.pending, state.complete, arrived)
        return State(tuple(each + 1 for each in state.at), state.pending, state.complete)
    return State(at, state.pending, state.complete, state.arrived)


def _with(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


class _Text:
    def __init__(self, program: Program) -> None:
        self._program = program

    def whole(self) -> str:
        program = self._program
        threads = 32 * len(program.warps)
        inits = "\n".join(
            f"""%b{number} = llvm.getelementptr %shared[{number}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
            %n{number} = arith.constant {count} : i32"""
            for number, count in enumerate(program.counts)
        )
        made = "\n".join(
            f"nvvm.mbarrier.init %b{number}, %n{number} : !llvm.ptr<3>, i32" for number in range(len(program.counts))
        )
        bodies = "\n".join(self._warp(number, warp) for number, warp in enumerate(program.warps))
        return f"""
gpu.module @kernels {{
  llvm.mlir.global external @memory() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<0 x i8>
  cuda.kernel @kernel() attributes {{nvvm.reqntid = array<i32: {threads}, 1, 1>}} {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %ticks = arith.constant 10000000 : i32
    %shared = llvm.mlir.addressof @memory : !llvm.ptr<3>
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divsi %thread, %c32 : i32
    %lane = arith.remsi %thread, %c32 : i32
    %is_first = arith.cmpi eq, %thread, %c0 : i32
    %leads = arith.cmpi eq, %lane, %c0 : i32
    {inits}
    scf.if %is_first {{
      {made}
      nvvm.fence.mbarrier.init
    }}
    nvvm.barrier
    {bodies}
    return
  }}
}}"""

    def _warp(self, number: int, operations: Sequence[Operation]) -> str:
        body = "\n".join(self._operation(f"{number}_{index}", each) for index, each in enumerate(operations))
        return f"""
    %w{number} = arith.constant {number} : i32
    %is{number} = arith.cmpi eq, %warp, %w{number} : i32
    scf.if %is{number} {{
      {body}
    }}"""

    @staticmethod
    def _operation(name: str, operation: Operation) -> str:
        kind, number, parity = operation
        at = _FIRST_CELL + _CELL * number
        cell = f"%a{name} = llvm.getelementptr %shared[{at}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8"
        if kind == "wait":
            return f"""%p{name} = arith.constant {parity} : i32
      nvvm.mbarrier.try_wait.parity %b{number}, %p{name}, %ticks : !llvm.ptr<3>, i32, i32"""
        if kind == "sync":
            return "nvvm.barrier"
        inner = {
            "arrive": f"%r{name} = nvvm.mbarrier.arrive %b{number}, %c1 : !llvm.ptr<3> -> i64",
            "read": f"{cell}\n%r{name} = llvm.load %a{name} : !llvm.ptr<3> -> i32",
            "write": f"{cell}\nllvm.store %c1, %a{name} : i32, !llvm.ptr<3>",
        }[kind]
        return f"scf.if %leads {{\n{inner}\n}}"
