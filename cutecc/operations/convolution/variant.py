"""A convolution compiled in one form: its arguments bound to the kernel's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError
from cutecc.operations.arguments import check_written, numbers_of, operands_of, read
from cutecc.operations.call_sizes import check_reductions, slices_of, workspace_sizes
from cutecc.operations.convolution import depthwise, folded
from cutecc.operations.convolution.arguments import (
    ROLES,
    Form,
    Tensor,
    check_alignment,
    check_elements,
    check_rows,
    form_of,
    has_torch_order,
    sizes_of,
    tensor,
    vector,
    view,
)
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.convolution.geometry import ConvolutionProblem, Padding
from cutecc.operations.convolution.interleaved import interleaved
from cutecc.operations.convolution.rules import check_sizes
from cutecc.operations.description import SPLIT_K_MODES
from cutecc.operations.hazards import Hazard, check_hazards
from cutecc.operations.kernels.convolution import folding
from cutecc.operations.kernels.convolution.signature import product as kernel_product
from cutecc.operations.kernels.convolution.tiled_rows import tiled_rows
from cutecc.operations.kernels.workspace import ALIGNMENT
from cutecc.operations.operand import type_bits
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.variant import Arrays, Bound, Variant
from cutecc.operations.views import MatrixArray


class Steps(NamedTuple):
    """What a call says besides its arrays: how filters step over activations, and into how many slices K is split."""

    padding: Padding = 0
    stride: Any = 1
    dilation: Any = 1
    groups: int = 1
    slices: int | None = None

    def hashable(self) -> Steps:
        """The same, with tuples in the place of lists."""
        try:
            hash(self)
        except TypeError:
            return Steps(*map(_hashable, self))
        return self


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, cast("list[Any]", value))) if isinstance(value, list | tuple) else value


_SPLIT_HINT = 'describe it with split_k="serial" or split_k="parallel"'


class ConvolutionVariant(Variant[ConvolutionDescription]):
    """One form of a convolution."""

    def __init__(self, description: ConvolutionDescription) -> None:
        super().__init__(description)
        gemm = description.gemm
        self.array_names = ("A", "B", *(each.name for each in gemm.epilogue.stored))
        self.operands = operands_of(gemm)
        """A, B and the full operands of the epilogue."""
        is_depthwise = description.groups == "depthwise"
        self._forms: dict[str, Form] = {
            name: form_of(description.kind, name, is_depthwise=is_depthwise) for name in self.operands
        }
        self._product = folding.inner(description).gemm if description.is_folded else kernel_product(description)
        """As the kernel's workspace sees it."""

    def bind(
        self, given: Mapping[str, Any], settings: Steps, /, *, copies: Callable[[Arrays], Arrays] | None = None
    ) -> Bound:
        description, epilogue = self.description, self.description.gemm.epilogue
        arrays = {name: self._read(name, given.get(name)) for name in self.array_names}
        outputs = {each.name for each in epilogue.outputs}
        for name in outputs & arrays.keys():
            check_written(name, arrays[name])
        is_torch = {name: has_torch_order(given.get(name), array) for name, array in arrays.items()}
        tensors = self._tensors(arrays, is_torch)
        sizes = sizes_of(
            description.kind,
            tensors,
            padding=settings.padding,
            stride=settings.stride,
            dilation=settings.dilation,
            groups=settings.groups,
        )
        check_sizes(description, sizes)
        problem = sizes.product(description)
        vectors = [each for each in epilogue.stored if each.name not in self.operands]
        for each in vectors:  # before anything is copied
            vector(description, each, arrays[each.name], problem)
        check_reductions(epilogue, problem)
        hazards = self._hazards(arrays, outputs)
        if copies is not None:
            arrays = cast("dict[str, Array]", copies(cast(Arrays, arrays)))
            tensors = self._tensors(arrays, is_torch)
        for name, each in tensors.items():
            check_alignment(each, self._forms[name], self.operands[name], problem.batches)
        operands: dict[str, Any] = {
            each.name: vector(description, each, arrays[each.name], problem) for each in vectors
        }
        operands.update({name: view(each, self._forms[name], problem) for name, each in tensors.items()})
        numbers = numbers_of(epilogue, given)
        values, sources = self._values(operands | numbers, sizes)
        slices = self._slices(settings.slices, sizes)
        if description.gemm.mode in SPLIT_K_MODES:
            values["slices"] = slices
        is_empty = 0 in (problem.m, problem.n, problem.batches)
        workspace = self._workspace(sizes, slices)
        return Bound(cast(Arrays, arrays), values, sources, numbers, hazards, is_empty, *workspace)

    def workspace_bytes(self, sizes: ConvolutionProblem, slices: int | None) -> int:
        """The bytes of workspace of a call on these sizes. Raises `ArgumentError` for those of another convolution."""
        check_sizes(self.description, sizes)
        return self._workspace(sizes, self._slices(slices, sizes))[0]

    def _workspace(self, sizes: ConvolutionProblem, slices: int) -> tuple[int, int]:
        """The bytes of workspace, and how many of them have to be zeros, as `workspace_sizes` has them."""
        size, zeroed = workspace_sizes(self._product, self._tiled(sizes), slices)
        if self.description.is_folded:
            geometry = folding.folded_geometry(self.description, sizes.geometry)
            size = max(ALIGNMENT, folding.offsets(self.description, geometry, slices)[""])
        return size, zeroed

    def _tiled(self, sizes: ConvolutionProblem) -> Problem:
        """The product with as many rows as there are tiles for, which parts of reductions are counted by."""
        problem = self._multiplied(sizes)
        return replace(problem, m=tiled_rows(self.description, sizes.geometry, problem.m))

    def _multiplied(self, sizes: ConvolutionProblem) -> Problem:
        """The product that a kernel computes."""
        if self.description.is_folded:
            sizes = folded.sizes(self.description, sizes)
        return sizes.product(self.description)

    def _slices(self, given: int | None, sizes: ConvolutionProblem) -> int:
        if given is None and self.description.groups == "depthwise" and self.description.kind == "wgrad":
            given = depthwise.slices(self.description, sizes)
        if given is None and self.description.is_folded and self.description.kind == "wgrad":
            given = folded.slices(self.description, self._multiplied(sizes))
        return slices_of(self._product, given, self._multiplied(sizes), _SPLIT_HINT)

    def alignment_bytes(self, name: str) -> int:
        if (operand := self.operands.get(name)) is not None:
            return operand.bits // 8 if self._forms[name] == "dense_filters" else operand.alignment_bytes
        declared = self.description.gemm.epilogue.operand(name)
        assert declared is not None, name
        return declared.alignment * type_bits(declared.dtype) // 8

    def _hazards(self, arrays: Mapping[str, Array], outputs: set[str]) -> list[Hazard]:
        """What must not share memory with what. Raises `ArgumentError` where it does."""
        written = {name: each for name, each in arrays.items() if name in outputs}
        inputs = {name: each for name, each in arrays.items() if name not in outputs}
        return check_hazards(written, inputs, frozenset(self.operands) - {"A", "B"})

    @staticmethod
    def _read(name: str, value: Any) -> Array:
        found = read(name, value)
        if isinstance(found, MatrixArray):
            raise ArgumentError(f"argument '{name}' is an array of matrices, and a convolution takes tensors")
        return found

    def _tensors(self, arrays: Mapping[str, Array], is_torch: Mapping[str, bool]) -> dict[str, Tensor]:
        """The arguments that are tensors, each in the form that the kernel takes."""
        roles = ROLES[self.description.kind]
        found: dict[str, Tensor] = {}
        rank, outputs = self.description.rank, {each.name for each in self.description.gemm.epilogue.outputs}
        for name, operand in self.operands.items():
            role, is_written = roles.get(name, roles["D"]), name in outputs
            if operand.is_interleaved:
                each = interleaved(name, role, arrays[name], rank, is_written=is_written)
            else:
                each = tensor(name, role, arrays[name], rank, is_torch=is_torch[name], is_written=is_written)
            check_elements(each, operand)
            check_rows(each, self._forms[name])
            found[name] = each
        return found

    def _values(self, arguments: Mapping[str, Any], sizes: ConvolutionProblem) -> tuple[dict[str, Any], dict[str, str]]:
        """The kernel's arguments, and which of the user's each part of them is."""
        problem = sizes.product(self.description)
        names = [each.name for each in self.description.gemm.epilogue.operands]
        values: dict[str, Any] = {
            "problem": (problem.m, problem.n, problem.k, problem.batches),
            "geometry": tuple(sizes.geometry),
            "a": arguments["A"],
            "b": arguments["B"],
            "operands": tuple(arguments[name] for name in names),
        }
        sources = {"a": "A", "b": "B", **{f"operands[{index}]": name for index, name in enumerate(names)}}
        return values, sources
