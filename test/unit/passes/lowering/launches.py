"""What kernels are launched with, by host programs that are evaluated alone."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.kernel import Kernel
from cutecc.runtime.launch import Launch
from cutecc.runtime.program.evaluation import Evaluator


class _Host:
    def __init__(self) -> None:
        self.launches: list[tuple[object, bytes]] = []

    def launch(self, launch: Launch) -> int:
        self.launches.append((launch.grid, bytes(launch.parameters)))
        return 0


def launched(program: Evaluator, leaves: Sequence[int]) -> tuple[object, bytes]:
    """The grid and the parameters of the only launch, for the numbers that a host program takes."""
    host = _Host()
    program(leaves, host)  # type: ignore[arg-type]
    (found,) = host.launches
    return found


def host_program(kernel: Kernel) -> Evaluator:
    """A kernel's."""
    assert kernel.host_program is not None
    return Evaluator(kernel.host_program)
