"""The sites of a timeline as marks of the DSL's own profiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cutecc.ir.building import after, before
from cutecc.ir.mlir import ir
from cutecc.passes.base import ModulePass
from cutecc.passes.diagnostics import remark
from cutecc.passes.lowering.values.host import kernels
from cutecc.passes.registry import register
from cutecc.passes.transforms.timeline_sites import Place, places
from cutecc.timelines.sites import Site

_MOST = 31
"""Events that `run-iket` tells apart."""
_LONGEST = 24
"""Of a name, which has 32 characters at most with its line."""


@register
@dataclass(frozen=True)
class MarkTimeline(ModulePass):
    """Put a range of `iket` around each wait and barrier; `sites=all` also marks arrivals, copies and products.

    The profiler of the DSL's wheel, `run-iket`, records them, where they are not stripped later. It tells 31 events
    apart: the user's own marks and those sites that come first; what is left out is told.
    """

    name: ClassVar[str] = "mark-timeline"

    sites: Literal["waits", "all"] = "waits"
    """Which: `waits`, or `all`."""

    def run(self, module: ir.Module) -> None:
        for _, kernel in list(kernels(module)):
            found = list(places(kernel, self.sites))
            names = list(dict.fromkeys(_name(each.site) for each in sorted(found, key=_rank)))
            chosen = [each for each in found if _name(each.site) in names[:_MOST] and each.site.kind != "mark"]
            for each in chosen:
                _mark(each)
            left = f"; {len(names) - _MOST} more are left out" if len(names) > _MOST else ""
            remark(kernel, f"marks {len(chosen)} sites{left}")


def _mark(place: Place) -> None:
    name: dict[str, Any] = {"event_name": ir.StringAttr.get(_name(place.site))}
    if place.moments == ("begin", "end"):
        with before(place.operation):
            ir.Operation.create("iket.range_push", attributes=name)
        with after(place.operation):
            ir.Operation.create("iket.range_pop")
    else:
        with after(place.operation):
            ir.Operation.create("iket.mark", attributes=name)


def _name(site: Site) -> str:
    return site.name if site.kind == "mark" or not site.line else f"{site.name[:_LONGEST]}:{site.line}"


def _rank(place: Place) -> int:
    """The user's own events come first: they are there already. Then waits."""
    return 0 if place.site.kind == "mark" else 1 if place.moments == ("begin", "end") else 2
