"""Products of many groups in one launch: described, chosen, run."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, cast

from cutecc.errors import ArgumentError, UsageError
from cutecc.operations.any_description import Description
from cutecc.operations.arguments import lives_on_gpu
from cutecc.operations.candidates import USUAL_ACCUMULATORS
from cutecc.operations.choosing import (
    EpilogueLike,
    by_name,
    device_target,
    epilogue_of,
    target_name,
    usual_epilogue,
    usual_result,
)
from cutecc.operations.given import Given
from cutecc.operations.grouped import candidates
from cutecc.operations.grouped.description import PACKINGS, SCHEDULES, GroupedDescription, Packing, Scales, Schedule
from cutecc.operations.grouped.lists import GroupMatrices, list_names, tables_of
from cutecc.operations.grouped.operands import declared_operands
from cutecc.operations.grouped.preparing import GroupTables
from cutecc.operations.grouped.problem import GroupedProblem
from cutecc.operations.grouped.reading import read_arguments
from cutecc.operations.grouped.validity import check
from cutecc.operations.grouped.variant import SCALES, GroupedVariant
from cutecc.operations.instruction import Arithmetic, MathInstruction, Unit, as_instruction, instruction_type
from cutecc.operations.kernels.grouped.workspace import workspace_bytes
from cutecc.operations.operand import Operand, as_operand, type_name
from cutecc.operations.operation import Operation
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


_LISTS = (list, tuple)


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
        are `blocks` for 8-bit floats with a factor for each row and 128 of K of A, and each 128×128 of B, of `depth`
        each column and 128 of K. What arrays among `operands` are, for `list` lists of them, the `problem` tells.

        `problem` is what the rest is chosen for: (M, N, K, groups), of what varies the sum over all groups, or
        [(M, N, K), …] of each group; large groups by default.

        Raises `UsageError` with the reason and the nearest that there is for what no kernel computes, `EpilogueError`
        for a function that is no epilogue, `NoGpuError` where nothing names a target.
        """
        first, second = as_operand(a, "a"), as_operand(b, "b")
        result = as_operand(d, "d").stored if d is not None else usual_result(first)
        source = as_operand(c, "c") if c is not None else None
        if accumulator is not None:
            accumulator = instruction_type(type_name(accumulator))
        instruction = None if instruction is None else as_instruction(instruction)
        usual = USUAL_ACCUMULATORS.get(first.dtype, "f32")
        adds = accumulator or (instruction.accumulator if instruction else usual)
        packing = known_word(packing, PACKINGS, "packing")  # type: ignore[assignment]
        schedule = known_word(schedule, SCHEDULES, "schedule")  # type: ignore[assignment]
        self._problem: GroupedProblem | None = None if problem is None else GroupedProblem.of(problem, packing)
        others = declared_operands(by_name(operands), packing, self._problem)
        graph = epilogue_of(epilogue or usual_epilogue(result, source, adds), others, source, result, adds)
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

    @classmethod
    def for_arguments(
        cls,
        A: Any,
        B: Any,
        C: Any = None,
        D: Any = None,
        *,
        offsets: Any = None,
        operands: Mapping[str, Any] | None = None,
        target: str | None = None,
        tf32: bool = False,
        problem: Any = None,
        **parts: Any,
    ) -> GroupedGemm:
        """The operation for arguments like these: packing, types, layouts, alignments are theirs, and sizes without a
        `problem`.

        Of `offsets` on a GPU nothing is known but how many there are: groups are taken to be about even, and matrices
        that are contiguous along what varies to begin anywhere. With `tf32`, tensor cores may round f32 to that.
        `operands` are the epilogue's others by name, arrays too, and for lists of matrices lists of them; `parts` are
        others of the class's. Raises as the class does, and `ArgumentError` for what are no matrices or do not fit
        together.
        """
        for name, each in (("A", A), ("B", B), ("D", D)):
            if each is None:
                raise ArgumentError(f"an operation for arguments needs {name}")
        found = read_arguments({"A": A, "B": B, "D": D, **({} if C is None else {"C": C})}, offsets)
        if target is None and found.ordinal is not None:
            target = device_target(found.ordinal)

        others = declared_operands(by_name(operands), found.packing, found.problem, found.whole)

        def made(extents: bool) -> GroupedGemm:
            matrices = {name: found.operand(name, extents=extents or name not in ("A", "B")) for name in found.given}
            for name in ("A", "B") if tf32 and matrices["A"].dtype == "f32" else ():
                matrices[name] = replace(matrices[name], dtype="tf32")
            return cls(
                matrices["A"],
                matrices["B"],
                matrices["D"],
                matrices.get("C"),
                operands=others,
                packing=found.packing,
                problem=found.problem if problem is None else problem,
                target=target,
                **parts,
            )

        # Where TMA reads A and B their extents need no alignment.
        try:
            op = made(extents=False)
        except UsageError:
            return made(extents=True)
        return op if op.description.gemm.family == "sm90" else made(extents=True)

    def _begin(self, description: GroupedDescription, kernels: Sequence[Kernel | None] = ()) -> None:
        super()._begin(description, kernels)
        self._tables = GroupTables(description)
        self._is_list, self._reads_ends = description.packing == "list", description.schedule == "host"
        self._arguments = {"alpha", "beta", "offsets", *(() if description.scales == "none" else SCALES)}
        """What calls are given by name besides the epilogue's operands."""

    def _variant(self, description: GroupedDescription) -> GroupedVariant:
        return GroupedVariant(description)

    @property
    def problem(self) -> GroupedProblem | None:
        """The sizes that it was chosen for; `None` for those of no call in particular."""
        return self._problem

    def tile_descriptions(self) -> list[TileDescription]:
        """The valid tiles for these operands, this instruction and epilogue, the best guess first."""
        return [each.gemm.tile for each in candidates.with_tiles(self.description, self._problem)]

    def with_tile(self, tile: TileDescription | TileRequest | str) -> GroupedGemm:
        """The same operation with another tile, or the best that has the parts that are asked for: `stages=3`.

        Raises `UsageError` with the nearest that there is.
        """
        found = candidates.with_tiles(self.description, self._problem, tile)
        return self.made(found[0], (), None, self._problem)

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
        them back, or on the host. They ascend and lie within the matrices, at multiples of the elements that are read
        at once; of others on the GPU results are wrong, and nothing outside of the matrices is touched. What is behind
        the last group is neither read nor written.

        Lists have a matrix a group, of any size, and rows and columns of an epilogue are lists of vectors. Tables of
        their addresses are made for a call and kept for others with the same; of `matrices` they are there before.
        What is written must not share memory with anything else, but may lie between its rows. A row of the epilogue is
        (groups, N), or (ΣN,) where N varies, and a column so of M; a scalar in memory is (groups,).

        Arrays, `stream`, `workspace`, `device`, `emulator` are as for `Gemm.run`, which says what is raised too.
        """
        arguments = {"A": A, "B": B, "C": C, "D": D, "offsets": offsets, "alpha": alpha, "beta": beta, **operands}
        self._run(Given(arguments, stream, workspace), self._others(operands), device, sync, emulator)

    def sync(self) -> None:
        """Wait for the calls so far, bring the results of numpy arrays back, and give back all memory that calls took.

        Raises `LaunchError` for faults.
        """
        super().sync()
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

    def workspace_bytes(
        self,
        A: Any = None,
        B: Any = None,
        C: Any = None,
        D: Any = None,
        *,
        groups: int | None = None,
        problem: Any = None,
        **rest: Any,
    ) -> int:
        """The bytes of workspace of a call with these arguments, on a `problem` as the class takes it, or without
        reductions with so many groups, `workspace_bytes(groups)`; its address is a multiple of 128.

        Raises `ArgumentError` as `run` does, and `UsageError` for a number of groups that does not tell.
        """
        variant = cast(GroupedVariant, self.variants[0])
        if problem is not None:
            return variant.workspace_of(GroupedProblem.of(problem, self.description.packing))
        count = A if groups is None and isinstance(A, Integral) else groups
        if count is not None:
            if variant.reduces:
                hints = ["workspace_bytes(problem=(M, N, K, groups)), or with the arguments of the call"]
                raise UsageError("the workspace of reductions depends on the sizes of the groups", hints=hints)
            return workspace_bytes(variant.compiled, operator.index(count))
        return self._bound(_given(A, B, C, D, rest), self._others(rest))[1].workspace_bytes

    def matrices(self, *, device: str = "cuda", **lists: Any) -> dict[str, GroupMatrices]:
        """Lists of matrices as arguments of calls, `op.run(**op.matrices(A=…, B=…, D=…))`: tables of their addresses.

        Calls make tables by themselves and keep the last ones until `sync()`; those that a CUDA graph uses have to be
        made before, and kept. Waits for the copy of the tables alone; their calls wait for no other stream.
        Raises `ArgumentError` for what does not fit.
        """
        check_device(device)
        description = self.variants[-1 if lists.get("C") is None else 0].description
        if description.packing != "list":
            raise UsageError(f"groups packed as {description.packing} have no lists of matrices")
        self._check_names(set(lists) - {"A", "B", "C", "D"})
        tables = {
            # They may outlive the streams that the matrices name now.
            name: replace(each, arrays=[replace(one, stream=None) for one in each.arrays])
            for name, each in tables_of(description, lists, device).items()
        }
        return {name: GroupMatrices(name, self.description, tables) for name in list_names(description)}

    def _others(self, operands: Mapping[str, Any]) -> Collection[str]:
        """Which arguments are operands of the epilogue."""
        return operands.keys() - self._arguments if operands else ()

    def _prepare(self, variant: Variant[GroupedDescription], given: Given, device: str, *, keep: bool) -> None:
        """Put tables in the place of lists, and of offsets that the host knows."""
        arguments = given.arguments
        offsets = arguments["offsets"]
        if self._is_list:
            if offsets is not None:
                raise ArgumentError("lists of matrices have no offsets", hints=['packing="rows" has'])
            self._tables.put_lists(cast(GroupedVariant, variant), given, device, keep)
        elif (is_list := isinstance(arguments["A"], _LISTS)) or isinstance(arguments["B"], _LISTS):
            name, packing = "A" if is_list else "B", self.description.packing
            raise ArgumentError(
                f"argument '{name}' is a list, and groups are packed as {packing}",
                hints=['packing="list" takes lists of matrices'],
            )
        elif offsets is None:
            hint = "offsets=ends: where each group ends, as int32"
            raise ArgumentError(f"groups packed as {self.description.packing} need offsets", hints=[hint])
        elif self._reads_ends or not lives_on_gpu(offsets):
            self._tables.put_ends(cast(GroupedVariant, variant), given, device, keep)


def _given(A: Any, B: Any, C: Any, D: Any, rest: dict[str, Any], workspace: Any = None) -> Given:
    """A call that is not launched."""
    arguments = {"alpha": None, "beta": None, "offsets": None, **rest, "A": A, "B": B, "C": C, "D": D}
    return Given(arguments, None, workspace)
