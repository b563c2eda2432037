"""Grouped products compiled in one form: their arguments bound to the kernel's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from cutecc.arguments.arrays import Array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import ArgumentError
from cutecc.operations.arguments import (
    Matrix,
    check_alignment,
    check_written,
    matrix,
    numbers_of,
    operands_of,
    read,
)
from cutecc.operations.call_sizes import check_reductions
from cutecc.operations.grouped.arguments import (
    agree,
    check_rank,
    packed_vector,
    packed_view,
    read_offsets,
)
from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.grouped.lists import (
    SCALES,
    SIZES,
    TILES,
    check_scales,
    check_written_lists,
    leading,
    list_names,
    read_lists,
    scales_shapes,
    tables_of_arrays,
    turns_in_all,
)
from cutecc.operations.grouped.problem import GroupedProblem
from cutecc.operations.grouped.tables import Numbers
from cutecc.operations.hazards import Hazard, check_hazards
from cutecc.operations.kernels import build
from cutecc.operations.kernels.grouped.schedule import most_turns, tiles_before
from cutecc.operations.kernels.grouped.signature import extent_divisors
from cutecc.operations.kernels.grouped.workspace import DESCRIPTOR_BYTES, workspace_bytes
from cutecc.operations.operand import type_bits
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.variant import Arrays, Bound, Variant
from cutecc.operations.vector_arguments import vector_view
from cutecc.operations.views import Table, View


class GroupedVariant(Variant[GroupedDescription]):
    """One form of grouped products."""

    takes_tables = True
    workspace_alignment = DESCRIPTOR_BYTES

    def __init__(self, description: GroupedDescription) -> None:
        super().__init__(description)
        self.operands = operands_of(description.gemm)
        """A, B and the full operands of the epilogue."""
        self.is_list = description.packing == "list"
        self.reduces = description.gemm.epilogue.has_reductions
        self.lists = list_names(description) if self.is_list else ()
        self.scalars = tuple(each for each in description.gemm.epilogue.stored if each.kind == "scalar")
        self.has_tiles = build.specs(self.compiled)["schedule"] != "none"
        """Whether the host says how many tiles are before each group."""
        tiles = (TILES,) if self.has_tiles else ()
        stored = tuple(each.name for each in description.gemm.epilogue.stored)
        scales = SCALES if description.scales != "none" else ()
        self._strided = (*self.operands, *scales)
        """The lists that have a table of distances besides that of addresses."""
        if self.is_list:
            self.array_names = ("A", "B", *stored, *scales, *map(leading, self._strided), SIZES, *tiles)
        else:
            self.array_names = ("A", "B", "offsets", *stored, *tiles, *scales)

    def bind(
        self, given: Mapping[str, Any], settings: Any, /, *, copies: Callable[[Arrays], Arrays] | None = None
    ) -> Bound:
        """As `Variant.bind`; lists and what is known of offsets on the host are tables by then."""
        if not self.is_list:
            return self._bind_packed(given, copies)
        if copies is None:
            return self._bind_lists(given)
        return self._bind_lists({**given, **self._copied(given, copies)}, are_copies=True)

    def in_memory(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if not self.is_list:
            return super().in_memory(given)
        found: dict[str, Any] = {each.name: given.get(each.name) for each in self.scalars}
        for name in self.lists:
            value = given.get(name)
            listed = cast("list[Any]", value) if isinstance(value, list | tuple) else []
            found |= {f"{name}[{index}]": each for index, each in enumerate(listed)}
        return found

    def alignment_bytes(self, name: str) -> int:
        declared = self.description.gemm.epilogue.operand(name)
        if not self.is_list or (declared is not None and declared.kind == "scalar"):
            if (operand := self.operands.get(name)) is not None:
                return operand.alignment_bytes
            if declared is not None:
                return declared.alignment * type_bits(declared.dtype) // 8
        return 4  # of a table; the addresses in it have been checked

    def _copied(self, given: Mapping[str, Any], copies: Callable[[Arrays], Arrays]) -> dict[str, Any]:
        """The tables of copies of lists, and copies of scalars in memory."""
        lists = read_lists(self.description, given)
        scalars = {each.name: cast(Array, read(each.name, given.get(each.name))) for each in self.scalars}
        check_written_lists(self.description, {**lists, **{name: [each] for name, each in scalars.items()}})
        own = {f"{name}[{index}]": each for name, arrays in lists.items() for index, each in enumerate(arrays)}
        found = cast("dict[str, Array]", copies({**scalars, **own}))
        copied = {name: [found[f"{name}[{index}]"] for index in range(len(each))] for name, each in lists.items()}
        device = next(iter(found.values())).device
        return {**tables_of_arrays(self.description, copied, device), **{name: found[name] for name in scalars}}

    def _bind_lists(self, given: Mapping[str, Any], *, are_copies: bool = False) -> Bound:
        """A call with tables; of copies it is known what shares memory."""
        epilogue = self.description.gemm.epilogue
        tables = {name: given[name] for name in self.array_names if isinstance(given.get(name), Numbers)}
        arrays: Arrays = dict(tables)
        groups = tables[SIZES].shape[0]
        values: dict[str, Any] = {}
        for each in self.scalars:
            array = cast(Array, read(each.name, given.get(each.name)))
            arrays[each.name], values[each.name] = array, vector_view(each, array, Problem(0, 0, 0, groups))
        hazards = [] if are_copies else self._hazards(arrays)
        for name in self.lists:
            view = _view(tables[name])
            values[name] = (view, _view(tables[leading(name)])) if name in self._strided else view
        numbers = numbers_of(epilogue, given)
        bound, sources = self._values(values | numbers)
        bound |= {"problem": (0, 0, 0), "sizes": _view(tables[SIZES])}
        sources["sizes"] = SIZES
        if self.description.scales != "none":
            bound["scales"] = tuple(values[name] for name in SCALES)
            for index, name in enumerate(SCALES):
                sources |= {f"scales[{index}][0]": name, f"scales[{index}][1]": leading(name)}
        if self.has_tiles:
            bound["schedule"] = _view(tables[TILES])
            sources["schedule"] = TILES
        sizes = tables[SIZES].data
        # Of a reduction also groups without elements have a result.
        is_empty = groups == 0 if self.reduces else not (sizes[:, 0].astype("i8") * sizes[:, 1]).any()
        workspace = workspace_bytes(self.compiled, groups, turns_in_all(tables) if self.reduces else 0)
        return Bound(arrays, bound, sources, numbers, hazards, is_empty, workspace)

    def _bind_packed(self, given: Mapping[str, Any], copies: Callable[[Arrays], Arrays] | None) -> Bound:
        description, epilogue = self.description, self.description.gemm.epilogue
        packing = description.packing
        arrays: Arrays = {name: self._read(name, given) for name in self.array_names}
        hazards = self._hazards(arrays)
        matrices = self._matrices(arrays)
        problem = agree(packing, matrices, arrays["offsets"].shape[0])
        vectors = [each for each in epilogue.stored if each.name not in self.operands]
        for each in vectors:  # before anything is copied
            packed_vector(packing, each, cast(Array, arrays[each.name]), problem)
        check_reductions(epilogue, problem)
        self._check_scales(arrays, problem)
        if copies is not None:
            arrays = copies(arrays)
            matrices = self._matrices(arrays)
        for name, each in matrices.items():
            check_alignment(each, self.operands[name], extents=False)
        turned = description.gemm.is_compiled_transposed
        values: dict[str, Any] = {
            each.name: packed_vector(packing, each, cast(Array, arrays[each.name]), problem) for each in vectors
        }
        values |= {"A": packed_view(matrices["A"], turned=False), "B": packed_view(matrices["B"], turned=True)}
        full = [name for name in self.operands if name not in ("A", "B")]
        values |= {name: packed_view(matrices[name], turned=turned) for name in full}
        numbers = numbers_of(epilogue, given)
        bound, sources = self._values(values | numbers)
        m, n = (problem.n, problem.m) if turned else (problem.m, problem.n)
        self._check_extents({"M": m, "N": n, "K": problem.k})
        bound |= {"problem": (m, n, problem.k), "sizes": _view(arrays["offsets"])}
        sources["sizes"] = "offsets"
        if self.has_tiles:
            bound["schedule"] = _view(arrays[TILES])
            sources["schedule"] = TILES
        if description.scales != "none":
            bound["scales"] = self._scales(cast("dict[str, Array]", arrays))
            sources |= {"scales[0]": SCALES[0], "scales[1]": SCALES[1]}
        is_empty = 0 in (problem.m, problem.n, problem.batches)
        turns = most_turns(self.compiled, m, n, problem.k, problem.batches)
        workspace = workspace_bytes(self.compiled, problem.batches, turns)
        return Bound(arrays, bound, sources, numbers, hazards, is_empty, workspace)

    def workspace_of(self, problem: GroupedProblem) -> int:
        """The bytes of workspace of a call with these groups."""
        if self.description.gemm.is_compiled_transposed:
            problem = problem.transposed()
        if self.is_list:
            turns = tiles_before(self.compiled, problem.sizes)[-1]
        else:
            whole = problem.whole(self.compiled.packing)
            turns = most_turns(self.compiled, whole.m, whole.n, whole.k, whole.batches)
        return workspace_bytes(self.compiled, problem.groups, turns)

    def _hazards(self, arrays: Arrays) -> list[Hazard]:
        """Raise `ArgumentError` for what cannot be written, or shares memory with what is written."""
        outputs = {each.name for each in self.description.gemm.epilogue.outputs}
        plain = {name: each for name, each in arrays.items() if isinstance(each, Array)}
        written = {name: each for name, each in plain.items() if name in outputs}
        for name, each in written.items():
            check_written(name, each)
        inputs = {name: each for name, each in plain.items() if name not in outputs}
        return check_hazards(written, inputs, frozenset(self.operands) - {"A", "B"})

    def check_scalars(self, arguments: Mapping[str, Any]) -> None:
        """Raise `ArgumentError` for scalars in memory that share it with matrices of lists of which one is written.

        `arguments` have the tables of the lists. A call that is like an earlier one may have others.
        """
        outputs = {each.name for each in self.description.gemm.epilogue.outputs}
        for name in [each.name for each in self.scalars]:
            scalar = cast(Array, read(name, arguments.get(name)))
            for other in self.lists if name in outputs else outputs.intersection(self.lists):
                for place, each in cast(Numbers, arguments[other]).around(scalar):
                    listed, alone = {f"{other}[{place}]": each}, {name: scalar}
                    check_hazards(*((listed, alone) if other in outputs else (alone, listed)), frozenset())

    def _check_extents(self, extents: Mapping[str, int]) -> None:
        """Raise `ArgumentError` unless sizes of all groups together, as compiled, are the multiples they have to be."""
        swapped = {"M": "N", "N": "M"} if self.description.gemm.is_compiled_transposed else {}
        for name, divisor in extent_divisors(self.compiled).items():
            if extents[name] % divisor:
                raise ArgumentError(
                    f"{swapped.get(name, name)} is {extents[name]}, no multiple of the {divisor} elements that are "
                    "read at once of matrices that are contiguous along it",
                    hints=["describe these with a smaller alignment: f16:row:1 for any"],
                )

    def _values(self, operands: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """The kernel's arguments among matrices, vectors and numbers, and which of the user's each part of them is."""
        names = [each.name for each in self.description.gemm.epilogue.operands]
        first, second = ("B", "A") if self.description.gemm.is_compiled_transposed else ("A", "B")
        values = {
            "a": operands[first],
            "b": operands[second],
            "operands": tuple(operands[name] for name in names),
        }
        places = {"a": first, "b": second, **{f"operands[{index}]": name for index, name in enumerate(names)}}
        sources: dict[str, str] = {}
        for parameter, name in places.items():
            if isinstance(operands[name], tuple):
                sources |= {f"{parameter}[0]": name, f"{parameter}[1]": leading(name)}
            else:
                sources[parameter] = name
        return values, sources

    def _read(self, name: str, given: Mapping[str, Any]) -> Array | Table:
        value = given.get(name)
        if isinstance(value, Numbers):
            return value
        return read_offsets(value) if name == "offsets" else cast(Array, read(name, value))

    def _matrices(self, arrays: Arrays) -> dict[str, Matrix]:
        found: dict[str, Matrix] = {}
        for name, operand in self.operands.items():
            found[name] = matrix(name, cast(Array, arrays[name]), operand)
            check_rank(self.description.packing, found[name])
        return found

    def _check_scales(self, arrays: Arrays, problem: Problem) -> None:
        """Raise `ArgumentError` for scales of another type or shape than there are blocks."""
        if self.description.scales != "none":
            packing = self.description.packing
            of_a, of_b = scales_shapes(packing, problem.m, problem.n, problem.k)
            groups = () if packing == "depth" else (problem.batches,)
            for name, shape in zip(SCALES, (of_a, (*groups, *of_b)), strict=True):
                check_scales(name, cast(Array, arrays[name]), shape)

    @staticmethod
    def _scales(arrays: Mapping[str, Array]) -> tuple[View, View]:
        a, b = (arrays[name] for name in SCALES)
        return View(a, "f32", a.shape, a.stride), View(b, "f32", b.shape[::-1], b.stride[::-1])


def _view(given: Array | Table) -> View:
    """All of an array as a kernel takes it."""
    array = given.table if isinstance(given, Table) else given
    dtype = find_numeric_type(array.dtype)
    assert dtype is not None
    return View(array, dtype.name, array.shape, array.stride)
