"""The operations that are tested on a GPU cover what can be described, and are valid."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "gpu" / "operations"))
from covering_set import cases

from cutecc.operations import Gemm, GemmDescription
from cutecc.operations.description import MODES
from cutecc.operations.epilogue.named import NAMES
from cutecc.operations.epilogue.values import Output
from cutecc.operations.instruction_set import KINDS
from cutecc.operations.operand import LAYOUTS, OPERAND_TYPES
from cutecc.operations.swizzle import SWIZZLES


@pytest.fixture(scope="module")
def described() -> list[GemmDescription]:
    """All of them; one that is not valid raises."""
    return [case.describe().description for case in cases().values()]


def test_every_instruction_arithmetic_and_accumulator(described: list[GemmDescription]) -> None:
    wanted = {
        (kind.unit, kind.a, kind.b, accumulator, arithmetic)
        for kind in KINDS
        for accumulator in kind.accumulators
        for arithmetic in kind.arithmetics
    }
    there = [each.instruction for each in described]
    assert {(each.unit, each.a, each.b, each.accumulator, each.arithmetic) for each in there} == wanted
    shapes = {(kind.unit, kind.a, shape) for kind in KINDS if kind.unit != "wgmma" for shape in kind.shapes}
    # The one of K = 8 is the same code for both types.
    assert shapes - {(each.unit, each.a, each.shape) for each in there} == {("tensor_op", "bf16", (16, 8, 8))}


def test_every_type_and_layout_of_every_operand(described: list[GemmDescription]) -> None:
    assert {each.d.dtype for each in described} == set(OPERAND_TYPES)
    for unit in ("simt", "tensor_op", "wgmma"):
        own = [each for each in described if each.instruction.unit == unit]
        assert len({(each.a.layout, each.b.layout, each.d.layout) for each in own}) >= 8, unit
    for name in "abd":
        assert {getattr(each, name).layout for each in described} == set(LAYOUTS)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_every_alignment_down_to_an_element(described: list[GemmDescription], bits: int) -> None:
    own = [each for each in described if each.a.bits == bits]
    widths = {each.a.alignment_bytes for each in own}
    assert {16, bits // 8} <= widths, widths


def test_every_mode_and_swizzle_of_each_family(described: list[GemmDescription]) -> None:
    for family in ("simt", "sm80", "sm90"):
        own = [each for each in described if each.family == family]
        modes = set(MODES) - ({"array"} if family == "sm90" else {"split_k_cluster"})
        assert {each.mode for each in own} >= modes, family
    assert {each.swizzle for each in described if each.family == "sm80"} == set(SWIZZLES)
    assert {each.swizzle for each in described if each.family == "sm90"} == set(SWIZZLES)


def test_every_named_epilogue_with_and_without_a_source(described: list[GemmDescription]) -> None:
    assert {each.epilogue.name for each in described} >= set(NAMES)
    with_source = {each.epilogue.name for each in described if each.c is not None}
    assert with_source >= set(NAMES) - {"identity"}


def test_every_kind_of_operand_and_reduction_of_an_epilogue(described: list[GemmDescription]) -> None:
    inputs = {(each.kind, each.in_memory) for one in described for each in one.epilogue.inputs if each.kind == "scalar"}
    assert inputs == {("scalar", True), ("scalar", False)}
    assert {each.kind for one in described for each in one.epilogue.inputs} == {"full", "row", "column", "scalar"}
    for family in ("simt", "sm80", "sm90"):
        outputs: list[Output] = [each for one in described if one.family == family for each in one.epilogue.outputs]
        reductions = {(each.kind, each.reduction) for each in outputs if each.reduction != "none"}
        assert {kind for kind, _ in reductions} == {"row", "column", "scalar"}, family
        assert {how for _, how in reductions} == {"sum", "max", "min"}, family


def test_names_are_those_of_files_and_operations_are_themselves() -> None:
    for name, case in cases().items():
        assert name == case.name and name.replace("_", "").isalnum(), name
    first = next(iter(cases().values()))
    assert isinstance(first.describe(), Gemm)
