"""The nearest description: always there, accepted itself, and never further away than it has to be."""

from __future__ import annotations

from dataclasses import replace

from description_strategies import changed_parts, counted, descriptions, tensor_op, wgmma
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.operations.alternatives import changes
from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.family import Part
from cutecc.operations.tile import TileDescription
from cutecc.operations.validity import check, refusal

TILE_PARTS: tuple[Part, ...] = (
    *("tile.m", "tile.n", "tile.k", "tile.stages", "tile.warps", "tile.cluster", "tile.schedule"),
)
PARTS: tuple[Part, ...] = (
    *("target", "instruction", "accumulator", "arithmetic", "swizzle", "mode", "c", "epilogue", *TILE_PARTS),
    *("a.dtype", "a.layout", "a.alignment", "b.dtype", "b.layout", "b.alignment"),
    *("d.dtype", "d.layout", "d.alignment", "c.dtype", "c.layout", "c.alignment"),
)


@settings(max_examples=15, deadline=None)
@given(descriptions())
def test_any_description_is_accepted_or_has_a_nearest_one(description: GemmDescription) -> None:
    verdict = check(description)
    assert verdict.nearest is not None
    assert refusal(verdict.nearest) is None
    assert verdict.accepted == (refusal(description) is None)
    if verdict:
        assert (verdict.nearest, verdict.reason, verdict.changes) == (description, "", ())
    else:
        assert verdict.reason and not verdict.reason.endswith(".")
        assert verdict.changes and verdict.nearest != description


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([tensor_op(), wgmma()]), st.data())
def test_one_wrong_part_is_mended_by_one_part_where_one_does_it(start: GemmDescription, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from([part for part in PARTS if changes(start, part)]))
    wrong = data.draw(st.sampled_from(changes(start, part)))[1]
    verdict = check(wrong)
    assert verdict.nearest is not None
    if verdict.accepted:
        return
    best = min(
        counted(changed_parts(wrong, changed))
        for other in PARTS
        for _, changed in changes(wrong, other)
        if refusal(changed) is None
    )
    assert counted(changed_parts(wrong, verdict.nearest)) <= best


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([tensor_op(), wgmma()]), st.data())
def test_two_wrong_parts_are_mended_by_no_more_than_they_were(start: GemmDescription, data: st.DataObject) -> None:
    wrong, changed = start, set[Part]()
    for part in data.draw(st.lists(st.sampled_from(TILE_PARTS), min_size=2, max_size=2, unique=True)):
        values = changes(wrong, part)
        wrong = data.draw(st.sampled_from(values))[1]
        changed.add(part)
    verdict = check(wrong)
    assert verdict.nearest is not None
    assert counted(changed_parts(wrong, verdict.nearest)) <= counted(changed_parts(wrong, start))


def test_what_is_wrong_in_everything_has_a_nearest_one_too() -> None:
    tile = TileDescription((7, 13, 5), 77, (9, 9, 9), (5, 5), "multistage")
    verdict = check(replace(wgmma(), tile=tile, target="sm_80", mode="array", swizzle="horizontal"))
    assert verdict.nearest is not None and refusal(verdict.nearest) is None
    assert verdict.nearest.mode == "array" and verdict.nearest.target == "sm_80"


def test_the_problem_stays_where_other_means_will_do() -> None:
    verdict = check(replace(wgmma(), target="sm_86"))
    assert verdict.nearest is not None
    assert verdict.nearest.target == "sm_86" and verdict.nearest.instruction.unit == "tensor_op"
    assert counted(changed_parts(wgmma(target="sm_86"), verdict.nearest))[0] == 0


def test_the_value_next_to_the_wrong_one_is_taken() -> None:
    verdict = check(tensor_op(threadblock=(100, 128, 32)))
    assert verdict.nearest == tensor_op(threadblock=(96, 128, 32))
    assert verdict.changes == ("tile 96x128x32, not 100x128x32",)
