"""PTX instructions whose times are recorded on the emulator, in the words of sites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cutecc.timelines.sites import CLUSTER, COPIES, PRODUCTS, STORES, TENSOR_MEMORY, SiteKind

if TYPE_CHECKING:
    from cutecc.emulator.instructions.form import Form
    from cutecc.emulator.instructions.operation import Operation

When = Literal["executed", "released", "spawned"]
"""What of `Watch` tells that it happens."""


@dataclass(frozen=True)
class Deed:
    """What an instruction does."""

    kind: SiteKind
    name: str
    when: When
    barrier: str | None = None
    """Where it is the same for all that execute it."""
    needs_key: bool = False
    """Whether it is about a barrier that the watch is told."""
    takes_time: bool = False


_MBARRIER_WAIT = Deed("wait", "mbarrier wait", "executed", needs_key=True, takes_time=True)
_MBARRIER_ARRIVE = Deed("arrive", "mbarrier arrive", "released", needs_key=True)
_BARRIER = Deed("barrier", "barrier", "executed", needs_key=True, takes_time=True)
_BARRIER_ARRIVE = Deed("arrive", "barrier arrive", "released", needs_key=True)
_CLUSTER_WAIT = Deed("barrier", "cluster barrier", "executed", CLUSTER, takes_time=True)
_CLUSTER_ARRIVE = Deed("arrive", "cluster arrive", "released", CLUSTER)
_STORE_WAIT = Deed("wait", "wait for bulk stores", "executed", STORES, takes_time=True)
_COPY_WAIT = Deed("wait", "wait for copies", "executed", COPIES, takes_time=True)
_COPIES = Deed("copy", "copies", "executed", COPIES)
_PRODUCT_WAIT = Deed("wait", "wait for products", "executed", PRODUCTS, takes_time=True)
_PRODUCTS = Deed("product", "products", "executed", PRODUCTS)
_TENSOR_PRODUCTS = Deed("product", "products", "spawned", needs_key=True)
_TENSOR_WAIT = Deed("wait", "wait for tensor memory", "executed", TENSOR_MEMORY, takes_time=True)

WAIT = Deed("wait", "wait", "executed", takes_time=True)
"""What a warp is at that cannot go on, at whatever instruction."""


def deed_of(operation: Operation) -> Deed | None:
    """What an instruction does that has a time of its own; `None` for most."""
    form = operation.form
    find = _FAMILIES.get(form.opcode)
    return find(form) if find is not None and form.modifiers else None


def _of_mbarrier(form: Form) -> Deed | None:
    first = form.modifiers[0]
    if first in ("try_wait", "test_wait"):
        return _MBARRIER_WAIT
    return _MBARRIER_ARRIVE if first in ("arrive", "arrive_drop") else None


def _of_barrier(form: Form) -> Deed | None:
    if form.has("warp"):
        return None
    if form.has("cluster"):
        return _CLUSTER_ARRIVE if form.has("arrive") else _CLUSTER_WAIT
    return _BARRIER_ARRIVE if form.has("arrive") else _BARRIER


def _of_copy(form: Form) -> Deed | None:
    if form.has("wait_group") or form.has("wait_all"):
        return _STORE_WAIT if form.has("bulk") else _COPY_WAIT
    if not form.has("bulk"):
        return _COPIES if form.has("commit_group") else None
    if form.has("prefetch") or form.has("commit_group"):
        return None
    what = "TMA" if form.has("tensor") else "bulk"
    if form.has("bulk_group"):
        return Deed("copy", f"{what} {'reduce' if form.has('reduce') else 'store'}", "spawned", STORES)
    return Deed("copy", f"{what} load", "spawned", needs_key=True)


def _of_wgmma(form: Form) -> Deed | None:
    return {"commit_group": _PRODUCTS, "wait_group": _PRODUCT_WAIT}.get(form.modifiers[0])


def _of_tcgen05(form: Form) -> Deed | None:
    return {"commit": _TENSOR_PRODUCTS, "wait": _TENSOR_WAIT}.get(form.modifiers[0].partition("::")[0])


_FAMILIES: dict[str, Callable[[Form], Deed | None]] = {
    "mbarrier": _of_mbarrier,
    "bar": _of_barrier,
    "barrier": _of_barrier,
    "cp": _of_copy,
    "wgmma": _of_wgmma,
    "tcgen05": _of_tcgen05,
}
