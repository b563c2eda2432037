"""What `cutecc profile --json` has of a record's kernels, as measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.report.code import Code
from cutecc.report.measures import Description, Measure, Reading, points_at_offsets
from cutecc.report.profile_file import FileKernel, ProfileFile
from cutecc.report.same_build import check_build
from cutecc.report.stalls import stall_of
from cutecc.sass import SassFunction
from cutecc.support.harmless import one_line

_LONGEST_TITLE = 120


def profile_measures(compilation: Compilation, profiles: Sequence[ProfileFile], path: Path) -> list[Measure]:
    """A measure for each profile, read from `path`, that has kernels of the record: samples, with their reasons.

    Raises `UsageError` where none of the record's kernels is among them, or of another build. They may be timelines
    alone.
    """
    functions = Code(compilation).functions_by_file
    if _are_timelines(profiles):
        _check_sites(compilation, profiles, path)
        return []
    named = {each.name: each for found in functions.values() for each in found}
    if not named:
        raise UsageError(f"the record of {compilation.name} has no SASS, to which samples belong")
    return [
        Measure(_described(profile, path, _reasons(kernels)), points_at_offsets(functions, _readings(kernels)))
        for profile, kernels in fitting(profiles, path, named)
    ]


def fitting(
    profiles: Sequence[ProfileFile], path: Path, functions: Mapping[str, SassFunction]
) -> list[tuple[ProfileFile, list[FileKernel]]]:
    """The profiles, read from `path`, that have kernels among `functions`, with these.

    Raises `UsageError` where none has, or those are of another build.
    """
    found: list[tuple[ProfileFile, list[FileKernel]]] = []
    refused: list[UsageError] = []
    for profile in profiles:
        kernels: list[FileKernel] = []
        for kernel in profile.kernels:
            if (function := functions.get(kernel.symbol)) is not None:
                try:
                    check_build(path, function, kernel.texts, "the profile saw", partly=True)
                    kernels.append(kernel)
                except UsageError as other_build:
                    refused.append(other_build)
        if kernels:
            found.append((profile, kernels))
    if not found:
        raise refused[0] if refused else _no_kernel(path, profiles)
    return found


def _are_timelines(profiles: Sequence[ProfileFile]) -> bool:
    """Whether nothing was sampled, but something recorded."""
    return any(each.timeline for each in profiles) and not any(each.kernels for each in profiles)


def _check_sites(compilation: Compilation, profiles: Sequence[ProfileFile], path: Path) -> None:
    """Raise `UsageError` where a timeline has no site in the record's own file: it is of another kernel."""
    own = Path(compilation.source or "-").name
    seen = {Path(site.file).name for each in profiles if each.timeline for site in each.timeline.sites if site.file}
    if own.endswith(".py") and seen and own not in seen:
        raise UsageError(f"{path} is a timeline of {', '.join(sorted(seen))}, and the record is of {own}")


def _no_kernel(path: Path, profiles: Sequence[ProfileFile]) -> UsageError:
    seen = ", ".join(dict.fromkeys(kernel.symbol for each in profiles for kernel in each.kernels)) or "none"
    return UsageError(f"{path} has no samples of this record's kernels", notes=[one_line(f"it has {seen}")[:1000]])


def _reasons(kernels: Sequence[FileKernel]) -> list[str]:
    """The reasons that there are samples of."""
    return [*dict.fromkeys(name for kernel in kernels for each in kernel.instructions for name in each.reasons)]


def _readings(kernels: Sequence[FileKernel]) -> dict[str, dict[int, Reading]]:
    """By symbol and offset the samples of all of them: a process may have the same code twice."""
    found: dict[str, dict[int, Reading]] = {}
    for kernel in kernels:
        known = found.setdefault(kernel.symbol, {})
        for each in kernel.instructions:
            before = known.get(each.offset, Reading(0))
            names = [*dict.fromkeys((*before.parts, *each.reasons))]
            parts = {name: before.parts.get(name, 0) + each.reasons.get(name, 0) for name in names}
            known[each.offset] = Reading(before.value + each.samples, parts)
    return found


def _described(profile: ProfileFile, path: Path, reasons: Sequence[str]) -> Description:
    run = one_line(", ".join(filter(None, [f"cutecc profile, {path.name}", profile.title, profile.device])))
    return Description(
        one_line(f"samples, {profile.title}" if profile.title else "samples")[:_LONGEST_TITLE],
        f"How often a warp was seen at the instruction, every {profile.period_cycles:,} cycles, and why it waited.",
        run[: 2 * _LONGEST_TITLE],
        "samples",
        is_worse=True,
        is_sampled=True,
        parts={name: stall_of(name).waits for name in reasons},
    )
