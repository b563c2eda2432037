"""What is said of PTX that another compiler made: mends are instructions of PTX, which every language has a name for,
instead of functions of the DSL."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from cutecc.emulator.names import FOREIGN

if TYPE_CHECKING:
    from cutecc.emulator.checks.finding import Finding
    from cutecc.errors import Error
    from cutecc.record import Compilation

_INSTRUCTIONS = {
    'fence_proxy("async.shared", space="cta")': "fence.proxy.async.shared::cta",
    'fence_proxy("async")': "fence.proxy.async",
    "fence_acq_rel_gpu()": "fence.acq_rel.gpu",
    "`with cute.arch.elect_one():`": "elect.sync",
    "sync_threads()": "bar.sync",
    "sync_warp()": "bar.warp.sync",
    "cluster_arrive()": "barrier.cluster.arrive",
    "cluster_wait()": "barrier.cluster.wait",
    "cute.nvgpu.warpgroup.wait_group(0)": "wgmma.wait_group 0",
    "warpgroup.wait_group": "wgmma.wait_group",
    "warpgroup.fence()": "wgmma.fence",
    "cute.arch.atomic_add": "atom.add",
    "cp_async_wait_group": "cp.async.wait_group",
    "cp_async_bulk_wait_group": "cp.async.bulk.wait_group",
    "mbarrier_arrive_and_expect_tx": "mbarrier.arrive.expect_tx",
    "mbarrier_arrive": "mbarrier.arrive",
    "mbarrier_wait": "mbarrier.try_wait",
    "mbarrier_init": "mbarrier.init",
    "cute.arch.alloc_tmem": "tcgen05.alloc",
    "cute.arch.dealloc_tmem": "tcgen05.dealloc",
    "set tcgen05.Field.ACCUMULATE to False": "its predicate enable-input-d is false",
    "cute.arch.fence_view_async_tmem_load": "tcgen05.wait::ld",
    "cute.arch.fence_view_async_tmem_store": "tcgen05.wait::st",
    "cpasync.fence_tma_desc_acquire": "fence.proxy.tensormap",
}
"""What functions of the DSL become."""
_ANY = re.compile("|".join(rf"(?<![\w.]){re.escape(each)}" for each in sorted(_INSTRUCTIONS, key=len, reverse=True)))


def is_foreign(compilation: Compilation) -> bool:
    """Whether another compiler made the code."""
    return compilation.pipeline == FOREIGN


def in_ptx(text: str) -> str:
    """A sentence with instructions in it for functions of the DSL."""
    return _ANY.sub(lambda found: _INSTRUCTIONS[found[0]], text)


def finding_in_ptx(finding: Finding) -> Finding:
    """The same finding, so told."""
    return replace(finding, message=in_ptx(finding.message))


def tell_in_ptx(error: Error) -> None:
    """Change what an error says, so that it says so."""
    error.message = in_ptx(error.message)
    error.notes = [in_ptx(each) for each in error.notes]
    error.hints = [in_ptx(each) for each in error.hints]
