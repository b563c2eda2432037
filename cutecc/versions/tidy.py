"""The text of a kernel without what a clean-up would remove: values computed twice, and values that nothing uses.

Versions of the DSL trace more or fewer of these. What such operations are is told by their names: arithmetic, and what
`cute` computes of layouts and coordinates without touching memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_DEFINES = re.compile(r"(?P<start> *)(?P<results>%[\w$.-]+(?::\d+)?(?:, %[\w$.-]+(?::\d+)?)*) = (?P<body>.*)", re.ASCII)
_VALUE = re.compile(r"%[\w$.-]+", re.ASCII)
_PURE = re.compile(r'"?(?:arith|cute)\.(?!\w*(?:\.|load|store|copy|alloc|mma|gemm|atom|prefetch|fill|print))')


def tidied(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines that stay, each with its number from 0; their values have other names."""
    names: dict[str, str] = {}
    """Of the values that are defined so far. MLIR uses a name again in another region."""
    known: dict[str, str] = {}
    """By the text of what computes it, the results of an operation without effects."""
    kept: list[tuple[int, str, str, bool]] = []
    for number, line in enumerate(lines):
        match = _DEFINES.fullmatch(line)
        body = _renamed(match["body"] if match else line, names)
        if match is None:
            kept.append((number, "", body, False))
            continue
        is_pure = _PURE.match(body) is not None and not body.endswith("{")
        own = _VALUE.findall(match["results"])
        fresh = _renamed(match["results"], {name: f"%{number}_{index}" for index, name in enumerate(own)})
        results = known.setdefault(body, fresh) if is_pure else fresh
        names |= dict(zip(own, _VALUE.findall(results), strict=True))
        if results is fresh:
            kept.append((number, results, f"{match['start']}{results} = {body}", is_pure))
    return _used(kept)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _VALUE.sub(lambda value: names.get(value[0], value[0]), text)


def _used(lines: Sequence[tuple[int, str, str, bool]]) -> list[tuple[int, str]]:
    """Without operations that have no effects, and whose results nothing that stays uses."""
    used: set[str] = set()
    found: list[tuple[int, str]] = []
    for number, results, text, is_pure in reversed(lines):
        own = _VALUE.findall(results)
        if is_pure and used.isdisjoint(own):
            continue
        used.update(_VALUE.findall(text)[len(own) :])
        found.append((number, text))
    return found[::-1]
