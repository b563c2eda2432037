"""A matrix product with an epilogue: described, compiled, launched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecc.errors import ArgumentError, Error, UsageError
from cutecc.operations import candidates, validity
from cutecc.operations.arguments import described
from cutecc.operations.choosing import (
    EpilogueLike,
    by_name,
    device_target,
    epilogue_of,
    example,
    fitting_target,
    mode_of,
    problem_of,
    sizes_of,
    target_name,
    target_names,
    usual_epilogue,
    usual_result,
)
from cutecc.operations.description import GemmDescription, Mode
from cutecc.operations.instruction import Arithmetic, MathInstruction, Unit, as_instruction, instruction_type
from cutecc.operations.operand import Operand, as_operand, type_name
from cutecc.operations.product import Product
from cutecc.operations.swizzle import Swizzle, parse_swizzle
from cutecc.operations.tile import TileDescription, TileRequest
from cutecc.operations.tile_model import LARGE, Problem
from cutecc.operations.words import of_kind, shown

if TYPE_CHECKING:
    from cutecc.kernel import Kernel
    from cutecc.report.writing import Report


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
        wanted = None if tile is None else _checked_tile(tile)
        first, second = as_operand(a), as_operand(b)
        result = as_operand(d).stored if d is not None else usual_result(first)
        source = as_operand(c) if c is not None else None
        if accumulator is not None:
            accumulator = instruction_type(type_name(accumulator))
        instruction = None if instruction is None else as_instruction(instruction)
        usual = candidates.USUAL_ACCUMULATORS.get(first.dtype, "f32")
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
        super().__init__(self._choose(target=target_name(target)))

    @classmethod
    def of(cls, description: GemmDescription) -> Gemm:
        """The operation of a description. Raises `UsageError` with the reason and the nearest where there is none."""
        validity.check(of_kind(description, GemmDescription, "the description of an operation")).require()
        return cls._made(description, ())

    @classmethod
    def _made(
        cls,
        description: GemmDescription,
        kernels: Sequence[Kernel | None],
        choose: Callable[..., GemmDescription] | None = None,
        problem: Problem | None = None,
    ) -> Gemm:
        made = cls.__new__(cls)
        made._choose, made._problem = choose, problem
        Product.__init__(made, description, kernels)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # What is compiled goes along; results that have not come back, tables and plans of launches do not.
        kernels = [each.kernel if each.has_kernel else None for each in self.variants]
        return Gemm._made, (self.description, kernels, self._choose, self._problem)

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

    @classmethod
    def load(cls, path: str | Path, *, target: str | None = None) -> Gemm:
        """The operation that `bundle` wrote. Needs neither the DSL nor MLIR.

        Of several targets the one that fits this machine's GPU, or `target`. Raises `RecordError` for a file that is
        no such bundle, `UsageError` for a target that it does not hold.
        """
        from cutecc.operations import bundles

        found = bundles.read(path)
        name = target or fitting_target(list(found))
        if name not in found:
            raise UsageError(f"{path} holds nothing for {name}", hints=[f"it is for {', '.join(found)}"])
        return cls._made(found[name][0][0], [kernel for _, kernel in found[name]])

    def __repr__(self) -> str:
        return f"<Gemm {self.description.name}>"

    def tile_descriptions(self) -> list[TileDescription]:
        """The valid tiles for these operands, this instruction and epilogue, the best guess first."""
        return [each.tile for each in candidates.with_tiles([replace(self.description, swizzle="identity1")])]

    def with_tile(self, tile: TileDescription | TileRequest | str) -> Gemm:
        """The same operation with another tile, or the best that has the parts that are asked for: `stages=3`.

        Raises `UsageError` with the nearest that there is.
        """
        return Gemm.of(candidates.with_tiles([self.description], self._problem or LARGE, _checked_tile(tile))[0])

    # Compiling.

    def compile(self, *, progress: bool = False) -> Kernel:
        """Compile what is not compiled yet, or take it from the cache, and return the kernel.

        With a source there are two, since beta = 0 means that C is not read: the one that reads it is returned, and
        `kernels` has both. Raises `cutecc.Error` for what does not compile.
        """
        results = compile_all([self], progress=progress)
        if isinstance(results[0], Error):
            raise results[0]
        return results[0]

    @property
    def kernels(self) -> list[Kernel]:
        """The compiled kernels: the operation's, and if C can be left out that of the form without it."""
        self.compile()
        return [each.kernel for each in self.variants]

    def bundle(self, path: str | Path, *, targets: Sequence[str] | str | None = None) -> None:
        """Write the compiled operation to one file, which `Gemm.load` reads where neither the DSL nor MLIR is.

        `targets` are those to compile it for, by default its own; on each, what was not given is chosen anew. Raises as
        `compile` does, `RecordError` for a file that cannot be written, `UsageError` when something else is there.
        """
        from cutecc.operations import bundles

        names = [self.description.target] if targets is None else target_names(targets)
        operations = [self if name == self.description.target else self._for_target(name) for name in names]
        for result in compile_all(operations):
            if isinstance(result, Error):
                raise result
        bundles.write(path, [[(each.description, each.kernel) for each in op.variants] for op in operations])

    def report(self, path: str | Path, *, open: bool = False) -> Report:
        """Write the page that shows how the kernel is compiled to the HTML file `path`; with `open` show it too.

        Compiles the kernel again: the page shows what each pass made, of which the cache keeps nothing. Raises as
        `compile` and `cutecc.write_report` do.
        """
        from cutecc.compilation.request import CompileOptions
        from cutecc.operations.compiling import compile_descriptions
        from cutecc.report.writing import write_report

        (kernel,) = compile_descriptions([self.description], options=CompileOptions(report=True))
        if isinstance(kernel, Error):
            raise kernel
        report = write_report(kernel, path)
        if open:
            import webbrowser

            webbrowser.open(report.path.absolute().as_uri())
        return report

    def _for_target(self, name: str) -> Gemm:
        if self._choose is None:
            raise UsageError(
                f"this operation is described for {self.description.target} alone, not for {name}",
                hints=["Gemm(a=…, b=…, d=…) is described without a target"],
            )
        return Gemm._made(self._choose(target=name), (), self._choose, self._problem)


def _checked_tile(tile: TileDescription | TileRequest | str) -> TileDescription | TileRequest | str:
    """The same. Raises `UsageError` for what is no tile."""
    if not isinstance(tile, TileDescription | TileRequest | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"a tile is text such as 128x128x32, or a TileDescription, not {shown(tile)}")
    return tile


def compile_all(
    operations: Sequence[Gemm],
    *,
    workers: int | None = None,
    progress: bool | Callable[[Gemm, Kernel | Error], None] = False,
) -> list[Kernel | Error]:
    """Compile operations in parallel processes; for each its kernel, or why there is none, in their order.

    What was compiled before comes from the cache, without the DSL. `workers` is the number of processes, by default one
    for each processor. `progress` draws a bar on standard error, or is told of each operation when it is done. Raises
    `UsageError` for what is no operation.
    """
    from cutecc.operations.compiling import compile_descriptions

    operations = [of_kind(each, Gemm, "an operation to compile") for each in operations]
    wanted = [(op, each) for op in operations for each in op.variants if not each.has_kernel]
    results: dict[str, Kernel | Error] = {}
    keys = {id(op): {each.compiled.key for each in op.variants if not each.has_kernel} for op in operations}

    def result_of(op: Gemm) -> Kernel | Error:
        found = [results.get(each.compiled.key) or each.kernel for each in op.variants]
        return next((each for each in found if isinstance(each, Error)), found[0])

    def tell(description: GemmDescription, result: Kernel | Error) -> None:
        assert callable(progress)
        results[key := description.compiled().key] = result
        for op in operations:
            if key in keys[id(op)] and keys[id(op)] <= results.keys():
                progress(op, result_of(op))

    if callable(progress):
        for op in operations:
            if not keys[id(op)]:
                progress(op, result_of(op))
    descriptions = [each.description for _, each in wanted]
    compiled = compile_descriptions(descriptions, workers=workers, progress=tell if callable(progress) else progress)
    for (_, each), result in zip(wanted, compiled, strict=True):
        results[each.compiled.key] = result
        if not isinstance(result, Error):
            each.take(result)
    return [result_of(op) for op in operations]


def load(path: str | Path, *, target: str | None = None) -> Gemm:
    """The operation that `bundle` wrote, as `Gemm.load`."""
    return Gemm.load(path, target=target)
