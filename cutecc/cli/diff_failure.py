"""What `cutecc diff-test` says of a kernel that is wrong in every variant: the mistake is the kernel's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.option_texts import split_names
from cutecc.cli.sizes import sizes_text
from cutecc.errors import Error, SourceLocation
from cutecc.support.harmless import message_text, one_line, readable

if TYPE_CHECKING:
    from cutecc.workbench.plan import PlannedKernel
    from cutecc.workbench.running import KernelResult, Run

_OF_OTHERS = ("runs", "insert_after", "insert_before", "replace", "without")
"""Options that `sanitize` has too: of other variants than the first, or with another meaning."""


def incomparable_lines(result: KernelResult, run: Run, command: str | None) -> Iterator[str]:
    """Why there is nothing to compare, as the run of the first variant says, and `command`, which tells more of it."""
    yield f"cannot be compared: {_all(result, 'fails', 'do')}; {_where(run)}"
    error = _error(run, result.kernel.file)
    place = f"{one_line(str(error.location))}: " if error.location else ""
    yield f"{place}error: {message_text(error.message)}"
    for label, text in readable(error.details()):
        yield f"{label}: {text}" if label else text
    if command:
        yield f"hint: look for the mistake in the kernel: {command}"


def wrong_lines(result: KernelResult, run: Run, command: str | None) -> Iterator[str]:
    """The same of a kernel whose variants run, and write what they should not."""
    yield f"{_all(result, 'is wrong', 'are')}; {_where(run)}"
    yield "hint: look for the mistake in the kernel, or in its reference" + (f": {command}" if command else "")


def sanitize_hint(context: click.Context, kernel: PlannedKernel, run: Run) -> str | None:
    """The command that looks for what is wrong in the first variant of a kernel; `None` where none does."""
    from cutecc.cli.sanitize import sanitize_command

    if run.verdict == "fails" and not run.in_kernel:
        return None
    values = context.params
    pipeline, backend = split_names((values["pipelines"],))[0], split_names((values["backends"],))[0]
    first = next((each.bundle for each in kernel.variants if each.bundle), None)
    of_folder: dict[str, Any] = dict.fromkeys(("args", "entry", "target", "load"))
    of_file = {
        "target": kernel.target if values["target"] else None,
        "pipeline": None if pipeline == "nvidia" else pipeline,
        "backend": None if backend == "nvvm" else backend,
    }
    return sanitize_command(
        context,
        str(Path(values["of"]) / str(first)) if values["of"] else kernel.file,
        **dict.fromkeys(_OF_OTHERS),
        **(of_folder if values["of"] else of_file),
        sizes=[",".join(f"{name}={value}" for name, value in run.sizes.items())] if run.sizes else None,
        seed=run.seed or None,
    )


def _all(result: KernelResult, what: str, they: str) -> str:
    first, *others = result.kernel.variants
    beside = "" if not others else ", which the others are compared with,"
    return f"{first.name}{beside} {what}{f' itself, as they {they}' if others else ''}"


def _where(run: Run) -> str:
    return f"with {sizes_text(run.sizes)}, seed {run.seed}" if run.sizes else f"with seed {run.seed}"


def _error(run: Run, file: str) -> Error:
    """What the run ended with, places in the kernel's file as the user named it."""
    from cutecc.frontend.files import as_given
    from cutecc.frontend.kernel_file import split_path

    path, _ = split_path(file)
    location = SourceLocation.parse(as_given(run.location, path)) if run.location else None
    return Error(run.problems[0], location, [as_given(note, path) for note in run.notes], list(run.hints))
