"""The picture of docs/architecture.md: a kernel's way through the packages, over their imports.

    python tools/architecture_picture.py > docs/pictures/packages.svg

How high a package stands follows from the imports: above everything that it imports. So each arrow points down, and an
import that closes a circle has no picture. Arrows that follow from others are left out. Only where a box stands from
left to right, what it is in few words, and which way a kernel takes are written here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

from import_directions import MAY_IMPORT, is_ours, place
from import_graph import PACKAGE, imports

WIDTH, ROW, TOP, BOX_HEIGHT = 1040, 92, 46, 50
EVERYWHERE = ("errors", "support", "config", "target", "sass")
"""What everything may import: a strip below."""
ASIDE = {*EVERYWHERE, "", "__main__", "lit"}
PARTS: dict[str, str] = dict.fromkeys(("compilation", "kernel", "jit_function", "ptx_kernel"), "driver")
"""Modules and packages that one box stands for."""


@dataclass(frozen=True)
class Box:
    """Where a package stands, and what it is."""

    x: int
    """Of its middle."""
    words: str
    width: int = 132


BOXES = {
    "cli": Box(500, "one file a subcommand", 168),
    "pytest_plugin": Box(104, "cutecc_device"),
    "opt": Box(300, "a module in, one out", 148),
    "workbench": Box(500, "bisect, reduce, diff", 150),
    "versions": Box(686, "what changed", 124),
    "operations": Box(716, "ready GEMMs", 124),
    "watching": Box(930, "cutecc watch", 124),
    "profiling": Box(968, "where time goes", 128),
    "timelines": Box(968, "who waits, when", 128),
    "estimating": Box(617, "time on a GPU", 128),
    "proving": Box(484, "no hang, no race", 124),
    "doctor": Box(818, "what is installed", 136),
    "driver": Box(300, "compilation, kernel, jit", 190),
    "lowering": Box(520, "atoms of your own", 140),
    "frontend": Box(206, "traces CuTe DSL"),
    "passes": Box(410, "lower it, look at it", 148),
    "backend": Box(520, "LLVM, ptxas, tools", 142),
    "harness": Box(94, "inputs, references"),
    "emulator": Box(838, "runs PTX on the CPU", 156),
    "benchmarking": Box(672, "times kernels", 136),
    "ir": Box(170, "MLIR modules, types", 150),
    "runtime": Box(686, "launches on the GPU", 156),
    "cache": Box(412, "what was compiled", 136),
    "report": Box(944, "the HTML page", 124),
    "record": Box(530, "what a compile leaves", 162),
    "layout": Box(110, "CuTe’s algebra", 122),
    "memory_rules": Box(296, "sectors, banks", 142),
    "arguments": Box(530, "specs, arrays", 122),
    "sandbox": Box(724, "confines a process", 140),
    "ptx": Box(900, "PTX as data", 122),
}
WAY = ("frontend", "passes", "backend", "record", "runtime")
"""The stages of a kernel, in order; each by its number in the picture."""
INSTEAD = {"emulator": "runtime"}
"""What takes a stage's place where there is no GPU."""


def edges(package: Path = PACKAGE) -> set[tuple[str, str]]:
    """Which box imports which. What the table allows by a module's name is no arrow: it is the exception."""
    found: set[tuple[str, str]] = set()
    for each in imports(package):
        if each.typing_only or not is_ours(each.imported):
            continue
        module = each.imported.removeprefix("cutecc.")
        source, target = (PARTS.get(name, name) for name in (place(each.importer), place(each.imported)))
        excepted = any("." in name and module.startswith(name) for name in MAY_IMPORT.get(source, ()))
        if source != target and not excepted and not {source, target} & ASIDE:
            found.add((source, target))
    return found


def below(name: str, graph: Iterable[tuple[str, str]], path: tuple[str, ...] = ()) -> set[str]:
    """Everything that `name` imports, through others too. Raises `ValueError` for a circle."""
    if name in path:
        raise ValueError(f"imports go in a circle: {' → '.join([*path[path.index(name) :], name])}")
    direct = {target for source, target in graph if source == name}
    return direct.union(*(below(each, graph, (*path, name)) for each in direct))


def without_implied(graph: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The arrows that no others say: its transitive reduction."""
    reached = {name: below(name, graph) for edge in graph for name in edge}
    return {
        (source, target)
        for source, target in graph
        if not any(target in reached[other] for start, other in graph if start == source and other != target)
    }


def heights(graph: set[tuple[str, str]]) -> dict[str, int]:
    """How many arrows lie at most below each box: the row that it stands in, from below."""
    rows: dict[str, int] = {}

    def row(name: str) -> int:
        if name not in rows:
            rows[name] = max((row(target) + 1 for source, target in graph if source == name), default=0)
        return rows[name]

    for edge in graph:
        for name in edge:
            row(name)
    return rows


STYLE = """
svg { color-scheme: light dark; --paper: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #b4bcc5; --box: #f4f6f8;
  --edge: #d0d7de; --way: #0b7a5c; --way-box: #e3f4ee; --way-soft: #2c6a57; }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e8edf2; --soft: #9aa5b1; --line: #58626e;
  --box: #1a212a; --edge: #3a444f; --way: #3ecf9f; --way-box: #12352b; --way-soft: #8fd9bf; } }
text { font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--ink);
  text-anchor: middle; }
.name { font-size: 16px; font-weight: 600; }
.words { font-size: 13px; fill: var(--soft); }
.box { fill: var(--box); stroke: var(--edge); stroke-width: 1.2; }
.stage .box { fill: var(--way-box); stroke: var(--way); stroke-width: 1.8; }
.stage .words { fill: var(--way-soft); }
.import { fill: none; stroke: var(--line); stroke-width: 1.4; }
.head { fill: var(--line); }
.way { fill: none; stroke: var(--way); stroke-width: 4; stroke-linecap: round; }
.way-head { fill: var(--way); }
.number { font-size: 12px; font-weight: 700; fill: var(--paper); }
.dot { fill: var(--way); }
.end { font-size: 15px; font-weight: 600; fill: var(--way); }
"""


def svg(package: Path = PACKAGE) -> str:
    """The picture. Raises `ValueError` for a circle, and for a package that has no box."""
    graph = edges(package)
    if unknown := sorted({name for edge in graph for name in edge} - BOXES.keys()):
        raise ValueError(f"give {', '.join(unknown)} a box in tools/architecture_picture.py")
    arrows = without_implied(graph)
    rows = heights(graph)
    highest = max(rows.values())
    middle = {name: (BOXES[name].x, TOP + (highest - row) * ROW) for name, row in rows.items()}
    height = TOP + highest * ROW + 112
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>The packages of cutecc, each above what it imports, and a kernel's way through them</title>",
        f"<style>{STYLE}</style>",
        "<defs>",
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0L8 4L0 8z"/></marker>',
        '<marker id="way-head" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="3.6" markerHeight="3.6" orient="auto">'
        '<path class="way-head" d="M0 0L8 4L0 8z"/></marker>',
        "</defs>",
        f'<rect width="{WIDTH}" height="{height}" rx="10" style="fill: var(--paper)"/>',
        *_legend(),
        *(_arrow(arrows, middle, source, target) for source, target in sorted(arrows)),
        *_way(middle),
        *(_box(name, x, y) for name, (x, y) in sorted(middle.items())),
        *_strip(height),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _legend() -> list[str]:
    return [
        '<path class="way" d="M28 32H64" marker-end="url(#way-head)"/>',
        '<text class="words" x="80" y="36" style="text-anchor: start">a kernel’s way</text>',
        '<path class="import" d="M28 56H70" marker-end="url(#head)"/>',
        '<text class="words" x="80" y="60" style="text-anchor: start">imports, and all below it</text>',
    ]


def _port(others: list[str], other: str, name: str, middle: dict[str, tuple[int, int]]) -> float:
    """Where on a side of a box an arrow ends: side by side, in the order of where they lead."""
    order = sorted(others, key=lambda each: (middle[each][0], middle[each][1]))
    room = min(22.0, (BOXES[name].width - 40) / max(1, len(order) - 1))
    return middle[name][0] + (order.index(other) - (len(order) - 1) / 2) * room


def _arrow(arrows: set[tuple[str, str]], middle: dict[str, tuple[int, int]], source: str, target: str) -> str:
    x1 = _port([each for start, each in arrows if start == source], target, source, middle)
    x2 = _port([start for start, each in arrows if each == target], source, target, middle)
    y1, y2 = middle[source][1] + BOX_HEIGHT / 2, middle[target][1] - BOX_HEIGHT / 2 - 1
    path = f"M{x1:g} {y1:g}"
    if y2 - y1 > ROW:
        lane = _lane(x1, x2, y1, y2, middle)
        path += _curve(x1, y1, lane, y1 + ROW - BOX_HEIGHT)
        x1, y1 = lane, y2 - (ROW - BOX_HEIGHT)
        path += f"V{y1:g}"
    return f'<path class="import" d="{path}{_curve(x1, y1, x2, y2)}" marker-end="url(#head)"/>'


def _curve(x1: float, y1: float, x2: float, y2: float) -> str:
    """From a point down to another, leaving and arriving vertically."""
    bend = (y2 - y1) * 0.6
    return f"C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"


def _lane(x1: float, x2: float, y1: float, y2: float, middle: dict[str, tuple[int, int]]) -> float:
    """Where an arrow that passes rows of boxes does so without touching one."""
    passed = [(x, BOXES[name].width / 2 + 10) for name, (x, y) in middle.items() if y1 < y < y2]
    between = sorted(range(10, WIDTH, 5), key=lambda x: abs(x - x1) + abs(x - x2))
    return next((x for x in (x2, x1, *between) if all(abs(x - at) > half for at, half in passed)), x2)


def _way(middle: dict[str, tuple[int, int]]) -> list[str]:
    """The thick arrows of the way, from the kernel's file to what runs it."""
    x, y = middle[WAY[0]]
    left = x - BOXES[WAY[0]].width / 2
    parts = [
        f'<text class="end" x="{left - 84:g}" y="{y + 5}">kernel.py</text>',
        _thick(f"M{left - 40:g} {y}H{left - 12:g}"),
    ]
    for source, target in [*pairwise(WAY), *((WAY[-2], each) for each in INSTEAD)]:
        (x1, y1), (x2, y2) = middle[source], middle[target]
        right = x1 + BOXES[source].width / 2
        if y1 == y2:
            parts.append(_thick(f"M{right + 4:g} {y1}H{x2 - BOXES[target].width / 2 - 12:g}"))
        elif y1 < y2:
            start, end = x1 + BOXES[source].width / 4, x2 + BOXES[target].width / 8
            parts.append(_thick(f"M{start:g} {y1 + 27}{_curve(start, y1 + 27, end, y2 - 36)}"))
        else:
            end = x2 + BOXES[target].width / 6
            parts.append(_thick(f"M{right + 3:g} {y1}C{end:g} {y1} {end:g} {y1} {end:g} {y2 + 36}"))
    return parts


def _thick(path: str) -> str:
    return f'<path class="way" d="{path}" marker-end="url(#way-head)"/>'


def _box(name: str, x: int, y: int) -> str:
    box = BOXES[name]
    stage = INSTEAD.get(name, name) in WAY
    number = WAY.index(INSTEAD.get(name, name)) + 1 if stage else 0
    badge = (
        f'<circle class="dot" cx="{x - box.width / 2:g}" cy="{y - BOX_HEIGHT / 2:g}" r="10"/>'
        f'<text class="number" x="{x - box.width / 2:g}" y="{y - BOX_HEIGHT / 2 + 4:g}">{number}</text>'
        if stage
        else ""
    )
    return (
        f'<g class="{"stage" if stage else "other"}">'
        f'<rect class="box" x="{x - box.width / 2:g}" y="{y - BOX_HEIGHT / 2:g}" width="{box.width}" '
        f'height="{BOX_HEIGHT}" rx="8"/>'
        f'<text class="name" x="{x}" y="{y - 3}">{escape(name)}</text>'
        f'<text class="words" x="{x}" y="{y + 15}">{escape(box.words)}</text>{badge}</g>'
    )


def _strip(height: int) -> list[str]:
    names = "   ·   ".join(EVERYWHERE)
    return [
        f'<rect class="box" x="28" y="{height - 60}" width="{WIDTH - 56}" height="38" rx="8"/>',
        f'<text class="words" x="{WIDTH / 2:g}" y="{height - 36}" xml:space="preserve">'
        f"for everyone:   {escape(names)}</text>",
    ]


if __name__ == "__main__":
    sys.stdout.write(svg())
