"""`cutecc profile --timeline`: what of a kernel is recorded, and the recording."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from cutecc.cli import iket
from cutecc.cli.files import check_output
from cutecc.cli.options import apply_all
from cutecc.errors import UsageError

if TYPE_CHECKING:
    from cutecc.cli.subject import Subject
    from cutecc.harness.arguments import Arguments
    from cutecc.runtime.workspace import Workspace
    from cutecc.timelines.recording import Recorded, Selection
    from cutecc.timelines.timeline import Timeline


timeline_options = apply_all(
    click.option(
        "--timeline",
        type=click.Path(path_type=Path),
        metavar="FILE|iket",
        help="Record what each warp waits for and when: FILE.pftrace for Perfetto, FILE.json as Chrome has it; iket: "
        "the profiler of the DSL's wheel does it.",
    ),
    click.option("--blocks", metavar="A-B", help="Record these blocks, by their numbers; all unless given."),
    click.option("--warps", metavar="N,A-B", help="Record these warps of each block; all unless given."),
    click.option(
        "--sites",
        type=click.Choice(["waits", "all"]),
        default="all",
        show_default=True,
        help="Record waits, barriers and marks, or also arrivals, copies and products.",
    ),
    click.option(
        "--schedule", metavar="NAME", help="With --device cpu: the order of warps, as of cutecc sanitize; replay:FILE."
    ),
    click.option("--launches", type=click.IntRange(1), default=1, show_default=True, help="Launches to record."),
)
"""What to record of a kernel."""


def selection(values: dict[str, Any]) -> Selection:
    """What to record. Raises `UsageError`."""
    from cutecc.timelines.recording import ALL_WARPS, Selection

    warps = ALL_WARPS
    if values["warps"] is not None:
        warps = sum(
            1 << warp for warp in {n for part in values["warps"].split(",") for n in _range("--warps", part, 32)}
        )
    if values["blocks"] is None:
        return Selection(warps=warps)
    blocks = _range("--blocks", values["blocks"], 1 << 32)
    return Selection(blocks.start, len(blocks), warps)


def check_timeline(values: dict[str, Any]) -> None:
    """Raise `UsageError` for options that ask for what cannot be."""
    from cutecc.timelines.writing import check_name

    selection(values)
    if values["timeline"] == iket.NAME:
        return
    if values["timeline"]:
        check_name(values["timeline"])
        check_output(values["timeline"])
        if values["json_file"] and values["timeline"].absolute() == values["json_file"].absolute():
            raise UsageError(f"--timeline and --json name the same file, {values['timeline']}")


def record_timeline(
    call: Callable[[], object], plain: Callable[[], object] | None, device: Workspace, values: dict[str, Any]
) -> Timeline:
    """Record a call that is prepared, and time it beside `plain`. Raises `ProfilingError`, `LaunchError`."""
    from cutecc.timelines.recording import Recorder
    from cutecc.timelines.records import timeline_of
    from cutecc.timelines.slowdown import measure_slowdown

    with device.scope():
        recorder = Recorder(cast("Recorded", call), device, selection=selection(values))
        call()
        records = [each for number in range(values["launches"]) for each in recorder.record(number)]
        slowdown = measure_slowdown(device, recorder, call, plain)
    return timeline_of(records, device.name, slowdown=slowdown)


def emulate_timeline(subject: Subject, arguments: Arguments, values: dict[str, Any]) -> Timeline:
    """The timeline that the emulator makes of a call, in instructions. Raises as the emulator does."""
    from cutecc.emulator.options import BlockSample, EmulatorOptions
    from cutecc.timelines.emulated import emulated_timeline

    chosen = selection(values)
    sample = None if chosen.blocks is None else BlockSample.parse(range(chosen.first, chosen.first + chosen.blocks))
    on_cpu = arguments.mapped(lambda tensor: tensor.codes)
    timeline, _ = emulated_timeline(
        subject.kernel.emulator,
        on_cpu,
        EmulatorOptions(blocks=sample, seed=values["seed"], schedule=values["schedule"]),
    )
    lanes = [[lane for lane in block.lanes if chosen.warps >> lane.warp & 1] for block in timeline.blocks]
    blocks = [replace(block, lanes=kept) for block, kept in zip(timeline.blocks, lanes, strict=True) if kept]
    if timeline.blocks and not blocks:
        raise UsageError("--warps: none of these warps is there")
    return replace(timeline, blocks=blocks)


def _range(option: str, text: str, end: int) -> range:
    """The numbers of `A` or `A-B`, all of them below `end`."""
    match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if last < first or last >= end:
        raise UsageError(f"{option} takes numbers as 0 or 0-3, below {end:,}, not '{text}'")
    return range(first, last + 1)
