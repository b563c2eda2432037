"""What loads, stores and atomics with `.acquire` and `.release` tell `watch` (PTX ISA, "Memory Consistency Model")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.machine.lanes import Array, Lanes

if TYPE_CHECKING:
    from cutecc.emulator.instructions.form import Form
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang


def acquires(form: Form) -> bool:
    """Whether it sees what was released at its address."""
    return form.has("acquire") or form.has("acq_rel")


def releases(form: Form) -> bool:
    """Whether what was done before is seen by who acquires at its address."""
    return form.has("release") or form.has("acq_rel")


def acquire_addresses(operation: Operation, gang: Gang, lanes: Lanes, addresses: Array) -> None:
    """The threads acquire, each at its address (see `Memory.keys`)."""
    for key in np.unique(addresses[lanes.mask]):
        gang.machine.watch.acquire(gang, lanes.only(addresses == key), operation, ("atomic", int(key)))


def release_addresses(operation: Operation, gang: Gang, lanes: Lanes, addresses: Array) -> None:
    """The threads release, each at its address (see `Memory.keys`)."""
    for key in np.unique(addresses[lanes.mask]):
        gang.machine.watch.release(gang, lanes.only(addresses == key), operation, ("atomic", int(key)))
