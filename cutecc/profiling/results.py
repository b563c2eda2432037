"""A profile as JSON has it, and as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from cutecc.errors import UsageError
from cutecc.profiling.kernels import ProfiledKernel, SampledInstruction, SampledLine
from cutecc.profiling.limits import Limits
from cutecc.profiling.samples import Samples
from cutecc.report.roofline import Run, roofline, svg
from cutecc.support.output_file import write_output
from cutecc.timelines.document import timeline_dict
from cutecc.timelines.timeline import Timeline


@dataclass(frozen=True)
class Profiled:
    """What was sampled of one process, or of one kernel at one size."""

    title: str
    """What ran, for people."""
    samples: Samples
    kernels: Sequence[ProfiledKernel]
    """The most sampled first."""
    limits: Limits | None = None
    launches: int | None = None
    """How many were sampled; `None` where nobody counted."""
    timeline: Timeline | None = None
    """What its warps did, where that was recorded."""


def profile_dict(profiled: Profiled) -> dict[str, Any]:
    """Everything that was sampled, by kernel and line, with the reasons in CUPTI's names and in words."""
    samples, limits = profiled.samples, profiled.limits
    found: dict[str, Any] = {
        "title": profiled.title,
        "device": samples.device,
        "capability": list(samples.capability),
        "period_cycles": samples.period,
        "seconds": samples.seconds,
        "samples": samples.total,
        "launches": profiled.launches,
        "dropped": samples.dropped,
        "of_other_kernels": samples.other,
        "buffer_was_full": samples.was_full,
        "kernels": [_kernel(each) for each in profiled.kernels],
    }
    if limits:
        found["limits"] = {**msgspec.to_builtins(limits), "bound": limits.bound}
    if profiled.timeline is not None:
        found["timeline"] = timeline_dict(profiled.timeline)
    return found


def _kernel(kernel: ProfiledKernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "symbol": kernel.samples.symbol,
        "cubin_crc": kernel.samples.crc,
        "samples": kernel.total,
        "reasons": kernel.reasons,
        "lines": [_line(each) for each in kernel.lines()],
    }


def _line(line: SampledLine) -> dict[str, Any]:
    return {
        "file": line.file,
        "line": line.line,
        "text": line.text,
        "samples": line.samples,
        "reasons": line.reasons,
        "waits": [{"waits": stall.waits, "advice": stall.advice, "samples": count} for stall, count in line.stalls],
        "instructions": [_instruction(each, line.text) for each in line.instructions],
    }


def _instruction(instruction: SampledInstruction, source: str) -> Mapping[str, Any]:
    return {
        "offset": instruction.offset,
        "text": instruction.text,
        "owner": instruction.owner,
        "samples": instruction.samples,
        "reasons": instruction.reasons,
        "waits": [
            {"waits": stall.waits, "samples": count} for stall, count in instruction.stalls(source).most_common()
        ],
        "awaited": list(instruction.awaited),
    }


def write_roofline(found: Sequence[Profiled], path: Path) -> None:
    """Write the roofline of profiles as SVG. Raises `UsageError` where none has a place in it, or no file can be."""
    drawn = roofline([Run(each.title, each.samples.device, each.limits) for each in found])
    if drawn is None:
        raise UsageError(
            "no roofline: the kernel's file says not how many bytes and operations a call has",
            hints=['in its header: # cutecc: bytes = "…" and # cutecc: flops = "…"'],
        )
    write_output(path, lambda file: file.write(svg(drawn).encode()))
