"""What was counted of a launch: by instruction, by line of Python, by kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cutecc.emulator.counters.classes import CLASSES, InstructionClass, matrix_kind
from cutecc.emulator.counters.counts import Counts
from cutecc.emulator.instructions.form import Form
from cutecc.errors import SourceLocation


@dataclass(slots=True)
class InstructionCounts:
    """What one instruction of a kernel did."""

    kernel: str
    index: int
    """Among the instructions of the kernel and the functions that it calls."""
    form: str
    """`ld.global.v4.b32`."""
    text: str
    """The instruction as written."""
    ptx_line: int
    location: SourceLocation | None
    """The line of Python, `None` when the PTX does not say."""
    kind: InstructionClass
    counts: Counts = field(default_factory=Counts)
    is_used: bool = True
    """Whether anything reads its result. The assembler makes `red` of an `atom` whose result nothing reads."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "ptx_line": self.ptx_line,
            "instruction": self.text,
            "class": self.kind,
            **_place(self.location),
            "counts": self.counts.to_dict(),
        }


@dataclass(slots=True)
class LineCounts:
    """What the instructions of one line of Python did."""

    kernel: str
    location: SourceLocation | None
    """Without a column; `None` for instructions that belong to no line."""
    counts: Counts = field(default_factory=Counts)
    warps_by_class: dict[InstructionClass, int] = field(default_factory=dict[InstructionClass, int])
    """Executions by a warp."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            **_place(self.location),
            "counts": self.counts.to_dict(),
            "warps_by_class": self.warps_by_class,
        }


def _place(location: SourceLocation | None) -> dict[str, Any]:
    return {} if location is None else {"file": location.file, "line": location.line}


@dataclass(repr=False)
class Counters:
    """Everything that was counted of one or several launches."""

    _by_key: dict[tuple[str, int], InstructionCounts] = field(default_factory=dict[tuple[str, int], InstructionCounts])

    @classmethod
    def of(cls, instructions: Iterable[InstructionCounts]) -> Counters:
        return cls({(each.kernel, each.index): each for each in instructions})

    def add(self, other: Counters) -> None:
        """Take another's numbers: those of other blocks, or of another launch. `other` is not to be used any more."""
        for key, each in other._by_key.items():
            if (known := self._by_key.get(key)) is not None:
                known.counts.add(each.counts)
            else:
                self._by_key[key] = each

    def __repr__(self) -> str:
        return f"<Counters of {', '.join(self.kernels) or 'nothing'}: {self.total().warps:,} warp instructions>"

    @property
    def instructions(self) -> list[InstructionCounts]:
        """Those that were executed, in the order of the program."""
        return [self._by_key[key] for key in sorted(self._by_key)]

    @property
    def kernels(self) -> list[str]:
        """The names of the kernels."""
        return sorted({kernel for kernel, _ in self._by_key})

    def total(self, kernel: str | None = None) -> Counts:
        """The sum over a kernel, or over all."""
        total = Counts()
        for each in self._by_key.values():
            if kernel in (None, each.kernel):
                total.add(each.counts)
        return total

    def by_class(self, kernel: str | None = None) -> dict[InstructionClass, Counts]:
        """The sum for each class that a kernel, or any, has instructions of."""
        found: dict[InstructionClass, Counts] = {}
        for each in self._by_key.values():
            if kernel in (None, each.kernel):
                found.setdefault(each.kind, Counts()).add(each.counts)
        return {name: found[name] for name in CLASSES if name in found}

    def by_matrix_kind(self, kernel: str | None = None) -> dict[str, Counts]:
        """The sum for each kind of matrix product, `tcgen05 kind::f16`, that a kernel, or any, has made; most first."""
        found: dict[str, Counts] = {}
        for each in self._by_key.values():
            if kernel in (None, each.kernel) and each.counts.matrix_operations:
                opcode, *modifiers = each.form.split(".")
                found.setdefault(matrix_kind(Form(opcode, (*modifiers,))), Counts()).add(each.counts)
        return dict(sorted(found.items(), key=lambda item: -item[1].matrix_flops))

    def by_line(self, kernel: str | None = None) -> list[LineCounts]:
        """The sum for each line of Python, most executions by a warp first."""
        found: dict[tuple[str, str, int], LineCounts] = {}
        for each in self.instructions:
            if kernel not in (None, each.kernel):
                continue
            place = each.location
            key = (each.kernel, place.file if place else "", (place.line or 0) if place else 0)
            if key not in found:
                found[key] = LineCounts(each.kernel, SourceLocation(place.file, place.line) if place else None)
            line = found[key]
            line.counts.add(each.counts)
            line.warps_by_class[each.kind] = line.warps_by_class.get(each.kind, 0) + each.counts.warps
        return sorted(found.values(), key=lambda line: -line.counts.warps)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: each kernel with its total, its classes, its lines and its instructions."""
        return {
            "kernels": [
                {
                    "kernel": kernel,
                    "total": self.total(kernel).to_dict(),
                    "classes": {name: counts.to_dict() for name, counts in self.by_class(kernel).items()},
                    "matrix": {
                        kind: {"operations": counts.matrix_operations, "flops": counts.matrix_flops}
                        for kind, counts in self.by_matrix_kind(kernel).items()
                    },
                    "lines": [line.to_dict() for line in self.by_line(kernel)],
                    "instructions": [each.to_dict() for each in self.instructions if each.kernel == kernel],
                }
                for kernel in self.kernels
            ]
        }
