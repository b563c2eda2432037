"""Launch plans: a host program with all but a few leaves fixed, reduced to what depends on those few.

`make_plan` evaluates a program partially. What remains is generated Python that writes the bytes that vary into
parameter blocks, and launches.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Collection, Sequence
from types import CodeType
from typing import Literal, cast

from cutecc.record.host_program import HostProgram
from cutecc.runtime.launch import Host, Launch
from cutecc.runtime.program.partial import PartialEvaluation
from cutecc.runtime.program.residual import count, lines, live
from cutecc.runtime.program.statements import Unplannable


class Plan:
    """A program with all leaves but `varying` fixed.

    A plan holds no state of an evaluation: it may be bound several times, once per thread. One bound function is not
    to be called from two threads at once, because it writes into its buffers.
    """

    def __init__(self, program: HostProgram, evaluation: PartialEvaluation, varying: Collection[int]) -> None:
        self.varying = tuple(sorted(varying))
        """The leaves that each run is given, ascending."""
        self.launches: list[Launch] = evaluation.launches
        """Every launch that a run may make, in program order: complete but for the parameter bytes that depend on a
        varying leaf, which are 0. `stream` is -1 where it varies."""
        statements = live(evaluation.code.statements, set())
        self.residual = count(statements)
        """Statements of the generated code: what a run computes anew."""
        head = ["def bind(buffers, launchers, host):"]
        for number in range(len(self.launches)):
            head.append(f" launch{number} = launchers[{number}]")
        for (number, code), name in evaluation.code.views.items():
            head.append(f" {name} = view(buffers[{number}], {code!r})")
        head.append(f" def run({', '.join(f'v{number}' for number in self.varying)}):")
        self.source = "\n".join([*head, *lines(statements, 2), "  return", " return run", ""])
        """The generated code."""
        scope = {**evaluation.code.scope, "__builtins__": {"float": float}, "view": _view}
        exec(_compiled(self.source), scope)
        self._bind = cast("_Bind", scope["bind"])

    def bind(
        self, buffers: Sequence[object], launchers: Sequence[Callable[[int], int]], host: Host
    ) -> Callable[..., None]:
        """`run(*values)`, which takes one number for each of `varying` and evaluates the program.

        `buffers[i]` is writable memory that holds a copy of `launches[i].parameters` (a bytearray, a ctypes array, a
        memoryview); a run writes only what varies into it. `launchers[i](stream)` then starts launch `i` with these
        parameters and returns the `CUresult`. `host` encodes TMA descriptors and prints; its `launch` is not called.
        `run` raises what `Evaluator` raises.
        """
        return self._bind(buffers, launchers, host)


_Bind = Callable[[Sequence[object], Sequence[Callable[[int], int]], Host], Callable[..., None]]


def make_plan(program: HostProgram, leaves: Sequence[int | float], varying: Collection[int]) -> Plan | None:
    """The plan of a verified program for these leaves, those in `varying` left open (their values here are not used).

    None where the program cannot be reduced: a loop whose length, an address, or a grid that depends on a varying
    leaf, or one that makes more than a few hundred launches. The caller then evaluates it in full each time. Making a
    plan costs about as much as a hundred evaluations: worth it for leaves that come a second time.
    """
    try:
        return Plan(program, PartialEvaluation(program, leaves, varying), varying)
    except Unplannable:
        return None


@functools.lru_cache(maxsize=256)
def _compiled(source: str) -> CodeType:
    """Plans of one program for different shapes often have the same code."""
    return compile(source, "<launch plan>", "exec")


def _view(buffer: memoryview, code: Literal["B", "H", "I", "Q", "f", "d"]) -> object:
    """A buffer as numbers of a type, as many as fit."""
    view = memoryview(buffer).cast("B")
    return view[: len(view) - len(view) % struct.calcsize(code)].cast(code)
