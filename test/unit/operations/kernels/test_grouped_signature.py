"""What kernels of grouped products take: the specs of their parameters, workspaces, and tables of tiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from launching import simt
from test_signature import epilogue
from test_sm90_products import hopper

from cutecc.arguments.grammar import parse_spec
from cutecc.operations.grouped.description import PACKINGS, GroupedDescription
from cutecc.operations.kernels.grouped import schedule, slots, workspace
from cutecc.operations.kernels.grouped.signature import PARAMETERS, ends_divisor, specs

GEMM = simt("f32:row:4", "f32:row:2", "f32:row:4", "f32:column:2", epilogue=epilogue())
HOPPER = hopper("f16:row", "f16:row", "f16:row", "cooperative:128x64:stages=2:warps=2x1x1:cluster=1x2")


@pytest.mark.parametrize("packing", PACKINGS)
def test_every_parameter_has_a_spec_that_parses(packing):
    scales = "none" if packing == "columns" else "blocks"
    for each in (GroupedDescription(GEMM, packing), GroupedDescription(HOPPER, packing, "host", scales)):
        found = specs(each)
        assert tuple(found) == PARAMETERS
        for text in found.values():
            parse_spec(text)


def test_what_varies_is_packed_and_the_other_matrices_have_the_group_last():
    found = {packing: specs(GroupedDescription(GEMM, packing)) for packing in PACKINGS}
    assert found["rows"]["a"] == "f32[?M, ?K{div=4}]:(?{i64 div=4}, 1) align=16"
    assert found["rows"]["b"] == "f32[?N{div=4}, ?K{div=4}, ?G]:(1, ?{i64 div=2}, ?{i64 div=2}) align=8"
    assert found["depth"]["b"] == "f32[?N{div=4}, ?K{div=4}]:(1, ?{i64 div=2}) align=8"
    assert found["columns"]["a"] == "f32[?M, ?K{div=4}, ?G]:(?{i64 div=4}, 1, ?{i64 div=4}) align=16"
    assert found["list"]["a"] == "(i64[?G], i64[?G])"
    operands = {packing: each["operands"] for packing, each in found.items()}
    assert "f16[?N{div=4}, ?G]:(1, ?{i64 div=8}) align=16, f32[?M]:(1) align=4, f32, f32[?G]" in operands["rows"]
    assert "f16[?N{div=2}]:(1) align=16, f32[?M, ?G]:(1, ?{i64}) align=4, f32, f32[?G]" in operands["columns"]
    assert operands["list"].startswith("((i64[?G], i64[?G]), i64[?G], i64[?G], f32, f32[?G]:(?{i64}), (i64[?G]")
    assert (found["list"]["sizes"], found["rows"]["sizes"]) == ("i32[?G, 3]", "i32[?G]")


def test_a_column_major_d_of_rows_is_compiled_as_columns():
    turned = GroupedDescription(GEMM.transposed(), "rows")
    assert specs(turned) == specs(GroupedDescription(GEMM, "columns"))


def test_groups_begin_at_multiples_of_what_is_copied_at_once():
    found = {packing: ends_divisor(GroupedDescription(GEMM, packing)) for packing in PACKINGS}
    assert found == {"list": 1, "rows": 1, "columns": 2, "depth": 4}
    assert ends_divisor(GroupedDescription(HOPPER, "depth", scales="blocks")) == 128
    assert [ends_divisor(GroupedDescription(HOPPER, packing)) for packing in ("rows", "columns", "depth")] == [1, 8, 8]


def test_descriptors_are_of_what_ends_within_a_box():
    found = {packing: workspace.described(GroupedDescription(HOPPER, packing)) for packing in PACKINGS}
    assert found == {"list": ("a", "b", "d"), "rows": (), "columns": (), "depth": ("a", "b")}
    unaligned = GroupedDescription(hopper("f16:row", "f16:row", "f16:row:1", "cooperative:64x64:stages=2:warps=1x1x1"))
    assert workspace.workspace_bytes(unaligned, 3) == 2 * 3 * 128
    assert not workspace.needs_workspace(GroupedDescription(simt("f32:row:4", "f32:row:2", "f32:row:4")))


@pytest.mark.parametrize("packing", ["rows", "columns", "depth"])
def test_groups_have_slots_of_their_own_without_tiles_being_added_up(packing):
    description, generator = GroupedDescription(HOPPER, packing), np.random.default_rng(0)
    for _ in range(50):
        extents, others = generator.integers(0, 400, 6), int(generator.integers(1, 400))
        ends, whole = [0, *np.cumsum(extents).tolist()], [others, others, others]
        whole[["rows", "columns", "depth"].index(packing)] = ends[-1]
        before = [schedule.turns_before(description, *whole[:2], group, begin) for group, begin in enumerate(ends)]
        for group, extent in enumerate(extents.tolist()):
            own = {"rows": (extent, others), "columns": (others, extent)}.get(packing, (others, others))
            assert before[group + 1] - before[group] >= schedule.tiles(description, *own)
        assert before[-1] == schedule.most_turns(description, *whole, len(extents))


def test_parts_of_reductions_lie_next_to_each_other_in_a_slot():
    found = slots.parts(GroupedDescription(GEMM))
    assert found and [each.offset % 16 for each in found.values()] == [0] * len(found)
    ends = [each.offset + 4 * each.warps * each.results for each in found.values()]
    begins = [*(each.offset for each in found.values()), slots.slot_bytes(GroupedDescription(GEMM))]
    assert all(end <= begin < end + 16 for end, begin in zip(ends, begins[1:], strict=True))
    assert slots.slots(GroupedDescription(HOPPER), 3) == 6  # of clusters of two
    assert workspace.needs_workspace(GroupedDescription(GEMM))


def test_tiles_before_each_group():
    description = GroupedDescription(HOPPER)
    assert schedule.tiles_before(description, [(128, 128, 9), (0, 128, 9), (129, 1, 0), (1, 257, 1)]) == [0, 1, 1, 3, 6]
    assert schedule.tiles_before(replace(description, packing="rows"), []) == [0]
