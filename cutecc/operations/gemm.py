"""A matrix product with an epilogue: described, compiled, launched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cutecc.errors import ArgumentError, UsageError
from cutecc.operations import candidates, validity
from cutecc.operations.arguments import described
from cutecc.operations.choosing import (
    EpilogueLike,
    by_name,
    device_target,
    epilogue_of,
    example,
    mode_of,
    problem_of,
    sizes_of,
    target_name,
    usual_epilogue,
    usual_result,
)
from cutecc.operations.description import GemmDescription, Mode
from cutecc.operations.fitting_instructions import USUAL_ACCUMULATORS
from cutecc.operations.instruction import Arithmetic, MathInstruction, Unit, as_instruction, instruction_type
from cutecc.operations.operand import Operand, as_operand, type_name
from cutecc.operations.product import Product
from cutecc.operations.swizzle import Swizzle, parse_swizzle
from cutecc.operations.tile import TileDescription, TileRequest, checked_tile
from cutecc.operations.tile_model import LARGE, Problem
from cutecc.operations.words import of_kind

if TYPE_CHECKING:
    pass


class Gemm(Product):
    """D = epilogue(A B, C, …): A is M×K, B is K×N, C and D are M×N, with a batch in front if there is one.

    What is not given is chosen. Compiled when it is first needed; threads may share it, and processes copies of it.
    """

    def __init__(
        self,
        a: Operand | str,
        b: Operand | str,
        d: Operand | str | None = None,
        c: Operand | str | None = None,
        *,
        accumulator: str | None = None,
        epilogue: EpilogueLike | None = None,
        operands: Mapping[str, Any] | None = None,
        instruction: MathInstruction | str | None = None,
        unit: Unit | None = None,
        arithmetic: Arithmetic | None = None,
        tile: TileDescription | TileRequest | str | None = None,
        swizzle: Swizzle | str | None = None,
        mode: Mode | None = None,
        target: str | None = None,
        problem: tuple[int, ...] | None = None,
    ) -> None:
        """Matrices are operands or text such as `f16:row:8`. D is by default like A in rows: `f16` of 8-bit floats, and
        `i32` of integers. Without `c` no source is read.

        f32 keeps all its digits, outside of tensor cores. They round it to tf32, which has a third of them, and are
        much faster: A and B as `tf32:row` ask for that, f32 in memory as before, or `unit="tensor_op"`, or an
        `instruction`; `arithmetic="multiply_add_fast_f32"` has them make up for it by three products.

        `epilogue` is the name of one, an `Epilogue`, or a function. By default it is `linear_combination`, but of
        integers into i32 without C `identity`: a linear combination is computed in f32, which would round large sums.
        `operands` says what the operands of a function are besides C and D: `{"bias": Row("f16")}`, or arrays like
        those of a call. `problem`, (M, N, K) or with the batch behind, is what the rest is chosen for; a large one by
        default. `target` is by default `CUTECC_TARGET`, else this machine's GPU.

        Raises `UsageError` with the reason and the nearest that there is for what no kernel computes, `EpilogueError`
        for a function that is no epilogue, `NoGpuError` where nothing names a target.
        """
        wanted = None if tile is None else checked_tile(tile)
        first, second = as_operand(a, "a"), as_operand(b, "b")
        result = as_operand(d, "d").stored if d is not None else usual_result(first)
        source = as_operand(c, "c") if c is not None else None
        if accumulator is not None:
            accumulator = instruction_type(type_name(accumulator))
        instruction = None if instruction is None else as_instruction(instruction)
        usual = USUAL_ACCUMULATORS.get(first.dtype, "f32")
        adds = accumulator or (instruction.accumulator if instruction else usual)
        if epilogue is None:
            epilogue = usual_epilogue(result, source, adds)
        graph = epilogue_of(epilogue, by_name(operands), source, result, adds)
        self._problem = problem_of(problem)
        self._choose: Callable[..., GemmDescription] | None = partial(
            candidates.choose,
            first,
            second,
            result,
            problem=self._problem,
            accumulator=accumulator,
            instruction=instruction,
            unit=unit,
            arithmetic=arithmetic,
            tile=wanted,
            c=source,
            epilogue=graph,
            swizzle=None if swizzle is None else parse_swizzle(swizzle),
            mode=mode,
        )
        self._begin(self._choose(target=target_name(target)))

    @classmethod
    def of(cls, description: GemmDescription) -> Gemm:
        """The operation of a description. Raises `UsageError` with the reason and the nearest where there is none."""
        validity.check(of_kind(description, GemmDescription, "the description of an operation")).require()
        return cls.made(description)

    @classmethod
    def for_arguments(
        cls,
        A: Any,
        B: Any,
        C: Any = None,
        D: Any = None,
        *,
        epilogue: EpilogueLike | None = None,
        operands: Mapping[str, Any] | None = None,
        target: str | None = None,
        mode: Mode | None = None,
        **parts: Any,
    ) -> Gemm:
        """The operation for arguments like these: types, layouts, alignments, sizes and batch are theirs.

        `operands` are the epilogue's others by name, arrays too. The rest is as in `Gemm`. Lists of matrices are of
        mode `array`. What `autotune` found is not looked at: its answer for these arguments, which is there at once
        where it is remembered, has the `operation`. Raises as `Gemm` does, and `ArgumentError` for what are no matrices
        or do not fit together.
        """
        if D is None:
            raise ArgumentError("an operation for arguments needs D", hints=["Gemm(a=…, b=…, d=…) takes descriptions"])
        for name, each in (("A", A), ("B", B)):
            if each is None:
                raise ArgumentError(f"an operation for arguments needs {name}")
        given = {"A": A, "B": B, "C": C, "D": D}
        named = by_name(operands)
        arrays = {name: example(name, each) for name, each in given.items() if each is not None}
        problem = sizes_of(arrays)
        mode = mode or mode_of(given.values(), arrays.values())
        if target is None and (first := arrays["A"]).device == "cuda":
            target = device_target(first.ordinal)

        def made(extents: bool) -> Gemm:
            found = {name: described(name, given[name], extents=extents or name not in ("A", "B")) for name in arrays}
            return cls(
                found["A"],
                found["B"],
                found["D"],
                found.get("C"),
                epilogue=epilogue,
                operands={**named, "accum": (problem.m, problem.n, problem.batches)} if named else None,
                target=target,
                mode=mode,
                problem=(problem.m, problem.n, problem.k, problem.batches),
                **parts,
            )

        # Where TMA reads A and B their extents need no alignment.
        try:
            op = made(extents=False)
        except UsageError:
            return made(extents=True)
        return op if op.description.family == "sm90" else made(extents=True)

    @property
    def problem(self) -> Problem | None:
        """The product that it was chosen for; `None` for a large one."""
        return self._problem

    def tile_descriptions(self) -> list[TileDescription]:
        """The valid tiles for these operands, this instruction and epilogue, the best guess first."""
        return [each.tile for each in candidates.with_tiles([replace(self.description, swizzle="identity1")])]

    def with_tile(self, tile: TileDescription | TileRequest | str) -> Gemm:
        """The same operation with another tile, or the best that has the parts that are asked for: `stages=3`.

        Raises `UsageError` with the nearest that there is.
        """
        found = candidates.with_tiles([self.description], self._problem or LARGE, checked_tile(tile))
        return self.made(found[0], (), None, self._problem)
