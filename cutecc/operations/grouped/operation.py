"""Products of many groups in one launch: described, chosen, run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError, UsageError
from cutecc.operations.any_description import Description
from cutecc.operations.arguments import lives_on_gpu, matrix, read
from cutecc.operations.candidates import USUAL_ACCUMULATORS
from cutecc.operations.choosing import (
    EpilogueLike,
    by_name,
    epilogue_of,
    target_name,
    usual_epilogue,
    usual_result,
)
from cutecc.operations.given import Given
from cutecc.operations.grouped import candidates
from cutecc.operations.grouped.arguments import check_ends, ends_on_host, group_sizes
from cutecc.operations.grouped.description import PACKINGS, SCHEDULES, GroupedDescription, Packing, Scales, Schedule
from cutecc.operations.grouped.lists import TILES, GroupMatrices, key_of, list_names, tables_of
from cutecc.operations.grouped.problem import GroupedProblem
from cutecc.operations.grouped.tables import Numbers, in_memory
from cutecc.operations.grouped.validity import check
from cutecc.operations.grouped.variant import GroupedVariant
from cutecc.operations.instruction import Arithmetic, MathInstruction, Unit, as_instruction, instruction_type
from cutecc.operations.kernels.grouped.schedule import tiles_before
from cutecc.operations.kernels.grouped.signature import ends_divisor
from cutecc.operations.kernels.grouped.workspace import workspace_bytes
from cutecc.operations.operand import Operand, as_operand, type_name
from cutecc.operations.operation import Operation
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.status import Status
from cutecc.operations.swizzle import Swizzle, parse_swizzle
from cutecc.operations.tile import TileDescription, TileRequest
from cutecc.operations.variant import Variant
from cutecc.operations.words import known_word, of_kind
from cutecc.runtime.checks import check_device

if TYPE_CHECKING:
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import EmulatorOptions
    from cutecc.kernel import Kernel

_TABLES = 64
"""Tables of lists and of offsets that an operation keeps."""


class GroupedGemm(Operation[GroupedDescription]):
    """D[g] = epilogue(A[g] B[g], C[g], …) for all groups g, of any sizes, in one launch.

    What is not given is chosen. Compiled when it is first needed; threads may share it, and processes copies of it.
    """

    described_by: ClassVar[type[Description]] = GroupedDescription

    def __init__(
        self,
        a: Operand | str,
        b: Operand | str,
        d: Operand | str | None = None,
        c: Operand | str | None = None,
        *,
        packing: Packing = "list",
        schedule: Schedule = "device",
        scales: Scales = "none",
        accumulator: str | None = None,
        epilogue: EpilogueLike | None = None,
        operands: Mapping[str, Any] | None = None,
        instruction: MathInstruction | str | None = None,
        unit: Unit | None = None,
        arithmetic: Arithmetic | None = None,
        tile: TileDescription | TileRequest | str | None = None,
        swizzle: Swizzle | str | None = None,
        target: str | None = None,
        problem: Any = None,
    ) -> None:
        """The product of a group is described as for `Gemm`. `packing` says how the matrices of all groups lie:

        | packing | A | B | C, D | what varies |
        |---|---|---|---|---|
        | `list` | a list of matrices | a list | a list | M, N, K |
        | `rows` | (ΣM, K) | (groups, K, N) | (ΣM, N) | M |
        | `columns` | (groups, M, K) | (K, ΣN) | (M, ΣN) | N |
        | `depth` | (M, ΣK) | (ΣK, N) | (groups, M, N) | K |

        With the `schedule` `host` the host says which tiles a group has, for which it has to know all sizes. `scales`
        are `blocks` for 8-bit floats with a factor for each row and 128 of K of A, and each 128×128 of B.

        `problem` is what the rest is chosen for: (M, N, K, groups), of what varies the sum over all groups, or
        [(M, N, K), …] of each group; large groups by default.

        Raises `UsageError` with the reason and the nearest that there is for what no kernel computes, `EpilogueError`
        for a function that is no epilogue, `NoGpuError` where nothing names a target.
        """
        first, second = as_operand(a), as_operand(b)
        result = as_operand(d).stored if d is not None else usual_result(first)
        source = as_operand(c) if c is not None else None
        if accumulator is not None:
            accumulator = instruction_type(type_name(accumulator))
        instruction = None if instruction is None else as_instruction(instruction)
        usual = USUAL_ACCUMULATORS.get(first.dtype, "f32")
        adds = accumulator or (instruction.accumulator if instruction else usual)
        graph = epilogue_of(epilogue or usual_epilogue(result, source, adds), by_name(operands), source, result, adds)
        packing = known_word(packing, PACKINGS, "packing")  # type: ignore[assignment]
        schedule = known_word(schedule, SCHEDULES, "schedule")  # type: ignore[assignment]
        self._problem: GroupedProblem | None = None if problem is None else GroupedProblem.of(problem, packing)
        self._choose: Callable[..., GroupedDescription] | None = partial(
            candidates.choose,
            (first, second, result),
            packing,
            schedule,
            scales,
            problem=self._problem,
            accumulator=accumulator,
            instruction=instruction,
            unit=unit,
            arithmetic=arithmetic,
            tile=tile,
            c=source,
            epilogue=graph,
            swizzle=None if swizzle is None else parse_swizzle(swizzle),
        )
        self._begin(self._choose(target=target_name(target)))

    @classmethod
    def of(cls, description: GroupedDescription) -> GroupedGemm:
        """The operation of a description. Raises `UsageError` with the reason and the nearest where there is none."""
        check(of_kind(description, GroupedDescription, "the description of grouped products")).require()
        return cls.made(description)

    def _begin(self, description: GroupedDescription, kernels: Sequence[Kernel | None] = ()) -> None:
        super()._begin(description, kernels)
        self._tables: dict[tuple[object, ...], dict[str, Numbers]] = {}
        self._reads_ends = description.schedule == "host"
        self._divisor = ends_divisor(description)

    def _variant(self, description: GroupedDescription) -> GroupedVariant:
        return GroupedVariant(description)

    def tile_descriptions(self) -> list[TileDescription]:
        """The valid tiles for these operands, this instruction and epilogue, the best guess first."""
        return [each.gemm.tile for each in candidates.with_tiles(self.description, self._problem)]

    def with_tile(self, tile: TileDescription | TileRequest | str) -> GroupedGemm:
        """The same operation with another tile, or the best that has the parts that are asked for: `stages=3`.

        Raises `UsageError` with the nearest that there is.
        """
        return GroupedGemm.of(candidates.with_tiles(self.description, self._problem, tile)[0])

    def run(
        self,
        A: Any,
        B: Any,
        C: Any = None,
        D: Any = None,
        *,
        offsets: Any = None,
        alpha: float | None = None,
        beta: float | None = None,
        stream: Any = None,
        workspace: Any = None,
        device: str = "cuda",
        sync: bool = False,
        emulator: EmulatorOptions | None = None,
        **operands: Any,
    ) -> None:
        """Compute D of all groups; `operands` are the epilogue's others by name, and `scales_a`, `scales_b` if there
        are. Launches, and does not wait unless `sync`.

        Of packed matrices, `offsets` are where each group ends along what varies, i32 on the GPU, where nobody reads
        them back, or on the host. They ascend and lie within the matrices: on the GPU others are moved so. What is
        behind the last group is neither read nor written.

        Lists have a matrix a group, of any size, and rows and columns of an epilogue are lists of vectors. Tables of
        their addresses are made for a call and kept for others with the same; of `matrices` they are there before.
        What is written must not share memory with anything else; of lists only matrices that begin at one place are
        found. A row of the epilogue is (groups, N), or (ΣN,) where N varies, and a column so of M; a scalar in memory
        is (groups,).

        Arrays, `stream`, `workspace`, `device`, `emulator` are as for `Gemm.run`, which says what is raised too.
        """
        arguments = {"A": A, "B": B, "C": C, "D": D, "offsets": offsets, "alpha": alpha, "beta": beta, **operands}
        self._run(Given(arguments, stream, workspace), self._others(operands), device, sync, emulator)

    def sync(self) -> None:
        """Wait for the calls so far, bring the results of numpy arrays back, and give back all memory that calls took.

        Raises `LaunchError` for faults.
        """
        super().sync()
        with self._lock:
            self._tables.clear()

    def emulate(
        self,
        A: Any,
        B: Any,
        C: Any = None,
        D: Any = None,
        *,
        emulator: EmulatorOptions | None = None,
        workspace: Any = None,
        **rest: Any,
    ) -> Emulation:
        """As `run` with `device="cpu"`: what was found, counted and printed, as `Kernel.emulate` says."""
        given = _given(A, B, C, D, rest, workspace)
        return self._emulate(given, self._others(rest), emulator)

    def supports(self, A: Any, B: Any, C: Any = None, D: Any = None, *, device: str = "cuda", **rest: Any) -> Status:
        """Whether `run` takes these arguments, and why not. Nothing is compiled; arrays may live anywhere."""
        for name in ("stream", "workspace", "sync", "emulator"):  # which nothing depends on here
            rest.pop(name, None)
        return self._supports(_given(A, B, C, D, rest), self._others(rest), device)

    def workspace_bytes(self, groups: int) -> int:
        """The bytes of workspace of a call with so many groups; its address is a multiple of 128."""
        return workspace_bytes(self.variants[0].compiled, groups)

    def matrices(self, *, device: str = "cuda", **lists: Any) -> dict[str, GroupMatrices]:
        """Lists of matrices as arguments of calls, `op.run(**op.matrices(A=…, B=…, D=…))`: tables of their addresses.

        Calls make tables by themselves and keep the last ones until `sync()`; those that a CUDA graph uses have to be
        made before, and kept. Waits for the copy of the tables alone. Raises `ArgumentError` for what does not fit.
        """
        check_device(device)
        description = self.variants[-1 if lists.get("C") is None else 0].description
        if description.packing != "list":
            raise UsageError(f"groups packed as {description.packing} have no lists of matrices")
        self._check_names(set(lists) - {"A", "B", "C", "D"})
        tables = tables_of(description, lists, None if device == "cpu" else device)
        return {name: GroupMatrices(name, self.description, tables) for name in list_names(description)}

    def _others(self, operands: Mapping[str, Any]) -> set[str]:
        """Which arguments are operands of the epilogue."""
        if not operands:
            return set()
        names = set(operands) - {"alpha", "beta", "offsets"}
        return names if self.description.scales == "none" else names - {"scales_a", "scales_b"}

    def _prepare(self, variant: Variant[GroupedDescription], given: Given, device: str, *, keep: bool) -> None:
        """Put tables in the place of lists, and of offsets that the host knows."""
        arguments = given.arguments
        if cast(GroupedVariant, variant).is_list:
            if arguments["offsets"] is not None:
                raise ArgumentError("lists of matrices have no offsets", hints=['packing="rows" has'])
            self._prepare_lists(cast(GroupedVariant, variant), given, device, keep)
        elif arguments["offsets"] is None:
            hint = "offsets=ends: where each group ends, as int32"
            raise ArgumentError(f"groups packed as {self.description.packing} need offsets", hints=[hint])
        elif self._reads_ends or not lives_on_gpu(arguments["offsets"]):
            self._prepare_ends(cast(GroupedVariant, variant), given, device, keep)

    def _prepare_lists(self, variant: GroupedVariant, given: Given, device: str, keep: bool) -> None:
        arguments = given.arguments
        first = arguments["A"]
        if isinstance(first, GroupMatrices):
            for name in variant.lists:
                each = arguments.get(name)
                if not isinstance(each, GroupMatrices) or each.tables is not first.tables or each.name != name:
                    raise ArgumentError(
                        f"argument '{name}' is not of the tables of A", hints=["op.run(**op.matrices(A=…, B=…, D=…))"]
                    )
            if first.description != self.description:
                raise ArgumentError("these tables were made by another operation")
            arguments.update(first.tables)
            return
        on_gpu = device == "cuda" and keep
        if not keep:
            arguments.update(tables_of(variant.description, arguments, None))
            return
        if on_gpu:
            _check_not_captured(
                cast("Sequence[Any]", first)[0] if isinstance(first, list | tuple) and first else None,
                given.stream,
                "tables of lists",
                "make them before, and keep them as long as the graph: op.run(**op.matrices(A=…, B=…, D=…))",
            )
        key = (device, *key_of(arguments, variant.lists))
        tables = self._kept(key, lambda: tables_of(variant.description, arguments, device if on_gpu else None))
        arguments.update(tables)

    def _prepare_ends(self, variant: GroupedVariant, given: Given, device: str, keep: bool) -> None:
        """Offsets on the host as a table, with that of the tiles before each group where a kernel takes one."""
        arguments, description = given.arguments, variant.description
        ends = ends_on_host(arguments["offsets"])
        if ends is None:
            if self._reads_ends:
                raise ArgumentError(
                    "argument 'offsets' lives on a GPU, and the schedule host needs to read it",
                    hints=['schedule="device" does not', "give offsets as a list"],
                )
            return
        problem = self._problem_of(variant, arguments, len(ends))
        a = cast(Array, read("A", arguments["A"]))

        def made() -> dict[str, Numbers]:
            check_ends(description.packing, ends, problem, self._divisor)
            tables = {"offsets": np.array(ends, np.int32)}
            if variant.has_tiles:
                turned = description.gemm.is_compiled_transposed
                sizes = group_sizes(description.packing, ends, problem)
                seen = [(n, m, k) for m, n, k in sizes] if turned else sizes
                tables[TILES] = np.array(tiles_before(variant.compiled, seen), np.int32)
            on_gpu = device == "cuda" and keep and a.device == "cuda"
            return in_memory(tables, a, {}, (a.ordinal or 0) if on_gpu else None)

        if a.library == "numpy":  # copied with the others
            arguments.update({name: each.data for name, each in made().items()})
            return
        if not keep:
            arguments.update(made())
            return
        if device == "cuda":
            hint = "give offsets that are on the GPU" + (' to an operation with schedule="device"' * self._reads_ends)
            _check_not_captured(a, given.stream, "offsets of the host", hint)
        arguments.update(self._kept((device, a.ordinal, ends, problem), made))

    def _problem_of(self, variant: GroupedVariant, arguments: Mapping[str, Any], groups: int) -> Problem:
        """The sizes of all groups together, as far as A and B say them."""
        a, b = (matrix(name, cast(Array, read(name, arguments[name])), variant.operands[name]) for name in ("A", "B"))
        return Problem(a.rows, b.columns, a.columns, groups)

    def _kept(self, key: tuple[object, ...], make: Callable[[], dict[str, Numbers]]) -> dict[str, Numbers]:
        """The tables of an earlier call, or new ones."""
        with self._lock:
            tables = self._tables.pop(key, None)
        tables = tables or make()
        with self._lock:
            while len(self._tables) >= _TABLES:
                del self._tables[next(iter(self._tables))]
            self._tables[key] = tables
        return tables


def _check_not_captured(first: Any, stream: Any, what: str, hint: str) -> None:
    """Raise `ArgumentError` while a CUDA graph is captured on the stream of a call, of which `first` is an array."""
    from cutecc.operations.matrix_arrays import is_captured

    if first is not None and is_captured(cast(Array, read("A", first)), stream):
        raise ArgumentError(f"a CUDA graph does not keep {what}", hints=[hint])


def _given(A: Any, B: Any, C: Any, D: Any, rest: dict[str, Any], workspace: Any = None) -> Given:
    """A call that is not launched."""
    arguments = {"alpha": None, "beta": None, "offsets": None, **rest, "A": A, "B": B, "C": C, "D": D}
    return Given(arguments, None, workspace)
