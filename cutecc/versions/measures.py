"""What is measured of a kernel's code, and which way is worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from cutecc.record import Compilation
from cutecc.record.naming import short_kernel_name
from cutecc.record.stages import UserLines
from cutecc.report.mapping import mix_of_record

SPACES = ("global load", "global store", "shared load", "shared store")
"""Classes of memory accesses whose widths are measured; a class's name ends with the bits."""


class Measures(msgspec.Struct, frozen=True):
    """What one device function takes, and what instructions it has."""

    registers: int
    """32-bit registers per thread."""
    spill_bytes: int | None
    """Bytes of spill stores and loads in the code of one thread; `None` where the assembler does not tell."""
    stack_bytes: int
    """Per thread."""
    shared_bytes: int | None
    """Per block, static and dynamic; `None` where that depends on the arguments."""
    classes: dict[str, int]
    """SASS instructions by class, as `cutecc compare` has them; none where the record has no SASS."""
    widths: dict[str, dict[str, int]]
    """Of each kind of memory access, how many there are by bits: `{"global load": {"128": 4}}`."""

    @property
    def instructions(self) -> int | None:
        """All of them; `None` where the record has no SASS."""
        return sum(self.classes.values()) if self.classes else None

    def count(self, name: str) -> int | None:
        """Those of a class; `None` where the record has no SASS."""
        return self.classes.get(name, 0) if self.classes else None

    def bits(self, space: str) -> float | None:
        """How wide an access of a kind is on average, in bits; `None` where there is none."""
        widths = self.widths.get(space)
        if not widths:
            return None
        return sum(int(bits) * count for bits, count in widths.items()) / sum(widths.values())


@dataclass(frozen=True)
class Metric:
    """A number that columns are compared by."""

    name: str
    """In `--fail-on` and in the table."""
    of: Callable[[Measures], float | None]
    worse: Literal["more", "less", "neither"]
    unit: str = ""


def _bits_of(space: str) -> Callable[[Measures], float | None]:
    return lambda measures: measures.bits(space)


METRICS: Mapping[str, Metric] = {
    each.name: each
    for each in (
        Metric("registers", lambda measures: measures.registers, "more"),
        Metric("spills", lambda measures: measures.spill_bytes, "more", "B"),
        Metric("stack", lambda measures: measures.stack_bytes, "more", "B"),
        Metric("shared", lambda measures: measures.shared_bytes, "more", "B"),
        Metric("instructions", lambda measures: measures.instructions, "more"),
        Metric("matrix", lambda measures: measures.count("matrix"), "neither"),
        Metric("barriers", lambda measures: measures.count("barrier and fence"), "more"),
        *(Metric(f"{space.replace(' ', '-')}-width", _bits_of(space), "less", "bits") for space in SPACES),
    )
}
"""By name. `matrix` and `barriers` are instructions."""
WIDTHS = tuple(f"{space.replace(' ', '-')}-width" for space in SPACES)


def measure(compilation: Compilation) -> dict[str, Measures]:
    """What each device function of a record takes, by the user's name for it. Raises `RecordError`."""
    mix = mix_of_record(compilation, UserLines())
    classes = {each.kernel: each.classes for each in mix.kernels} if mix else {}
    found: dict[str, Measures] = {}
    for each in compilation.resources:
        stores, loads = each.spill_store_bytes, each.spill_load_bytes
        dynamic = each.shared_dynamic_bytes
        found[_name(each.kernel, found)] = Measures(
            registers=each.registers,
            spill_bytes=None if stores is None else stores + (loads or 0),
            stack_bytes=each.stack_bytes,
            shared_bytes=None if dynamic is None else each.shared_static_bytes + dynamic,
            classes=classes.get(each.kernel, {}),
            widths=_widths(classes.get(each.kernel, {})),
        )
    return found


def _name(symbol: str, known: Mapping[str, Measures]) -> str:
    """The user's name, numbered where one function is there for several arguments."""
    name = short_kernel_name(symbol)
    number = sum(1 for each in known if each.partition("#")[0] == name)
    return f"{name}#{number + 1}" if number else name


def _widths(classes: Mapping[str, int]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for name, count in classes.items():
        space, _, bits = name.rpartition(" ")
        if space in SPACES:
            found.setdefault(space, Counter())[bits] += count
    return {space: dict(found[space]) for space in SPACES if space in found}
