"""Reducing a module: from what fails to the smallest that still does, in a file."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cutecc.errors import Error, UsageError
from cutecc.record.reproducer import Reproducer
from cutecc.workbench.checks import Finding
from cutecc.workbench.reduction.oracles import Oracle
from cutecc.workbench.reduction.output import Origin, Output
from cutecc.workbench.reduction.search import Progress, Reducer
from cutecc.workbench.reduction.working import Candidate


@dataclass(frozen=True)
class Reduced:
    """What a reduction came to."""

    start: Candidate
    """The module at first, as MLIR prints it."""
    result: Candidate
    finding: Finding
    """What the oracle says of the result."""
    tried: int
    """Modules that were asked about."""
    seconds: float
    went_on: bool
    """Whether it went on from what an earlier run had come to."""
    finished: bool
    """Whether nothing was left to try; else its time was up."""


def reduce(
    module: bytes,
    oracle: Oracle,
    path: Path,
    *,
    source: str = "-",
    jobs: int = 1,
    seconds: float | None = None,
    reproducer: Reproducer | None = None,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> Reduced:
    """Make `module`, text or bytecode, smaller as long as `oracle` says that it fails, in `jobs` processes.
    Messages call it `source`.

    The file `path` holds the smallest one at any time, behind the lines of `reproducer`, if there is one: what is in it
    when the reduction is interrupted is a module that fails, and the same call goes on from there. It is never larger
    than `module` as MLIR prints it. After `seconds` it ends with what there is. Raises `Error` for a module that does
    not fail, or not within them, `ParseError` for one that cannot be read, and `UsageError` for a file of that name
    that is not of this reduction.
    """
    began = time.monotonic()
    output = Output(path, Origin.of(module, oracle), reproducer)
    earlier = output.earlier()
    with Reducer(oracle, jobs=jobs, seconds=seconds, tell=tell, smaller=lambda new: output.write(new.text)) as reducer:
        start = first = reducer.normalised(module, source)
        finding, took = _asked(reducer, first)
        if finding.verdict != "fails":
            # What fails may depend on where the module says that it comes from.
            reducer.keep_locations()
            start = first = reducer.normalised(module, source)
            finding, took = _asked(reducer, first)
        if finding.verdict != "fails":
            what = "the module does not fail" if finding.verdict == "passes" else "whether it fails cannot be told"
            raise Error(
                f"there is nothing to reduce: {what}",
                notes=[finding.line] if finding.line else [],
            )
        reducer.settle(finding, took)
        if earlier:
            first = reducer.normalised(earlier, str(path))
            if reducer.ask(first.text).verdict != "fails":
                raise UsageError(
                    f"{path}, which an earlier run came to, does not fail any more",
                    hints=["name another file with --output, or remove it"],
                )
        else:
            output.write(first.text)
        result = reducer.reduce(first, len(start.text))
        last = reducer.ask(result.text)
        if reproducer and reproducer.expected == "failed" and reproducer.message != last.line:
            # What counts as the same failure may say something else of the smallest module.
            replace(output, reproducer=replace(reproducer, message=last.line)).write(result.text)
        return Reduced(
            start,
            result,
            last,
            reducer.tried,
            time.monotonic() - began,
            earlier is not None,
            not reducer.out_of_time,
        )


def _asked(reducer: Reducer, candidate: Candidate) -> tuple[Finding, float]:
    """What the oracle says of a module, and after how many seconds."""
    began = time.monotonic()
    return reducer.ask(candidate.text), time.monotonic() - began
