"""Drawing a benchmark: median time against size, one line a contestant, with the spread of its samples."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecc.errors import UsageError
from cutecc.support.output_file import write_output

if TYPE_CHECKING:
    from cutecc.benchmarking.results import Benchmark


_ENDINGS = (".svg", ".png", ".pdf")


def check_plot(path: str | Path) -> None:
    """Raise `UsageError` when nothing can be drawn into `path`: there is no matplotlib, or its ending says no format.

    Known before anything is timed.
    """
    if Path(path).suffix not in _ENDINGS:
        raise UsageError(f"cannot draw into {path}: its name has to end in {', '.join(_ENDINGS)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("a plot needs matplotlib", hints=["pip install 'cutecc[plot]'"])


def plot(benchmark: Benchmark, path: str | Path) -> None:
    """Write the drawing to `path`, whose ending says the format: .svg, .png or .pdf. Time is logarithmic, and the
    points of the sweep stand side by side.

    Raises `UsageError` as `check_plot` does, and for a file that cannot be written.
    """
    check_plot(path)
    figures: Any = importlib.import_module("matplotlib.figure")
    figure = figures.Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    swept = _swept(benchmark)
    labels = list(dict.fromkeys(_label(swept, each.sizes) for each in benchmark.measurements))
    for name in dict.fromkeys(each.name for each in benchmark.measurements):
        points = [each for each in benchmark.measurements if each.name == name]
        places = [labels.index(_label(swept, each.sizes)) for each in points]
        (line,) = axes.plot(places, [each.median for each in points], marker="o", label=name)
        low, high = [each.p10 for each in points], [each.p90 for each in points]
        axes.fill_between(places, low, high, alpha=0.2, color=line.get_color())
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yscale("log")
    axes.set_xlabel(", ".join(swept) or "size")
    axes.set_ylabel("median time of a call (µs), 10 to 90 % shaded")
    axes.set_title(benchmark.device)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    path = Path(path)
    write_output(path, lambda file: figure.savefig(file, format=path.suffix.removeprefix(".")))


def _swept(benchmark: Benchmark) -> list[str]:
    """The sizes that change in the course of the sweep."""
    names = dict.fromkeys(name for each in benchmark.measurements for name in each.sizes)
    return [name for name in names if len({each.sizes.get(name) for each in benchmark.measurements}) > 1]


def _label(names: list[str], sizes: dict[str, int]) -> str:
    values = [sizes.get(name) for name in names]
    return str(values[0]) if len(set(values)) == 1 else " × ".join(map(str, values))
