"""`check-launch`: which kernels of a finished record can never be launched, or their host function called."""

from __future__ import annotations

from cutecc.backend.launchability import NAME
from cutecc.record import Analysis, Compilation


def check_launch(compilation: Compilation) -> Analysis:
    """What compiling has warned of already, as an analysis's finding; without a cubin the entry says so."""
    found = Analysis(NAME, max((step.index for step in compilation.steps), default=0))
    if not compilation.resources:
        found.failure = "not run: there is no cubin, whose registers decide too"
    found.remarks = [each for each in compilation.warnings if each.analysis == NAME]
    return found
