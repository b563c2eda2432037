"""Calls of an operation on the CPU emulator, on arrays of the CPU, in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.emulator.device import Emulation, Emulator
from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import ArgumentError
from cutecc.operations.given import given_workspace
from cutecc.operations.tile_model import machine
from cutecc.operations.variant import Bound, Variant
from cutecc.operations.views import Table

if TYPE_CHECKING:
    from cutecc.emulator.memory.allocations import Allocation
    from cutecc.kernel import Kernel
    from cutecc.runtime import binding

_POISON = 0xAB
"""What is in a workspace that nobody has written: no zeros, which would hide that it is read."""


def emulate(variant: Variant[Any], bound: Bound, options: EmulatorOptions, workspace: Any = None) -> Emulation:
    """Run a call that was bound to its end, in the `workspace` that is given; returns what was found and counted.

    Raises `ArgumentError` and `EmulatorError` as `Kernel.emulate` does.
    """
    if not isinstance(options, EmulatorOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"emulator={options!r}", hints=["give cutecc.EmulatorOptions(check=True, …)"])
    for name, each in bound.arrays.items():
        array = each.like if isinstance(each, Table) else each
        if array.device != "cpu":
            raise ArgumentError(
                f"argument '{name}' lives on {array.place}, and this call runs on the CPU emulator",
                hints=['leave out device="cpu" to run on a GPU, or move it with .cpu()'],
            )
    arguments = dict(bound.values)
    if size := bound.workspace_bytes:
        alignment = variant.workspace_alignment
        arguments["workspace"] = (
            _workspace(size, bound.zeroed_bytes, alignment)
            if workspace is None
            else given_workspace(workspace, size, "cpu", alignment)
        )
    if variant.takes_multiprocessors:
        arguments["multiprocessors"] = machine(variant.description.target).multiprocessors
    tables = {name: each for name, each in bound.arrays.items() if isinstance(each, Table)}
    emulator = _Emulator(variant.kernel, tables)
    return emulator.emulate((), arguments, options, show=partial(print, end="", flush=True))


class _Emulator(Emulator):
    """Knows the matrices behind tables of addresses."""

    def __init__(self, kernel: Kernel, tables: Mapping[str, Table]) -> None:
        super().__init__(kernel.compilation, kernel.launcher.binder)
        self._tables = tables

    def _arrays(self, bound: binding.Bound) -> Iterable[Allocation]:
        from cutecc.emulator.memory.allocations import tensor_allocation

        yield from super()._arrays(bound)
        for name, each in self._tables.items():
            for index, array in enumerate(each.behind()):
                yield tensor_allocation(array, f"{name}[{index}]")


def _workspace(size: int, zeroed: int, alignment: int) -> Any:
    memory = np.full(size + alignment, _POISON, np.uint8)
    start = -memory.ctypes.data % alignment
    memory[start : start + zeroed] = 0
    return memory[start : start + size]
