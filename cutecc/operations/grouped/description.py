"""A grouped product described whole: nothing is left to be chosen. Needs no DSL."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Literal, get_args

import msgspec

from cutecc.errors import UsageError
from cutecc.operations.description import GemmDescription
from cutecc.operations.words import known_word, of_kind

Packing = Literal["list", "rows", "columns", "depth"]
"""How the operands of all groups lie in memory:

| packing | A | B | D | what varies |
|---|---|---|---|---|
| `list` | each group its own | each its own | each its own | M, N and K |
| `rows` | (ΣM, K), one group below the other | (groups, K, N) | (ΣM, N) | M |
| `columns` | (groups, M, K) | (K, ΣN) | (M, ΣN) | N |
| `depth` | (M, ΣK) | (ΣK, N) | (groups, M, N) | K |
"""
Schedule = Literal["device", "host"]
"""Who finds out which group a tile belongs to: a small kernel before the product, or the host, which has to know all
sizes then."""

Scales = Literal["none", "blocks"]
"""Factors of 8-bit floats in memory, of lists and packed rows and depth. `blocks`: in f32, of A one for each row and
128 of K, of B one for each 128 of K by 128 of N, or along `depth` by one column; the sums of 128 of K are multiplied by
both, and added up in f32."""

PACKINGS: tuple[Packing, ...] = get_args(Packing)
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
SCALES: tuple[Scales, ...] = get_args(Scales)
SCALE_BLOCK = 128
"""Of K, and of N, for each of which there is a scale."""


@dataclass(frozen=True)
class GroupedDescription:
    """D[g] = epilogue(A[g] B[g], C[g], …) for all groups g."""

    gemm: GemmDescription
    """The product of one group, of mode `gemm`."""
    packing: Packing = "list"
    schedule: Schedule = "device"
    scales: Scales = "none"

    def __post_init__(self) -> None:
        of_kind(self.gemm, GemmDescription, "the product of a group")
        object.__setattr__(self, "packing", known_word(self.packing, PACKINGS, "packing"))
        object.__setattr__(self, "schedule", known_word(self.schedule, SCHEDULES, "schedule"))
        object.__setattr__(self, "scales", known_word(self.scales, SCALES, "kind of scales"))

    @property
    def target(self) -> str:
        return self.gemm.target

    def compiled(self) -> GroupedDescription:
        """What a kernel is built from: this, or where D is column-major the transposed product of the same memory."""
        return self.transposed() if self.gemm.is_compiled_transposed else self

    def transposed(self) -> GroupedDescription:
        """The same products as Dᵀ = Bᵀ Aᵀ, of the same memory. Raises `UsageError` as `GemmDescription.transposed`."""
        turned: dict[Packing, Packing] = {"rows": "columns", "columns": "rows"}
        return replace(self, gemm=self.gemm.transposed(), packing=turned.get(self.packing, self.packing))

    def to_json(self, *, places: bool = True) -> bytes:
        """One line of JSON; `places` as in `GemmDescription.to_json`."""
        gemm = self.gemm if places else GemmDescription.from_json(self.gemm.to_json(places=False))
        return msgspec.json.encode(_Grouped(replace(self, gemm=gemm)))

    @classmethod
    def from_json(cls, text: bytes | str) -> GroupedDescription:
        """The description that `to_json` wrote. Raises `UsageError` for any other text."""
        try:
            return msgspec.json.decode(text, type=_Grouped).grouped
        except (msgspec.DecodeError, TypeError) as failure:
            raise UsageError(f"this is no description of a grouped product: {failure}") from None

    @property
    def key(self) -> str:
        """64 hexadecimal digits: the same for descriptions that are equal, in every process and place."""
        return hashlib.sha256(self.to_json(places=False)).hexdigest()

    @property
    def name(self) -> str:
        """Short, for files and tables: `grouped_rows_…`, then what the product of a group is called."""
        words = ["grouped", self.packing, *([] if self.schedule == "device" else [self.schedule])]
        words += [] if self.scales == "none" else [self.scales]
        return "_".join([*words, self.gemm.name.removeprefix("gemm_")])

    @property
    def kernel_name(self) -> str:
        """What profilers and reports call the kernel, as of a `GemmDescription`."""
        compiled = self.compiled()
        gemm = replace(compiled.gemm, epilogue=replace(compiled.gemm.epilogue, name=""))
        return replace(compiled, gemm=gemm).name

    def __str__(self) -> str:
        return self.name


class _Grouped(msgspec.Struct, tag_field="operation", tag="grouped"):
    """The text form of a grouped product."""

    grouped: GroupedDescription
