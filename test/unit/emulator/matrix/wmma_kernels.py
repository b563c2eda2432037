"""Kernels in which one warp loads, multiplies and stores matrices by `wmma`, and what they have to give."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from formulas import BITS, decoded, random_bits, round_to, unit_sum

LARGE = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
MAJORS = tuple(itertools.product(("row", "col"), repeat=2))
STORED = {4: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64, 1: np.uint8}


@dataclass(frozen=True)
class Product:
    """One form of `wmma.mma`, and how C and D lie in memory."""

    shape: tuple[int, int, int]
    types: tuple[str, ...]
    """Of D, A, B and C."""
    majors: tuple[str, ...] = ("row", "col")
    major: str = "row"
    combine: str = ""
    end: str = ""

    def __str__(self) -> str:
        shape = "m{}n{}k{}".format(*self.shape)
        return ".".join(filter(None, (shape, *self.types, *self.majors, self.major, self.combine, self.end)))

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        m, n, k = self.shape
        return {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}

    def type(self, role: str) -> str:
        return self.types["dabc".index(role)]

    def lies(self, role: str) -> str:
        return {"a": self.majors[0], "b": self.majors[1]}.get(role, self.major)

    def registers(self, role: str) -> int:
        """As the manual's tables have them."""
        rows, columns = self.sizes[role]
        type_ = self.type(role)
        if role in "ab" and type_ == "f16":
            return 8
        return rows * columns * BITS[type_] // 32 // (64 if type_ == "f64" else 32)

    def stride(self, role: str, gap: int = 0) -> int:
        return self.sizes[role][1 if self.lies(role) == "row" else 0] + gap

    def text(self, space: str = "global", gap: int = 0) -> str:
        """Loads A, B and C, multiplies, and stores D; through shared memory, they are brought there and back."""
        shape = "m{}n{}k{}".format(*self.shape)
        d, a, b, c = self.types
        names = {role: [f"%{role}{number}" for number in range(self.registers(role))] for role in "abcd"}
        declared = "".join(
            f".reg .{'f64' if self.type(role) == 'f64' else 'b32'} {', '.join(each)};" for role, each in names.items()
        )
        braces = {role: f"{{{', '.join(each)}}}" for role, each in names.items()}
        said = {role: f"{self.lies(role)}.{shape}.{space}.{self.type(role)}" for role in "abcd"}
        strides = {role: f", {self.stride(role, gap)}" if gap else "" for role in "abcd"}
        loads = "".join(
            f"wmma.load.{role}.sync.aligned.{said[role]} {braces[role]}, [%{role}]{strides[role]};\n" for role in "abc"
        )
        types = f"{d}.{c}" if a == "f16" else f"{d}.{a}.{b}.{c}"
        combine = f"{self.combine}.popc." if self.combine else ""
        form = f"wmma.mma.{combine}sync.aligned.{'.'.join(self.majors)}.{shape}.{types}{self.end}"
        return f""".version 7.1
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {{
.reg .b64 %a, %b, %c, %d; {declared}
{"".join(f"ld.param.u64 %{role}, [p{role}]; cvta.to.global.u64 %{role}, %{role};" for role in "abcd")}
{loads}{form} {braces["d"]}, {braces["a"]}, {braces["b"]}, {braces["c"]};
wmma.store.d.sync.aligned.{said["d"]} [%d], {braces["d"]}{strides["d"]};
ret; }}
"""

    def inputs(self, seed: int = 0) -> dict[str, Any]:
        """The bits of A, B and C, as matrices."""
        random = np.random.default_rng(seed)
        return {role: random_bits(random, self.type(role), *self.sizes[role]) for role in "abc"}

    def memory(self, role: str, matrix: Any, gap: int = 0) -> Any:
        """A matrix as it lies in memory, with a gap behind each line; its elements of less than a byte go together."""
        lines = matrix if self.lies(role) == "row" else matrix.T
        bits = BITS[self.type(role)]
        if bits < 8:
            ones = (np.ascontiguousarray(lines)[..., None] >> np.arange(bits, dtype=np.uint8) & 1).reshape(
                len(lines), -1
            )
            lines, gap = np.packbits(ones, axis=1, bitorder="little"), gap * bits // 8
        return np.pad(np.ascontiguousarray(lines.astype(STORED[bits])), ((0, 0), (0, gap)))

    def empty(self, gap: int = 0) -> Any:
        return self.memory("d", np.zeros(self.sizes["d"]), gap)

    def result(self, memory: Any) -> Any:
        """The numbers of D."""
        matrix = memory[:, : self.stride("d")] if self.lies("d") == "row" else memory[:, : self.stride("d")].T
        return decoded(matrix, self.type("d"))

    def expected(self, inputs: dict[str, Any]) -> Any:
        d, a, b, c = self.types
        left, right, added = (decoded(inputs[role], self.type(role)) for role in "abc")
        if d == "s32":
            found = left @ right if self.combine != "xor" else (left[:, :, None] != right[None]).sum(axis=1)
            return np.clip(found + added, -(2**31), 2**31 - 1) if self.end else round_to(found + added, d)
        if d == "f64":
            return left @ right + added
        if (d, c) == ("f16", "f32"):
            return round_to(unit_sum(left, right, added, ("f32", a, b, c), 25), d)
        for part in (slice(4), slice(4, 8)) if a == "tf32" else (slice(None),):
            added = unit_sum(left[:, part], right[part], added, (d, a, b, c), 25)
        return added


PRODUCTS = [
    *(
        Product(shape, (d, "f16", "f16", c), majors, major)
        for shape in LARGE
        for majors in MAJORS
        for major, d, c in (("row", "f32", "f32"), ("col", "f16", "f16"), ("col", "f32", "f16"), ("row", "f16", "f32"))
    ),
    *(
        Product(shape, ("f32", "bf16", "bf16", "f32"), majors, major)
        for shape in LARGE
        for majors, major in zip(MAJORS, ("row", "col") * 2, strict=True)
    ),
    *(
        Product((16, 16, 8), ("f32", "tf32", "tf32", "f32"), majors, major)
        for majors in MAJORS
        for major in ("row", "col")
    ),
    *(
        Product(shape, ("s32", each, each, "s32"), majors, major, end=end)
        for shape in LARGE
        for majors, major in zip(MAJORS, ("row", "col") * 2, strict=True)
        for each, end in (("s8", ""), ("u8", ".satfinite"))
    ),
    *(Product((8, 8, 4), ("f64",) * 4, majors, major) for majors in MAJORS for major in ("row", "col")),
    *(
        Product((8, 8, 32), ("s32", each, each, "s32"), major=major, end=end)
        for each in ("s4", "u4")
        for major, end in (("row", ""), ("col", ".satfinite"))
    ),
    *(
        Product((8, 8, 128), ("s32", "b1", "b1", "s32"), major=major, combine=combine)
        for major in ("row", "col")
        for combine in ("xor", "and")
    ),
]
