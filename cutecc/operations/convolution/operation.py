"""A convolution with an epilogue: described, compiled, launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from cutecc.arguments.arrays import Array
from cutecc.errors import UsageError
from cutecc.operations.any_description import Description
from cutecc.operations.arguments import read
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
from cutecc.operations.convolution import candidates
from cutecc.operations.convolution.arguments import ROLES, aligned, form_of, sizes_of
from cutecc.operations.convolution.description import (
    GROUPS,
    ITERATORS,
    MODES,
    STRIDES,
    ConvolutionDescription,
    Groups,
    Iterator,
    Kind,
    Stride,
)
from cutecc.operations.convolution.description import Mode as FilterMode
from cutecc.operations.convolution.geometry import ConvolutionProblem, Padding
from cutecc.operations.convolution.interleaved import tensor_of
from cutecc.operations.convolution.operands import as_tensor_operand, declared_operands, element_type, usual_filters
from cutecc.operations.convolution.rules import SPLITS
from cutecc.operations.convolution.validity import check
from cutecc.operations.convolution.variant import ConvolutionVariant, Steps
from cutecc.operations.convolution.words import extents_text, kind_word, part_word, problem_of, refuse_parts
from cutecc.operations.given import Given
from cutecc.operations.instruction import (
    ARITHMETICS,
    UNITS,
    Arithmetic,
    MathInstruction,
    Unit,
    as_instruction,
    instruction_type,
)
from cutecc.operations.operand import Operand, type_name
from cutecc.operations.operation import Operation
from cutecc.operations.status import Status
from cutecc.operations.swizzle import Swizzle, parse_swizzle
from cutecc.operations.tile import TileDescription, TileRequest, checked_tile
from cutecc.operations.words import known_word, of_kind

if TYPE_CHECKING:
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import EmulatorOptions


class Convolution(Operation[ConvolutionDescription]):
    """D = epilogue(A * B, C, …), where A and B are, by the kind of convolution:

    | kind | A | B | D, and C |
    |---|---|---|---|
    | `fprop` | activations | filters | outputs |
    | `dgrad` | outputs, or their gradient | filters | activations, or their gradient |
    | `wgrad` | outputs' gradient | activations | gradient of the filters |

    `dgrad` is also the transposed convolution. What is not given is chosen. Compiled when it is first needed; threads
    may share it, and processes copies of it.
    """

    described_by: ClassVar[type[Description]] = ConvolutionDescription
    rank: ClassVar[int]
    """How many extents are spatial."""

    def __init__(
        self,
        kind: Kind,
        a: Operand | str | None = None,
        b: Operand | str | None = None,
        d: Operand | str | None = None,
        c: Operand | str | None = None,
        *,
        iterator: Iterator | None = None,
        stride: Stride | None = None,
        groups: Groups | None = None,
        mode: FilterMode = "cross_correlation",
        split_k: str | None = None,
        accumulator: str | None = None,
        epilogue: EpilogueLike | None = None,
        operands: Mapping[str, Any] | None = None,
        instruction: MathInstruction | str | None = None,
        unit: Unit | None = None,
        arithmetic: Arithmetic | None = None,
        tile: TileDescription | TileRequest | str | None = None,
        swizzle: Swizzle | str | None = None,
        target: str | None = None,
        problem: ConvolutionProblem | None = None,
        **others: Any,
    ) -> None:
        """Tensors are text such as `f16:8`: a type, and as many channels as all numbers of them and all distances are
        multiples of, 16 bytes of them if not given; `i8:interleaved32` keeps 32 channels together. B is by default as
        A, D as for `Gemm`.

        `iterator` is how the tensor is walked along, `stride` whether strides may be other than 1, `groups` whether
        there is a single one, `many`, or `depthwise` one for each channel; `mode` `convolution` turns filters by half a
        turn. `split_k` is `none`, `serial` or `parallel`. In an epilogue a `Row` has one value a channel of D; of
        `wgrad` a `Column` has one value a filter. The rest is as for `Gemm`, and chosen for the `problem`. A is always
        given; `others` are refused, such as sizes, which are of a call.

        Raises `UsageError` with the reason and the nearest that there is for what no kernel computes, `EpilogueError`
        for a function that is no epilogue, `NoGpuError` where nothing names a target.
        """
        refuse_parts(others, [*signature(Convolution).parameters][:-1])
        kind = kind_word(kind)
        if a is None:
            raise UsageError(f"{kind} needs the type of A", hints=[f'{type(self).__name__}("{kind}", "f16")'])
        first = as_tensor_operand(a, "a")
        second = usual_filters(first) if b is None else as_tensor_operand(b, "b")
        result = usual_result(first) if d is None else as_tensor_operand(d, "d").stored
        source = None if c is None else as_tensor_operand(c, "c")
        if accumulator is not None:
            accumulator = instruction_type(type_name(accumulator))
        instruction = None if instruction is None else as_instruction(instruction)
        usual = USUAL_ACCUMULATORS.get(first.dtype, "f32")
        adds = accumulator or (instruction.accumulator if instruction else usual)
        graph = epilogue_of(
            usual_epilogue(result, source, adds) if epilogue is None else epilogue,
            by_name(operands),
            source,
            result,
            adds,
        )
        self._problem = problem = problem_of(problem, self.rank)
        self._choose = partial(
            candidates.choose,
            kind,
            self.rank,
            (first, second, result),
            sizes=problem,
            iterator=part_word("iterator", iterator, ITERATORS, "iterator"),
            stride=part_word("stride", stride, STRIDES, "stride"),
            groups=part_word("groups", groups, GROUPS, "word for groups"),
            filter_mode=cast(FilterMode, known_word(mode, MODES, "mode")),
            accumulator=accumulator,
            instruction=instruction,
            unit=part_word("unit", unit, UNITS, "unit"),
            arithmetic=part_word("arithmetic", arithmetic, ARITHMETICS, "arithmetic"),
            tile=None if tile is None else checked_tile(tile),
            c=source,
            epilogue=graph,
            swizzle=None if swizzle is None else parse_swizzle(swizzle),
            split=SPLITS.get(part_word("split_k", split_k, [*SPLITS], "way to split K") or ""),
        )
        self._begin(self._choose(target=target_name(target)))

    @classmethod
    def of(cls, description: ConvolutionDescription) -> Self:
        """The operation of a description. Raises `UsageError` with the reason and the nearest where there is none."""
        described = of_kind(description, ConvolutionDescription, "the description of a convolution")
        if not cls.serves(described):
            raise UsageError(f"{described} has {extents_text(described.rank)}, and {cls.__name__} has {cls.rank}")
        check(described).require()
        return cls.made(described)

    @classmethod
    def serves(cls, description: Description) -> bool:
        return isinstance(description, ConvolutionDescription) and description.rank == cls.rank

    @classmethod
    def for_arguments(
        cls,
        kind: Kind,
        A: Any,
        B: Any,
        C: Any = None,
        D: Any = None,
        *,
        padding: Padding = 0,
        stride: int | tuple[int, ...] = 1,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        operands: Mapping[str, Any] | None = None,
        target: str | None = None,
        tf32: bool = False,
        **parts: Any,
    ) -> Self:
        """The operation for arguments like these: types, alignments and sizes are theirs.

        With `tf32`, tensor cores may round f32 to that. `operands` are the epilogue's others by name, arrays too;
        `parts` are others of the convolution's. Raises as the class does, and `ArgumentError` for what are no tensors
        or do not fit together.
        """
        kind = kind_word(kind)
        given = {"A": A, "B": B, "D": D, **({} if C is None else {"C": C})}
        roles = ROLES[kind]
        arrays = {name: cast(Array, read(name, value)) for name, value in given.items()}
        tensors = {
            name: tensor_of(name, roles.get(name, roles["D"]), given[name], array, cls.rank, is_written=name == "D")
            for name, array in arrays.items()
        }
        sizes = sizes_of(kind, tensors, padding=padding, stride=stride, dilation=dilation, groups=groups)
        if target is None and arrays["A"].device == "cuda":
            target = device_target(arrays["A"].ordinal)
        types = (Operand(element_type(tensors[name]), "row") for name in "AB")
        is_depthwise = candidates.usual_groups(sizes, *types) == "depthwise"
        of_group = 1 if is_depthwise else groups
        found = {
            name: aligned(each, form_of(kind, name, is_depthwise=is_depthwise), element_type(each), of_group)
            for name, each in tensors.items()
        }
        for name in ("A", "B") if tf32 else ():
            found[name] = replace(found[name], dtype={"f32": "tf32"}.get(found[name].dtype, found[name].dtype))
        if operands is not None:
            parts["operands"] = declared_operands(kind, by_name(operands), sizes, of_group)
        return cls(kind, found["A"], found["B"], found["D"], found.get("C"), target=target, problem=sizes, **parts)

    @property
    def problem(self) -> ConvolutionProblem | None:
        """The sizes that it was chosen for; `None` for a large layer."""
        return self._problem

    def tile_descriptions(self) -> list[TileDescription]:
        """The valid tiles for these tensors, this instruction and epilogue, the best guess first."""
        return [each.gemm.tile for each in candidates.with_tiles(self.description, self._problem)]

    def with_tile(self, tile: TileDescription | TileRequest | str) -> Self:
        """The same operation with another tile, or the best that has the parts that are asked for: `stages=3`.

        Raises `UsageError` with the nearest that there is.
        """
        found = candidates.with_tiles(self.description, self._problem, checked_tile(tile))
        return self.made(found[0], (), None, self._problem)

    def run(
        self,
        A: Any,
        B: Any,
        C: Any = None,
        D: Any = None,
        *,
        padding: Padding = 0,
        stride: int | tuple[int, ...] = 1,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        alpha: float | None = None,
        beta: float | None = None,
        stream: Any = None,
        workspace: Any = None,
        slices: int | None = None,
        device: str = "cuda",
        sync: bool = False,
        emulator: EmulatorOptions | None = None,
        **operands: Any,
    ) -> None:
        """Compute D; `operands` are the epilogue's others by name. Launches, and does not wait unless `sync`.

        Tensors of torch have the shape (N, C, H, W) in memory that is `channels_last`; all others, and addresses as
        `DeviceMatrix`, have the shape (N, H, W, C). `padding` are zeros around the activations: a number, one for each
        spatial mode, or a pair for each, before and behind. `groups` is their number. Interleaved tensors of any
        library have the shape (N, C/32, H, W, 32), filters (C/32, R, S, K, 32). The rest is as for `Gemm.run`.

        Raises `ArgumentError` for arguments that do not fit, before anything is launched; what compiling raises;
        `LaunchError` for failures of the driver; `NoGpuError` for numpy arrays where there is no GPU.
        """
        arguments = {"A": A, "B": B, "C": C, "D": D, "alpha": alpha, "beta": beta, **operands}
        steps = Steps(padding, stride, dilation, groups, slices).hashable()
        self._run(Given(arguments, stream, workspace, steps), operands, device, sync, emulator)

    def emulate(
        self, A: Any, B: Any, C: Any = None, D: Any = None, *, emulator: EmulatorOptions | None = None, **rest: Any
    ) -> Emulation:
        """As `run` with `device="cpu"`: what was found, counted and printed, as `Kernel.emulate` says."""
        given, operands = _call(A, B, C, D, rest)
        return self._emulate(given, operands, emulator)

    def supports(self, A: Any, B: Any, C: Any = None, D: Any = None, *, device: str = "cuda", **rest: Any) -> Status:
        """Whether `run` takes these arguments, and why not. Nothing is compiled; arrays may live anywhere.

        numpy's are copied to a GPU, where they are aligned; with `device="cpu"` they are used where they are.
        """
        for name in ("sync", "emulator"):  # which nothing depends on here
            rest.pop(name, None)
        given, operands = _call(A, B, C, D, rest)
        return self._supports(given, operands, device)

    def workspace_bytes(
        self,
        A: Any = None,
        B: Any = None,
        C: Any = None,
        D: Any = None,
        *,
        problem: ConvolutionProblem | None = None,
        slices: int | None = None,
        **rest: Any,
    ) -> int:
        """The bytes of workspace of a call with these arguments, or on a `problem`. Raises `ArgumentError` as `run`."""
        if problem is not None:
            variant = cast(ConvolutionVariant, self.variants[0])
            return variant.workspace_bytes(of_kind(problem, ConvolutionProblem, "the problem"), slices)
        given, operands = _call(A, B, C, D, {**rest, "slices": slices})
        return self._bound(given, operands)[1].workspace_bytes

    def _variant(self, description: ConvolutionDescription) -> ConvolutionVariant:
        return ConvolutionVariant(description)


def _call(A: Any, B: Any, C: Any, D: Any, rest: Mapping[str, Any]) -> tuple[Given, list[str]]:
    """A call of the arguments by their names, and which of them are operands of the epilogue."""
    others = dict(rest)
    stream, workspace = others.pop("stream", None), others.pop("workspace", None)
    steps = Steps(**{name: others.pop(name) for name in Steps._fields if name in others})
    arguments = {"A": A, "B": B, "C": C, "D": D, "alpha": None, "beta": None} | others
    names = [name for name in others if name not in ("alpha", "beta")]
    return Given(arguments, stream, workspace, steps.hashable()), names


class Conv1d(Convolution):
    """A convolution along one extent: tensors are N×W×C, filters K×S×C."""

    rank = 1


class Conv2d(Convolution):
    """A convolution of images: tensors are N×H×W×C, filters K×R×S×C."""

    rank = 2


class Conv3d(Convolution):
    """A convolution of volumes: tensors are N×D×H×W×C, filters K×T×R×S×C."""

    rank = 3
