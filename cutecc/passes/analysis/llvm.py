"""`check-llvm`: what LLVM says that it could not do, where it generates the code. Looks at the finished record."""

from __future__ import annotations

import time
from collections import Counter

from cutecc.errors import SourceLocation
from cutecc.passes.generation.choice import MISSED_OPTIMISATIONS, PASSES
from cutecc.record import Analysis, Compilation, Remark
from cutecc.record.llvm_passes import llvm_passes
from cutecc.support.locations import Place

NAME = MISSED_OPTIMISATIONS
SUMMARY = "Remark on what LLVM could not do: hoist a load out of a loop, unroll as asked, inline a call."

_CLOSED = (
    "not run: NVIDIA's compiler generates the code in one closed step, and tells nothing of it; "
    "--pipeline open or --backend llvm has LLVM do it"
)


def generates_by_llvm(compilation: Compilation) -> bool:
    """Whether LLVM is what generates the code."""
    return compilation.step(PASSES["llvm"]) is not None


def check_llvm(compilation: Compilation) -> Analysis:
    """A remark for each thing that LLVM could not do at a line, in its words, with the pass; the line is the user's.

    Without a record of LLVM's passes the entry says why.
    """
    start = time.perf_counter()
    found = Analysis(NAME, max((step.index for step in compilation.steps), default=0))
    if not generates_by_llvm(compilation):
        found.failure = _CLOSED
        return found
    counts = Counter[tuple[str | None, str, str]]()
    is_known = False
    for module in llvm_passes(compilation):
        is_known = True
        for each in module.missed:
            counts[_where(module.place(each.place)), each.pass_name, each.message] += each.times
    if not is_known:
        found.failure = "not run: the record does not say what LLVM did"
    for (where, name, message), times in counts.items():
        numbers: dict[str, int | float | str] = {"times": times} if times > 1 else {}
        found.remarks.append(Remark("remark", f"LLVM, {name}: {message}", where, NAME, numbers))
    found.seconds = time.perf_counter() - start
    return found


def _where(place: Place | None) -> str | None:
    if place is None:
        return None
    file, line, column = place[-1]
    return str(SourceLocation(file, line, column or None))
