"""Fences. Memory of the emulator is always consistent: a fence only orders what checks see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.emulator.instructions.mbarrier_object import announce
from cutecc.emulator.instructions.table import Step, instruction

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.fragment import Waiting
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Lanes

_SCOPE = "{cta,cluster,gpu,sys}"
_RESTRICTED = "{sync_restrict::shared::cta,sync_restrict::shared::cluster}"


@instruction(
    "membar.{cta,gl,sys}",
    f"fence.{{sc,acq_rel,acquire,release}}?.{_SCOPE}",
    f"fence.{{acquire,release}}.{_RESTRICTED}.{_SCOPE}",
    "fence.mbarrier_init.release.cluster",
    "membar.proxy.{alias,async}",
    "fence.proxy.alias",
    "fence.proxy.async.{global,shared::cta,shared::cluster}?",
    f"fence.proxy.async::generic.{{acquire,release}}.{_RESTRICTED}.{_SCOPE}",
    f"fence.proxy.tensormap::generic.{{acquire,release}}.{_SCOPE}",
)
def fence(operation: Operation) -> Step:
    """The operands of a fence of descriptors say which one; a fence of the emulator orders them all."""
    form = operation.form
    announces = any(form.has(each) for each in ("mbarrier_init", "async", "cluster", "gpu", "sys"))

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        gang.machine.watch.fence(gang, lanes, operation)
        if announces:
            announce(gang, lanes)

    return step
