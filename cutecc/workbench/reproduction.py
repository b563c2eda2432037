"""`cutecc repro`: whether what a reproducer shows still happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from cutecc.compilation.request import ALL_ARTIFACTS, CompileOptions
from cutecc.compilation.versions import current_versions
from cutecc.errors import RecordError, UsageError
from cutecc.passes.generation.choice import PASSES
from cutecc.passes.named import NAMED
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Versions
from cutecc.record.reproducer import Reproducer, read_reproducer
from cutecc.target import Target
from cutecc.workbench.failing import Failure, failure_apart
from cutecc.workbench.subjects import Subject

Result = Literal["still happens", "fails otherwise", "happens no more"]
_TARGET = "sm_90a"
"""Of a reproducer that names none: its passes are the same for all."""


@dataclass(frozen=True)
class Reproduction:
    """What came of a reproducer's command."""

    reproducer: Reproducer
    result: Result
    found: str | None
    """How it ended now; `None` when nothing failed."""
    other_versions: dict[str, tuple[str, str]]
    """What has another version here: that of the reproducer, and that of today."""


def reproduce(data: bytes, source: str) -> Reproduction:
    """Run the command in the first line of a reproducer, whose content is `data`, and compare.

    In a process of its own, without a shell. Raises `RecordError` for what is no reproducer, and `UsageError` for a
    pass that nobody knows and a module that cannot be read.
    """
    reproducer = read_reproducer(data.decode(errors="replace"))
    found = failure_apart(subject_of(reproducer, data, source))
    versions = _other_versions(reproducer.versions)
    if found is None:
        return Reproduction(reproducer, "happens no more", None, versions)
    expected = expected_of(reproducer)
    alike = expected.is_like(found)
    if found.is_of_input and not alike:
        unknown = found.message.startswith("no pass is called")
        hints = ["--load knows the passes of a Python file"] if unknown else []
        raise UsageError(f"{source}: the command cannot be run: {found}", hints=hints)
    return Reproduction(reproducer, "still happens" if alike else "fails otherwise", str(found), versions)


def expected_of(reproducer: Reproducer) -> Failure:
    """How the command of a reproducer ended."""
    if reproducer.expected == "aborted":
        return Failure("abort", reproducer.pass_name, "")
    return Failure("error", reproducer.pass_name, reproducer.message)


def subject_of(reproducer: Reproducer, data: bytes, source: str) -> Subject:
    """What the command of a reproducer compiles, and how. Raises `RecordError` for options that make no sense."""
    options = reproducer.options
    target, backend = options.get("target"), options.get("backend")
    # Without one, `opt` reads a module and writes it.
    pipeline = options.get("pipeline", "" if reproducer.subcommand == "opt" else None)
    level, verify_each = options.get("opt-level", 3), options.get("verify-each", False)
    if not isinstance(pipeline, str) or not isinstance(target, str | None):
        raise RecordError("the reproducer's header is damaged: its pipeline or target is no text")
    if backend not in (None, *PASSES):
        raise RecordError(f"the reproducer's header names the backend {backend!r}, which there is not")
    if level not in range(4):
        raise RecordError(f"the reproducer's header has the optimisation level {level!r}, which there is not")
    if not isinstance(verify_each, bool):
        raise RecordError("the reproducer's header is damaged: whether it verifies is no truth value")
    return Subject(
        data,
        Target.parse(target or _TARGET).name,
        "reproducer",
        source,
        options=CompileOptions(
            # The file's word, not the user's: it may name a pipeline or spell one, but no file to read.
            pipeline=pipeline if pipeline in NAMED else Pipeline.parse(pipeline),
            backend=backend,
            wheel=WheelOptions(opt_level=int(level)),
            verify_each=verify_each,
            artifacts=ALL_ARTIFACTS if reproducer.subcommand == "compile" else (),
        ),
    )


def _other_versions(then: Versions) -> dict[str, tuple[str, str]]:
    """Of those that decide about passes."""
    now = current_versions()
    if then.flavour is None:
        now = replace(now, flavour=None)  # older reproducers do not tell it
    pairs = {
        "cutecc": (then.cutecc, now.cutecc),
        "nvidia_cutlass_dsl": (then.wheel, now.wheel),
        "python": (then.python, now.python),
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
