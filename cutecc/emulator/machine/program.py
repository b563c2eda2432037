"""A kernel as the machine executes it: one list of operations, the steps that execute them, and where control goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step
from cutecc.emulator.instructions.types import DTYPES, bits_of
from cutecc.emulator.machine.control import Control
from cutecc.emulator.machine.stack import Stack
from cutecc.errors import EmulatorError
from cutecc.ptx.syntax import Function, Variable, registers_of


@dataclass(eq=False, slots=True)
class Program:
    """One kernel, with the functions that it calls behind it."""

    name: str
    target: str
    """`sm_90a`, what the PTX was made for."""
    operations: list[Operation] = field(default_factory=list[Operation])
    steps: list[Step | None] = field(default_factory=list["Step | None"])
    """By index of operation; `None` where there is a control."""
    controls: list[Control | None] = field(default_factory=list["Control | None"])
    """Branches, calls and returns, by index of operation."""
    stops: list[int] = field(default_factory=list[int])
    """For each operation, the index of the first control from there on."""
    refused: set[int] = field(default_factory=set[int])
    """Operations that are an error, and nothing else, for whoever comes to them: their operands may be any."""
    late: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    """By operation, of which there are few: registers that it uses, and that `tcgen05.ld` may still bring."""
    polls: dict[int, int] = field(default_factory=dict[int, int])
    """Backward branches of loops that only look whether something has changed, and where each of these begins."""
    awaits_blocks: bool = False
    """Whether one of these loops may wait for blocks of other clusters."""
    widths: list[np.dtype[Any]] = field(default_factory=list[np.dtype[Any]])
    """Of each register slot: bool or unsigned."""
    registers: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Function → names of its registers; their slots follow one another, functions in this order."""
    module_image: bytes = b""
    """Initial bytes of the module's `.global` and `.const` variables, at their `MODULE_APERTURE` offsets."""
    heap: int | None = None
    """Where in the module's memory the heap begins; `None` where nothing allocates."""
    grid_workspace: int = 0
    """The address of what blocks that are launched cooperatively meet by, where the kernel asks for it."""
    shared_bytes: int = 0
    """Static shared memory of a block, with what hardware reserves at its start."""
    local_bytes: int = 0
    """Local memory of a thread."""
    stack: Stack | None = None
    """Of a thread, where functions call themselves."""
    calls: dict[int, dict[int, int]] = field(default_factory=dict[int, dict[int, int]])
    """By call of functions of the program: where they return to, and where each begins that does."""
    jumps: dict[int, int] = field(default_factory=dict[int, int])
    """Where operations behind such calls go on."""
    parameters: tuple[Variable, ...] = ()
    required_block: tuple[int, ...] = ()
    """`.reqntid`, where the kernel has one."""


_RESERVED_SHARED_BYTES = 1024


def reserved_shared_bytes(target: str) -> int:
    """Bytes at the start of a block's shared memory that are the system's (CUDA C++ Programming Guide, "Shared
    Memory")."""
    return _RESERVED_SHARED_BYTES if int("".join(filter(str.isdigit, target)) or 0) >= 90 else 0


class FunctionScope:
    """What names mean in one function."""

    def __init__(
        self,
        function: Function,
        first_slot: int,
        symbols: Mapping[str, tuple[str, int]],
        names_ranks: bool = False,
        has_frames: bool = False,
    ) -> None:
        """`symbols` are the module's, the function's own and its parameters: state space and address."""
        self.names_ranks = names_ranks
        """Whether addresses of shared variables say which block of the cluster it is: as hardware has them, and as
        kernels for pairs of blocks need them, who make of them the pair's first block's."""
        self.has_frames = has_frames
        """Whether local variables lie elsewhere for each call of the function, which may call itself."""
        names = list(function.registers)
        self.function = function
        self._slots = {name: first_slot + number for number, name in enumerate(names)}
        unknown = set(function.registers.values()).difference(DTYPES)
        if unknown:
            raise EmulatorError(f"the emulator does not model registers of type '.{min(unknown)}'")
        self._widths = {name: bits_of(DTYPES[type_]) for name, type_ in function.registers.items()}
        self._symbols = symbols
        self._uses: Counter[str] | None = None

    @property
    def slots(self) -> Sequence[int]:
        """Those of all registers."""
        return [*self._slots.values()]

    @property
    def widths(self) -> list[np.dtype[Any]]:
        return list(self._widths.values())

    def slot(self, register: str) -> int:
        """The index in `Gang.registers`."""
        return self._slots[register]

    def width(self, register: str) -> np.dtype[Any]:
        """Bool or unsigned."""
        return self._widths[register]

    def uses(self, register: str) -> int:
        """How many operands of the function are, or hold, the register."""
        if self._uses is None:
            self._uses = Counter(
                name for instruction in self.function.instructions for name in registers_of(instruction)
            )
        return self._uses[register]

    def address_of(self, function: str) -> int:
        """The address of a function of the module."""
        return self._symbols[function][1]

    def symbol(self, name: str) -> tuple[str, int] | None:
        """State space and address, within that space, of a variable, parameter or function; `None` for others."""
        return self._symbols.get(name)
