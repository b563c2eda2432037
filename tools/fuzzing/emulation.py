"""What is done with PTX that nobody means well with: it is read, decoded and executed for a while."""

from __future__ import annotations

import numpy as np

from cutecc.emulator.launch import Work, load_program
from cutecc.emulator.limits import Budget, Limits
from cutecc.emulator.machine.layout import size_of
from cutecc.emulator.memory.allocations import Allocation
from cutecc.emulator.memory.memory import initialised
from cutecc.emulator.options import EmulatorOptions
from cutecc.emulator.parallel import run_launch
from cutecc.errors import UsageError
from cutecc.ptx.locations import PtxText, python_line
from cutecc.ptx.parse import parse_module
from cutecc.ptx.syntax import Function
from cutecc.record.host_program import KernelEntry
from cutecc.report.listings import ptx_listing
from cutecc.runtime.launch import Launch

_MOST_THREADS = 1024
LIMITS = Limits(steps=2000, seconds=5.0, memory=1 << 28, blocks=4, registers=100_000, ptx=16 << 20)
"""What a kernel runs into shows at its start."""


def check(data: bytes) -> None:
    """Read, decode and execute all kernels of a text. Raises `cutecc.errors.Error` for what the text has wrong."""
    text = data.decode(errors="replace")
    ptx_listing(text, "kernel.ptx")
    python_line(text, 1 + len(text) % 100)
    ptx = PtxText(text)
    module = parse_module(ptx, most_registers=LIMITS.registers)
    for function in module.functions.values():
        if function.is_entry:
            _execute(ptx, function, options_of(text))


def options_of(text: str) -> EmulatorOptions:
    """Options that follow from the text, so that it always has the same; with most of them faults do not end it."""
    match len(text) % 8:
        case 0:
            return EmulatorOptions(check=True)
        case 1:
            return EmulatorOptions(counters=True)
        case 2:
            return EmulatorOptions(schedule="random", seed=len(text))
        case 3:
            return EmulatorOptions()
        case _:
            # Goes on behind faults.
            return EmulatorOptions(check="bounds")


def _execute(ptx: PtxText, kernel: Function, options: EmulatorOptions) -> None:
    program = load_program(ptx, kernel.name, LIMITS)
    memory = np.zeros(1 << 14, np.uint8)
    size = sum(size_of(each) + each.align for each in kernel.parameters)
    address = np.array([memory.ctypes.data], np.uint64).view(np.uint32)
    words = np.resize(np.array([*address, 4, 1], np.uint32), 1 + min(size, 4096) // 4)
    x, y, z = (*(program.required_block or (64,)), 1, 1)[:3]
    if x * y * z > _MOST_THREADS:
        raise UsageError("more threads than a block can have")
    launch = Launch(KernelEntry(kernel.name, [], 0), (2, 1, 1), (x, y, z), 4096, 0, {}, bytearray(words.tobytes()))
    allocation = Allocation(memory.ctypes.data, memory, "memory", lambda offset: f"memory + {offset}", memory)
    image = initialised(program.module_image)
    work = Work(ptx, launch, options, Budget(LIMITS))
    found = run_launch(work, program, [allocation], image, [0], lambda text: None)
    # Of checks that a mistake of cutecc's own has ended.
    assert not any(each.trace for each in found.stopped), found.stopped[0].trace
    if found.failure is not None:
        raise found.failure
