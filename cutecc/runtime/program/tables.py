"""The tables of a host program that its instructions refer to: types, leaves, memory, text, kernels."""

from __future__ import annotations

from typing import Final, NoReturn

from cutecc.errors import RecordError
from cutecc.record.host_program import HostProgram, KernelEntry
from cutecc.runtime.program.number_expressions import BITS

MAX_VALUES: Final = 200_000
MAX_MEMORY: Final = 1 << 20
"""Bytes of all allocations together."""
MAX_ALLOCATIONS: Final = 4096
MAX_ALIGNMENT: Final = 4096
MAX_TEXT: Final = 1 << 20
"""Characters of all strings together."""
MAX_PARAMETER_BYTES: Final = 32_764
"""What CUDA allows for the parameters of one kernel."""
MAX_KERNELS: Final = 4096
MAX_PARAMETERS: Final = 4096
"""Of one kernel."""


def malformed(what: str) -> NoReturn:
    """Refuse the program because of `what`."""
    raise RecordError(f"the host program is malformed: {what}")


def verify_tables(program: HostProgram) -> None:
    """Raise `RecordError` unless the tables are well formed."""
    if len(program.types) > MAX_VALUES:
        malformed(f"{len(program.types)} values; at most {MAX_VALUES}")
    for number, type_ in enumerate(program.types):
        if type_ not in BITS:
            malformed(f"value {number} has the type '{type_}'")
    for number, leaf in enumerate(program.leaves):
        if number >= len(program.types) or leaf.type != program.types[number]:
            malformed(f"leaf {number} is {leaf.type}, but value {number} is not")
        if leaf.kind in ("pointer", "stream") and leaf.type != "i64":
            malformed(f"leaf {number}, a {leaf.kind}, has type {leaf.type}")
        if leaf.kind in ("size", "stride") and leaf.type not in ("i32", "i64"):
            malformed(f"leaf {number}, a {leaf.kind}, has type {leaf.type}")
    _verify_allocations(program)
    if sum(map(len, program.strings)) > MAX_TEXT:
        malformed(f"more than {MAX_TEXT} characters of text")
    if len(program.kernels) > MAX_KERNELS:
        malformed(f"{len(program.kernels)} kernels; at most {MAX_KERNELS}")
    for kernel in program.kernels:
        _verify_kernel(kernel)


def _verify_allocations(program: HostProgram) -> None:
    if len(program.allocations) > MAX_ALLOCATIONS:
        malformed(f"{len(program.allocations)} allocations; at most {MAX_ALLOCATIONS}")
    total = 0
    for number, allocation in enumerate(program.allocations):
        if allocation.size < 0 or not _is_alignment(allocation.align, MAX_ALIGNMENT):
            malformed(f"allocation {number} has size {allocation.size} and alignment {allocation.align}")
        total += allocation.size
    if total > MAX_MEMORY:
        malformed(f"{total} bytes of memory; at most {MAX_MEMORY}")


def _verify_kernel(kernel: KernelEntry) -> None:
    if not kernel.name or "\0" in kernel.name:
        malformed(f"a kernel has the name {kernel.name!r}")
    if not 0 <= kernel.parameter_bytes <= MAX_PARAMETER_BYTES:
        malformed(f"kernel '{kernel.name}' has {kernel.parameter_bytes} bytes of parameters")
    if len(kernel.parameters) > MAX_PARAMETERS:
        malformed(f"kernel '{kernel.name}' has {len(kernel.parameters)} parameters; at most {MAX_PARAMETERS}")
    end = 0
    for number, parameter in enumerate(kernel.parameters):
        where = f"parameter {number} of kernel '{kernel.name}'"
        if not _is_alignment(parameter.align, MAX_ALIGNMENT) or parameter.offset % parameter.align:
            malformed(f"{where} is at offset {parameter.offset} with alignment {parameter.align}")
        if parameter.size < 0 or parameter.offset < end:
            malformed(f"{where} has size {parameter.size}, or overlaps the one before it")
        end = parameter.offset + parameter.size
        if end > kernel.parameter_bytes:
            malformed(f"{where} ends at byte {end} of {kernel.parameter_bytes}")


def _is_alignment(value: int, most: int) -> bool:
    return 0 < value <= most and value & (value - 1) == 0
