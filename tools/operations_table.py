"""The tables and pictures of docs/benchmarks.md that show what `tools/bench_operations.py` has timed."""

from __future__ import annotations

import importlib
import math
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from operations_plan import FUSED_SIZES, HALVES
from operations_results import Found, Results, default, fastest, median, peer, speed

REMARKS = Path(__file__).parent / "bench_remarks.toml"
NAMES = {"f8E4M3FN": "e4m3 → bf16"}
_SQUARES_FROM = 2048
_TOP = 1.4
"""Of the speeds that pictures show; what is faster is cut off there."""
_LABEL = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
BARS = {"squares": 1.02, "mean": 1.00, "f8E4M3FN": 1.00, "f64": 0.95, "tf32": 0.95, "fused": 0.04}
"""Least speeds relative to torch's, and how much more time bias and gelu may take."""


def rows(results: Results) -> list[str]:
    """The table of products, the means, and the footnotes."""
    remarks = tomllib.loads(REMARKS.read_text()).get("remark", [])
    notes: list[str] = []
    head = ["type", "shape", "kind", "torch, µs", "TFLOP/s", "default, × torch", "autotuned, × torch", "autotuned tile"]
    table = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for found in results.found:
        marks = "".join(f"[{_number(notes, each['text'])}]" for each in remarks if _is_about(each, found))
        table.append(f"| {' | '.join(_cells(found, marks))} |")
    table += ["", *_means(results.found)]
    table += ["", *_fused(results.found)] if any(found.contest.fused for found in results.found) else []
    table += [f"\n[{number}] {text}" for number, text in enumerate(notes, 1)]
    pairs = [(each.contest, text) for each in results.found for text in each.problems]
    problems = [*results.failures, *(f"{contest.dtype} {contest.shape}: {text}" for contest, text in pairs)]
    table += ["", f"Not in the table, since they did not run or were wrong: {'; '.join(problems)}."] if problems else []
    return table


def machine(results: Results) -> str:
    """What it ran on."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    return f"{results.device}, driver {results.driver}, {versions}"


def draw(results: Results, folder: Path) -> list[Path]:
    """Write a picture for the 16-bit types and one for the others; the speeds relative to torch's. Needs matplotlib."""
    drawn: list[Path] = []
    others = [each for each in dict.fromkeys(found.contest.dtype for found in results.found) if each not in HALVES]
    for name, dtypes in (("operations-16-bit", list(HALVES)), ("operations-other-types", others)):
        groups = [(dtype, [found for found in results.found if found.contest.dtype == dtype]) for dtype in dtypes]
        groups = [(dtype, listed) for dtype, listed in groups if listed]
        if groups:
            drawn.append(folder / f"{name}.svg")
            _draw(groups, drawn[-1], results.device)
    return drawn


def _cells(found: Found, marks: str) -> list[str]:
    contest, time = found.contest, median(peer(found))
    best = fastest(found)
    return [
        NAMES.get(contest.dtype, contest.dtype),
        f"{contest.shape.replace('x', '×')} {marks}".strip(),
        contest.kind,
        f"{time:,.1f}",
        f"{contest.flops / time / 1e6:,.0f}",
        f"{speed(found, default(found)):.3f}",
        f"**{speed(found, best):.3f}**",
        best.words if best else "",
    ]


def _means(listed: Sequence[Found]) -> list[str]:
    table = ["| type | shapes | default, × torch | autotuned, × torch | bar |", "|---|---|---|---|---|"]

    def line(dtype: str, what: str, chosen: Sequence[Found], combine: Any, bar: float | None) -> None:
        values = [combine([speed(each, pick(each)) for each in chosen]) for pick in (default, fastest)]
        cells = [
            NAMES.get(dtype, dtype),
            what,
            *(f"{each:.3f}" for each in values),
            "" if bar is None else f"{bar:.2f}",
        ]
        table.append(f"| {' | '.join(cells)} |")

    for dtype in dict.fromkeys(found.contest.dtype for found in listed):
        own = [found for found in listed if found.contest.dtype == dtype]
        squares = [found for found in own if found.contest.kind == "square" and found.contest.m >= _SQUARES_FROM]
        if dtype in HALVES:
            if squares:
                line(dtype, f"the least of the squares from {_SQUARES_FROM}", squares, min, BARS["squares"])
            line(dtype, f"geometric mean of all {len(own)}", own, _geometric_mean, BARS["mean"])
            line(dtype, "geometric mean of all but the fastest", own, _mean_of_others, None)
        else:
            line(dtype, f"the least of all {len(own)}", own, min, BARS[dtype])
    return table


def _fused(listed: Sequence[Found]) -> list[str]:
    sizes = ", ".join(map(str, FUSED_SIZES))
    table = [
        f"Bias and gelu fused, beside our own plain product of the same shape and run ({sizes}), bar "
        f"{BARS['fused']:+.0%}:",
        "",
        "| type | shape | plain, µs | fused, µs | more | plain autotuned, µs | fused autotuned, µs | more |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for found in listed:
        if not found.contest.fused:
            continue
        cells = [NAMES.get(found.contest.dtype, found.contest.dtype), found.contest.shape.replace("x", "×")]
        for pick in (default, fastest):
            plain, fused = pick(found), pick(found, fused=True)
            times = [math.nan if each is None else median(each) for each in (plain, fused)]
            cells += [f"{times[0]:,.1f}", f"{times[1]:,.1f}", f"{times[1] / times[0] - 1:+.1%}"]
        table.append(f"| {' | '.join(cells)} |")
    return table


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(each) for each in values))


def _mean_of_others(values: Sequence[float]) -> float:
    return _geometric_mean(sorted(values)[:-1])


def _is_about(remark: Mapping[str, str], found: Found) -> bool:
    contest = found.contest
    return remark.get("dtype", contest.dtype) == contest.dtype and remark.get("shape", contest.shape) == contest.shape


def _number(notes: list[str], text: str) -> int:
    if text not in notes:
        notes.append(text)
    return notes.index(text) + 1


def _draw(groups: Sequence[tuple[str, Sequence[Found]]], path: Path, device: str) -> None:
    matplotlib: Any = importlib.import_module("matplotlib")
    figures: Any = importlib.import_module("matplotlib.figure")
    # The same picture of the same numbers, byte for byte.
    matplotlib.rcParams["svg.hashsalt"] = path.stem
    figure = figures.Figure(figsize=(9.0, 2.6 * len(groups)), layout="constrained")
    for axes, (dtype, listed) in zip(figure.subplots(len(groups), squeeze=False)[:, 0], groups, strict=True):
        for shift, label, pick in ((-0.2, "default choice", default), (0.2, "autotuned", fastest)):
            heights = [speed(found, pick(found)) for found in listed]
            places = [place + shift for place in range(len(listed))]
            axes.bar(places, heights, 0.38, label=label)
            for place, height in zip(places, heights, strict=True):
                # A bar that is higher than the picture goes through its number.
                above = min(height + 0.02, _TOP - 0.12)
                axes.text(place, above, f"{height:.2f}", ha="center", va="bottom", fontsize=6, bbox=_LABEL)
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set_xticks(range(len(listed)), [found.contest.shape.replace("x", "×") for found in listed], fontsize=6)
        axes.set_ylabel("speed, × torch")
        axes.set_title(f"{NAMES.get(dtype, dtype)} on {device}", fontsize=9)
        axes.set_ylim(0, _TOP)
        axes.tick_params(axis="x", rotation=20)
        axes.grid(visible=True, axis="y", alpha=0.3)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), fontsize=7, loc="outside upper right", ncols=2)
    figure.savefig(path, metadata={"Date": None})
