"""Find writes that threads make to shared memory and an asynchronous proxy reads, with no fence between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.locations import nearest_location
from cutecc.passes.analysis.synchronisation.checking import Numbers, SynchronisationCheck, Verdicts, why_unknown
from cutecc.passes.analysis.synchronisation.runs import Run
from cutecc.passes.analysis.synchronisation.sites import Kind, Site
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class CheckProxyFences(SynchronisationCheck):
    """Warn of a TMA store, wgmma or tcgen05 that reads what threads have written with no fence.proxy.async between."""

    name: ClassVar[str] = "check-proxy-fences"
    things: ClassVar[str] = "reads of shared memory by asynchronous proxies"

    def look(self, run: Run, verdicts: Verdicts) -> None:
        wrong = {each.event.site: each for each in reversed(run.seen) if each.what == "proxy"}
        for site in run.traces.of(Kind.READ):
            if found := wrong.get(site):
                assert found.write is not None
                writer, warp = found.write.site, found.write.warp
                numbers: Numbers = {"written by warp": run.traces.warps[warp].warp}
                place = nearest_location(writer.operation.location)
                if place is not None and place.line is not None:
                    numbers["written at line"] = place.line
                text = (
                    f"{_name(site)} reads shared memory that threads have written{_at(writer)}, with no fence for the "
                    'asynchronous proxy between: fence_proxy("async.shared", space="cta") by those that write, after '
                    "the write and before the barrier"
                )
                verdicts.say(site.operation, text, numbers)
            elif run.reads.get(site):
                verdicts.right += 1
            else:
                verdicts.unknown[why_unknown(run)] += 1


def _at(site: Site) -> str:
    place = nearest_location(site.operation.location)
    return f" (line {place.line})" if place else ""


def _name(site: Site) -> str:
    name = site.operation.name
    if name.startswith("nvvm.cp"):
        return "a bulk copy"
    return "wgmma" if name == "llvm.inline_asm" else "tcgen05"
