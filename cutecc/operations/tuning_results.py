"""What autotuning found: the winner, and every candidate with its times."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecc.errors import Error, UsageError
from cutecc.operations.any_description import Description
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.grouped.problem import GroupedProblem
from cutecc.operations.tile_model import Problem

if TYPE_CHECKING:
    from cutecc.runtime.timing import Samples

_MOST_BARS = 30


@dataclass(frozen=True)
class Timed:
    """A candidate, and what came of it."""

    description: Description
    samples: Samples | None = None
    error: Error | None = None
    """Why it could not be compiled or launched."""

    @property
    def median(self) -> float:
        """Microseconds; infinite without samples."""
        return float("inf") if self.samples is None else self.samples.median


@dataclass(frozen=True)
class Tuning:
    """The result of `autotune`."""

    operation: Any
    """The winner, a `Gemm` or what was asked for."""
    problem: Problem | GroupedProblem
    """The product, of a convolution that of each group."""
    device: str
    """The GPU's name."""
    microseconds: float
    """The winner's median."""
    timed: list[Timed] = field(default_factory=list[Timed])
    """Every candidate, the fastest first; none when the winner was remembered."""
    notes: tuple[str, ...] = ()

    @property
    def is_remembered(self) -> bool:
        """Whether an earlier run found the winner, and nothing was timed."""
        return not self.timed

    @property
    def teraflops(self) -> float:
        """Of the winner, in TFLOP/s."""
        return 2.0 * self.problem.multiply_adds / self.microseconds / 1e6

    def table(self) -> str:
        """A line for each candidate: its median in microseconds, the 10th and 90th percentile, and its name."""
        lines: list[str] = []
        for each in self.timed:
            if each.samples is None:
                lines.append(f"{'failed':>10}  {each.description.name}: {each.error.message if each.error else ''}")
            else:
                low, high = each.samples.percentile(10), each.samples.percentile(90)
                lines.append(f"{each.median:10.2f}  [{low:.2f}, {high:.2f}]  {each.description.name}")
        return "\n".join(lines)

    def plot(self, path: str | Path) -> None:
        """Draw the medians of the fastest candidates, with 10 to 90 % of the samples, into a .svg, .png or .pdf file.

        Raises `UsageError` without matplotlib, for another ending, for a file that cannot be written, and when nothing
        was timed.
        """
        from cutecc.benchmarking.plot import check_plot

        check_plot(path)
        shown = [(each, each.samples) for each in self.timed if each.samples is not None][:_MOST_BARS]
        if not shown:
            raise UsageError("nothing was timed: the winner was remembered", hints=["autotune(…, again=True)"])
        figures: Any = importlib.import_module("matplotlib.figure")
        figure = figures.Figure(figsize=(9.0, 1.2 + 0.3 * len(shown)), layout="constrained")
        axes = figure.subplots()
        medians = [samples.median for _, samples in shown]
        below = [samples.median - samples.percentile(10) for _, samples in shown]
        above = [samples.percentile(90) - samples.median for _, samples in shown]
        names = [_short(each.description) for each, _ in shown]
        places = range(len(shown))
        axes.barh(places, medians, xerr=[below, above], color=["C1", *["C0"] * (len(shown) - 1)], capsize=2)
        axes.set_yticks(places, names, fontsize=7)
        axes.invert_yaxis()
        axes.set_xlabel("median time of a call (µs), lines from 10 to 90 %")
        axes.set_title(f"{self.problem} on {self.device}")
        axes.grid(visible=True, axis="x", alpha=0.3)
        try:
            figure.savefig(path)
        except OSError as failure:
            raise UsageError(f"cannot write {path}: {failure.strerror}") from None


def _short(described: Description) -> str:
    description = described.gemm
    tile = description.tile
    words = ["x".join(map(str, tile.threadblock)), f"s{tile.stages}", "x".join(map(str, tile.warps))]
    words.append(description.instruction.unit)
    words += ["c" + "x".join(map(str, tile.cluster))] if tile.cluster != (1, 1) else []
    words += ["swapped"] if tile.swapped else []
    words += [each for each in (tile.schedule, description.swizzle) if each not in ("multistage", "identity1")]
    words += [description.mode] if description.mode.startswith("split") else []
    words += [described.iterator] if isinstance(described, ConvolutionDescription) else []
    return " ".join(words)
