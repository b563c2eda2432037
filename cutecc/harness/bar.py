"""What decides whether a kernel is right, and who says so: outputs and tolerance may be said in several places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cutecc.record import Workload

ALL_ARRAYS = "all arrays"
BY_TYPE = "by type"


@dataclass(frozen=True)
class Bar:
    """What a kernel has to get over."""

    workload: Workload
    """Outputs, none for all arrays; tolerance and ulp, none for those of the types."""
    sources: Mapping[str, str]
    """Who says `outputs` and `tolerance`: a file, the command line, or `ALL_ARRAYS` and `BY_TYPE` where nobody does."""


def choose_bar(said: Sequence[tuple[str, Workload]]) -> Bar:
    """The bar of the first of these, each with its name, that say something: outputs and tolerance may be of two."""
    nobody = Workload()
    naming, named = next(((who, each) for who, each in said if each.outputs), (ALL_ARRAYS, nobody))
    bounding, bounds = next(
        ((who, each) for who, each in said if each.tolerance is not None or each.ulp is not None), (BY_TYPE, nobody)
    )
    workload = Workload(named.outputs, bounds.tolerance, ulp=bounds.ulp)
    return Bar(workload, {"outputs": naming, "tolerance": bounding})


def sources_text(sources: Iterable[tuple[str, str]]) -> str:
    """`reference, outputs: check.py; tolerance: by type`: what is said, by who says it."""
    by_source: dict[str, list[str]] = {}
    for what, who in sources:
        by_source.setdefault(who, []).append(what)
    return "; ".join(f"{', '.join(what)}: {who}" for who, what in by_source.items())
