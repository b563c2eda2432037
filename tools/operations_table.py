"""The tables and pictures of docs/benchmarks.md that show what `tools/bench_operations.py` has timed."""

from __future__ import annotations

import importlib
import math
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from operations_contests import HALVES, KINDS, NETWORKS, AnyContest, Convolution, Grouped, Product
from operations_plan import FUSED_SIZES
from operations_results import PEER, Found, Results, default, fastest, median, peer, speed

REMARKS = Path(__file__).parent / "bench_remarks.toml"
NAMES = {"f8E4M3FN": "e4m3 → bf16"}
_SQUARES_FROM = 2048
_TOP = 1.4
"""Of the speeds that pictures show; what is faster is cut off there."""
_FEW_BARS = 12
"""Of more, the numbers are in the table alone."""
_LABEL = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
BARS = {"squares": 1.02, "mean": 1.00, "f8E4M3FN": 1.00, "f64": 0.95, "tf32": 0.95, "fused": 0.04}
"""Least speeds relative to torch's, and how much more time bias and gelu may take."""
Bars: TypeAlias = Mapping[str, Mapping[str, float]]
GROUPED_BARS: Bars = {dtype: {"fprop": 1.00, "dgrad": 1.00, "wgrad": 1.00} for dtype in (*HALVES, "f8E4M3FN")}
CONVOLUTION_BARS: Bars = {dtype: {"fprop": 1.00, "dgrad": 0.95, "wgrad": 0.95} for dtype in HALVES}
"""Least geometric means of speeds relative to torch's, by type."""
_OTHER_BAR = 0.95
"""In types that are not named."""


def tables(results: Results) -> dict[str, list[str]]:
    """The tables that there are results for, by the name of their place in the document."""
    found: dict[str, list[str]] = {}
    if plain := _products(results, networks=False):
        found["operations"] = rows(plain, results.failures, _means(plain))
    if networks := _products(results, networks=True):
        found["networks"] = rows(networks, results.failures, _means_of_networks(networks))
    for name, listed, bars in (
        ("grouped", _grouped(results, "none"), GROUPED_BARS),
        ("scaled", _grouped(results, "blocks"), GROUPED_BARS),
        ("convolutions", _of(results, Convolution), CONVOLUTION_BARS),
    ):
        if listed:
            found[name] = layer_rows(listed, bars)
    return found


def layer_rows(listed: Sequence[Found], bars: Bars) -> list[str]:
    """A row for each layer and type, with outputs and gradients side by side, the means, and the footnotes."""
    remarks = tomllib.loads(REMARKS.read_text()).get("remark", [])
    notes: list[str] = []
    passes = [each for each in KINDS if any(_layer(found).pass_ == each for found in listed)]
    head = ["type", "shape", "kind", *(f"{each}: torch, µs | default | autotuned" for each in passes)]
    table = [f"| {' | '.join(head)} |", "|---" * (3 + 3 * len(passes)) + "|"]
    layers: dict[tuple[str, str, str], dict[str, Found]] = {}
    for found in listed:
        contest = _layer(found)
        layers.setdefault((contest.dtype, contest.shape, contest.kind), {})[contest.pass_] = found
    for (dtype, shape, kind), by_pass in layers.items():
        marks = "".join(
            f"[{_number(notes, each['text'])}]"
            for each in remarks
            if any(_is_about(each, one) for one in by_pass.values())
        )
        cells = [NAMES.get(dtype, dtype), f"{shape.replace('x', '×')} {marks}".strip(), kind]
        for each in passes:
            cells += _layer_cells(by_pass.get(each))
        table.append(f"| {' | '.join(cells)} |")
    table += [
        "",
        "| type | pass | shapes | default, × torch | autotuned, × torch | least autotuned | bar |",
        "|---" * 7 + "|",
    ]
    for dtype in dict.fromkeys(found.contest.dtype for found in listed):
        for each in passes:
            own = [found for found in listed if found.contest.dtype == dtype and _layer(found).pass_ == each]
            if own:
                bar = f"{bars[dtype][each] if dtype in bars else _OTHER_BAR:.2f}"
                table.append(_layer_mean(own, dtype, each, None, bar))
                ways = [name for name in {each.name: each for each in own[0].timed} if name.startswith(PEER)]
                table += [_layer_mean(own, dtype, f"{each}, {name}", name, "") for name in ways if len(ways) > 1]
    return [*table, *_endnotes(notes, [], listed)]


def _layer_mean(own: Sequence[Found], dtype: str, what: str, way: str | None, bar: str) -> str:
    """The means of some layers, relative to torch, or to the one of its ways that has this name."""
    means = [f"{_geometric_mean([speed(one, pick(one), way) for one in own]):.3f}" for pick in (default, fastest)]
    least = min(speed(one, fastest(one), way) for one in own)
    return f"| {' | '.join([NAMES.get(dtype, dtype), what, str(len(own)), *means, f'{least:.3f}', bar])} |"


def rows(listed: Sequence[Found], failures: Sequence[str], means: Sequence[str]) -> list[str]:
    """The table of products, the means, and the footnotes."""
    remarks = tomllib.loads(REMARKS.read_text()).get("remark", [])
    notes: list[str] = []
    head = ["type", "shape", "kind", "torch, µs", "TFLOP/s", "default, × torch", "autotuned, × torch", "autotuned tile"]
    table = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for found in listed:
        marks = "".join(f"[{_number(notes, each['text'])}]" for each in remarks if _is_about(each, found))
        table.append(f"| {' | '.join(_cells(found, marks))} |")
    table += ["", *means]
    table += ["", *_fused(listed)] if any(found.contest.fused for found in listed) else []
    return [*table, *_endnotes(notes, failures, listed)]


def machine(results: Results) -> str:
    """What it ran on."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    return f"{results.device}, driver {results.driver}, {versions}"


def draw(results: Results, folder: Path) -> list[Path]:
    """Write pictures of speeds relative to torch's: of products, 16 bits and others, and layers. Needs matplotlib."""
    drawn: list[Path] = []
    products = _products(results, networks=False)
    others = [each for each in dict.fromkeys(found.contest.dtype for found in products) if each not in HALVES]
    pictures = [
        ("operations-16-bit", [(each, _typed(products, each)) for each in HALVES]),
        ("operations-other-types", [(each, _typed(products, each)) for each in others]),
    ]
    for name, listed in (
        ("operations-grouped", _grouped(results, "none")),
        ("operations-scaled", _grouped(results, "blocks")),
        ("operations-convolutions", _of(results, Convolution)),
    ):
        types = dict.fromkeys(found.contest.dtype for found in listed)
        pictures.append(
            (name, [(f"{dtype}, {each}", _typed(_passed(listed, each), dtype)) for dtype in types for each in KINDS])
        )
    for name, groups in pictures:
        if groups := [(title, listed) for title, listed in groups if listed]:
            drawn.append(folder / f"{name}.svg")
            _draw(groups, drawn[-1], results.device)
    return drawn


def _typed(listed: Sequence[Found], dtype: str) -> list[Found]:
    return [found for found in listed if found.contest.dtype == dtype]


def _passed(listed: Sequence[Found], pass_: str) -> list[Found]:
    return [found for found in listed if _layer(found).pass_ == pass_]


def _of(results: Results, kind: type[AnyContest]) -> list[Found]:
    return [found for found in results.found if isinstance(found.contest, kind)]


def _products(results: Results, *, networks: bool) -> list[Found]:
    """Products that are layers of networks, or those that are not."""
    return [found for found in _of(results, Product) if (found.contest.kind in NETWORKS) == networks]


def _grouped(results: Results, scales: str) -> list[Found]:
    listed = _of(results, Grouped)
    return [found for found in listed if isinstance(found.contest, Grouped) and found.contest.scales == scales]


def _layer(found: Found) -> Grouped | Convolution:
    assert not isinstance(found.contest, Product)
    return found.contest


def _layer_cells(found: Found | None) -> list[str]:
    if found is None:
        return ["", "", ""]
    return [
        f"{median(peer(found)):,.1f}",
        f"{speed(found, default(found)):.3f}",
        f"**{speed(found, fastest(found)):.3f}**",
    ]


def _endnotes(notes: Sequence[str], failures: Sequence[str], listed: Sequence[Found]) -> list[str]:
    found = [f"\n[{number}] {text}" for number, text in enumerate(notes, 1)]
    pairs = [(each.contest, text) for each in listed for text in each.problems]
    problems = [*failures, *(f"{contest.dtype} {contest.shape}: {text}" for contest, text in pairs)]
    found += ["", f"Not in the table, since they did not run or were wrong: {'; '.join(problems)}."] if problems else []
    return found


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
        squares = [
            found
            for found in own
            if isinstance(found.contest, Product)
            and found.contest.kind == "square"
            and found.contest.m >= _SQUARES_FROM
        ]
        if dtype in HALVES:
            if squares:
                line(dtype, f"the least of the squares from {_SQUARES_FROM}", squares, min, BARS["squares"])
            line(dtype, f"geometric mean of all {len(own)}", own, _geometric_mean, BARS["mean"])
            line(dtype, "geometric mean of all but the fastest", own, _mean_of_others, None)
        else:
            line(dtype, f"the least of all {len(own)}", own, min, BARS[dtype])
    return table


def _means_of_networks(listed: Sequence[Found]) -> list[str]:
    table = [
        "| type | layers | default, × torch | autotuned, × torch | least default | least autotuned |",
        "|---" * 6 + "|",
    ]
    for dtype in dict.fromkeys(found.contest.dtype for found in listed):
        own = [found for found in listed if found.contest.dtype == dtype]
        kinds = dict.fromkeys(found.contest.kind for found in own)
        groups = [(kind, [found for found in own if found.contest.kind == kind]) for kind in kinds]
        for what, chosen in (*groups, ("all", own)):
            speeds = [[speed(each, pick(each)) for each in chosen] for pick in (default, fastest)]
            numbers = [*map(_geometric_mean, speeds), *map(min, speeds)]
            cells = [NAMES.get(dtype, dtype), f"{what}, {len(chosen)}", *(f"{each:.3f}" for each in numbers)]
            table.append(f"| {' | '.join(cells)} |")
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
    is_crowded = max(len(listed) for _, listed in groups) > _FEW_BARS
    figure = figures.Figure(figsize=(9.0, (3.2 if is_crowded else 2.6) * len(groups)), layout="constrained")
    for axes, (dtype, listed) in zip(figure.subplots(len(groups), squeeze=False)[:, 0], groups, strict=True):
        for shift, label, pick in ((-0.2, "default choice", default), (0.2, "autotuned", fastest)):
            heights = [speed(found, pick(found)) for found in listed]
            places = [place + shift for place in range(len(listed))]
            axes.bar(places, heights, 0.38, label=label)
            for place, height in zip(places, () if is_crowded else heights, strict=not is_crowded):
                # A bar that is higher than the picture goes through its number.
                above = min(height + 0.02, _TOP - 0.12)
                axes.text(place, above, f"{height:.2f}", ha="center", va="bottom", fontsize=6, bbox=_LABEL)
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set_xticks(range(len(listed)), [found.contest.shape.replace("x", "×") for found in listed], fontsize=6)
        axes.set_ylabel("speed, × torch")
        axes.set_title(f"{NAMES.get(dtype, dtype)} on {device}", fontsize=9)
        axes.set_ylim(0, _TOP)
        axes.tick_params(axis="x", rotation=60 if is_crowded else 20)
        if is_crowded:
            for label in axes.get_xticklabels():
                label.set(horizontalalignment="right", rotation_mode="anchor")
        axes.grid(visible=True, axis="y", alpha=0.3)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), fontsize=7, loc="outside upper right", ncols=2)
    figure.savefig(path, metadata={"Date": None})
