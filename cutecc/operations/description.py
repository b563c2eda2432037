"""A GEMM described whole: nothing is left to be chosen. A description is what kernels are built and named from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, TypeVar, get_args

import msgspec

from cutecc.errors import UsageError
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.values import Input, Output, default_conversion, is_float
from cutecc.operations.epilogue.verification import compute_type
from cutecc.operations.instruction import MathInstruction
from cutecc.operations.operand import Operand, most_aligned
from cutecc.operations.swizzle import Swizzle, parse_swizzle
from cutecc.operations.tile import TileDescription
from cutecc.operations.words import known_word, of_kind, text_of
from cutecc.ptx.types import NARROW_FLOATS
from cutecc.support.malformed import MALFORMED
from cutecc.target import Target

Family = Literal["simt", "sm80", "sm90"]
"""Kernels that share their code: the file of this name in `cutecc/operations/kernels/`."""
Mode = Literal["gemm", "batched", "array", "split_k_serial", "split_k_parallel", "split_k_cluster"]
"""`gemm`: one product. `batched`: matrices at a constant distance. `array`: an array of pointers to matrices.
`split_k_serial`: slices of K add up in turns. `split_k_parallel`: a second kernel adds them up. `split_k_cluster`: each
block of a cluster has a slice, and the first adds them up."""

MODES: tuple[Mode, ...] = get_args(Mode)
BATCH_MODES: tuple[Mode, ...] = ("batched", "array")
SPLIT_K_MODES: tuple[Mode, ...] = ("split_k_serial", "split_k_parallel")
"""Those in which a call says into how many slices."""
SPLITS: tuple[Mode, ...] = (*SPLIT_K_MODES, "split_k_cluster")
"""All ways to split K."""
FAMILIES: dict[str, Family] = {"simt": "simt", "tensor_op": "sm80", "wgmma": "sm90"}

_LETTERS = {"row": "t", "column": "n", "row_interleaved32": "r", "column_interleaved32": "c"}
"""As BLAS has it: `n` is column-major, `t` its transposed."""
_Operand = TypeVar("_Operand", Input, Output)


@dataclass(frozen=True)
class GemmDescription:
    """D = epilogue(A B, C, …), A is M×K, B is K×N, C and D are M×N.

    Any parts can be put together; `cutecc.operations.validity.check` tells whether there is a kernel for them.
    """

    target: str
    """`sm_80`, `sm_90a`, …: a name of `cutecc.target`."""
    instruction: MathInstruction
    tile: TileDescription
    a: Operand
    b: Operand
    d: Operand
    c: Operand | None
    """`None`: no source is read."""
    epilogue: Epilogue
    swizzle: Swizzle = "identity1"
    mode: Mode = "gemm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", _target_name(text_of(self.target, "a target")))
        of_kind(self.instruction, MathInstruction, "the instruction of a description")
        of_kind(self.tile, TileDescription, "the tile of a description")
        for name in ("a", "b", "d", *(["c"] if self.c is not None else [])):
            of_kind(getattr(self, name), Operand, f"{name.upper()} of a description")
        of_kind(self.epilogue, Epilogue, "the epilogue of a description")
        object.__setattr__(self, "swizzle", parse_swizzle(self.swizzle))
        object.__setattr__(self, "mode", known_word(self.mode, MODES, "mode"))

    @property
    def gemm(self) -> GemmDescription:
        """Itself: the product, as every kind of description has one."""
        return self

    @property
    def family(self) -> Family:
        """The kernels that compute it."""
        return FAMILIES[self.instruction.unit]

    @property
    def is_compiled_transposed(self) -> bool:
        """Whether kernels compute it as `transposed()`: they write along rows of D, so a column-major D is such a Dᵀ.

        A swapped tile is the other way round. Who launches what is transposed exchanges A with B, M with N, and both
        extents of every other matrix; vectors stay.
        """
        return self.d.is_along_rows == self.tile.swapped

    def compiled(self) -> GemmDescription:
        """What a kernel is built from: this, or `transposed()` when `is_compiled_transposed`."""
        return self.transposed() if self.is_compiled_transposed else self

    def transposed(self) -> GemmDescription:
        """The same product as Dᵀ = Bᵀ Aᵀ, of the same memory."""
        return replace(
            self,
            instruction=self.instruction.transposed(),
            tile=self.tile.transposed(),
            a=self.b.transposed(),
            b=self.a.transposed(),
            d=self.d.transposed(),
            c=self.c.transposed() if self.c else None,
            epilogue=self.epilogue.transposed(),
        )

    def with_tile(self, tile: TileDescription) -> GemmDescription:
        """The same with another tile, whose N is that of a `wgmma`."""
        instruction, (_, n, _) = self.instruction, tile.threadblock
        if instruction.unit == "wgmma":
            instruction = replace(instruction, shape=(instruction.shape[0], n, instruction.shape[2]))
        return replace(self, tile=tile, instruction=instruction)

    def to_json(self, *, places: bool = True) -> bytes:
        """One line of JSON; without `places` (and the epilogue's name) it is the same wherever that is written."""
        epilogue = self.epilogue if places else Epilogue.from_json(self.epilogue.to_json(places=False))
        return msgspec.json.encode(_Gemm(replace(self, epilogue=epilogue)))

    @classmethod
    def from_json(cls, text: bytes | str) -> GemmDescription:
        """The description that `to_json` wrote. Raises `UsageError` for any other text."""
        try:
            return msgspec.json.decode(text, type=_Gemm).gemm
        except (TypeError, *MALFORMED) as failure:
            raise UsageError(f"this is no description of a GEMM: {failure}") from None

    @property
    def key(self) -> str:
        """64 hexadecimal digits: the same for descriptions that are equal, in every process and place."""
        return hashlib.sha256(self.to_json(places=False)).hexdigest()

    @property
    def name(self) -> str:
        """Short, for files and tables; what is as usual is left out, so that only `key` tells all descriptions apart.

        `gemm_sm90a_f16_f16_f16_f32_tnt_128x256x64_s4_wgmma_w2_c2x1_cooperative`: target, types of A, B, D and
        accumulator, their layouts, threadblock, stages, unit.
        """
        instruction, tile = self.instruction, self.tile
        types = [NARROW_FLOATS.get(each, each) for each in (self.a.dtype, self.b.dtype, self.d.dtype)]
        words = ["gemm", self.target.replace("_", ""), *types, instruction.accumulator]
        words.append("".join(_LETTERS[each.layout] for each in (self.a, self.b, self.d)))
        words += ["x".join(map(str, tile.threadblock)), f"s{tile.stages}", instruction.unit]
        if instruction.unit == "tensor_op":
            words.append("x".join(map(str, instruction.shape)))
        words.append("w" + "x".join(map(str, tile.warps)))
        if tile.cluster != (1, 1):
            words.append("c" + "x".join(map(str, tile.cluster)))
        words += ["swapped"] if tile.swapped else []
        usual = ("multistage", "multiply_add", "identity1", "gemm")
        words += [
            word for word in (tile.schedule, instruction.arithmetic, self.swizzle, self.mode) if word not in usual
        ]
        aligned = [each.alignment for each in (self.a, self.b, self.d)]
        if aligned != [most_aligned(each.dtype) for each in (self.a, self.b, self.d)]:
            words.append("a" + "x".join(map(str, aligned)))
        if self.c is None:
            words.append("nosource")
        if self.epilogue.name and self.epilogue.name != "linear_combination":
            words.append(self.epilogue.name)
        return "_".join(words)

    @property
    def kernel_name(self) -> str:
        """What profilers and reports call the kernel, an identifier of PTX: the name of what is compiled.

        Without that of the epilogue: kernels that compute the same are one, whatever the epilogue is called.
        """
        compiled = self.compiled()
        return replace(compiled, epilogue=replace(compiled.epilogue, name="")).name

    def __str__(self) -> str:
        return self.name


@cache
def _target_name(text: str) -> str:
    return Target.parse(text).name


class _Gemm(msgspec.Struct, tag_field="operation", tag="gemm"):
    """The text form of a GEMM; other operations have tags of their own."""

    gemm: GemmDescription


def matched(epilogue: Epilogue, c: Operand | None, d: Operand, accumulator: str) -> Epilogue:
    """`epilogue` with the accumulator, and the types, layouts and alignments of C and D, that a description has."""
    inputs, outputs = epilogue.inputs, epilogue.outputs
    if c is not None:
        inputs = tuple(_of_operand(each, c) if each.name == "C" and each.kind == "full" else each for each in inputs)
    outputs = tuple(_of_operand(each, d) if each.name == "D" and each.kind == "full" else each for each in outputs)
    if (inputs, outputs, accumulator) == (epilogue.inputs, epilogue.outputs, epilogue.accumulator):
        return epilogue
    compute = compute_type(accumulator, epilogue.steps, outputs)
    return replace(epilogue, inputs=inputs, outputs=outputs, accumulator=accumulator, compute=compute)


def _of_operand(each: _Operand, operand: Operand) -> _Operand:
    if (each.dtype, each.layout, each.alignment) == (operand.dtype, operand.layout, operand.alignment):
        return each
    changes: dict[str, object] = {"dtype": operand.dtype, "layout": operand.layout, "alignment": operand.alignment}
    if isinstance(each, Output) and not converts(each.conversion, operand.dtype):
        changes["conversion"] = default_conversion(operand.dtype)
    return replace(each, **changes)


def converts(conversion: str, dtype: str) -> bool:
    """Whether an epilogue's output of this type can be converted that way."""
    if conversion == "fast_clamp":
        return dtype in ("i8", "u8")
    return conversion == "clamp" or is_float(dtype)
