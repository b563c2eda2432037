"""Pictures of a warp's request draw what is counted, and a proposed swizzle takes what is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import memory_table
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.ir import modules
from cutecc.ir.casters import plain_values
from cutecc.layout import Layout
from cutecc.layout.expressions import evaluate_expression
from cutecc.memory_rules.banks import count_wavefronts, serve
from cutecc.memory_rules.sectors import count_sectors
from cutecc.passes.analysis.bank_conflicts import CheckBankConflicts
from cutecc.passes.analysis.coalescing import CheckCoalescing
from cutecc.passes.analysis.request_pictures import layout_of, picture_of
from cutecc.passes.analysis.requests import NOBODY, AccessRequests, KernelRequests, Requests
from cutecc.passes.analysis.shared_rows import KeptRows, SharedRows
from cutecc.passes.analysis.swizzles import proposals
from cutecc.passes.diagnostics import hearing_remarks
from cutecc.record import Remark
from cutecc.support.isolation import Worker

KERNELS = Path(__file__).with_name("kernels")
WIDTHS = st.sampled_from([1, 2, 4, 8, 16])


@settings(max_examples=150, deadline=None)
@given(data=st.data(), size=WIDTHS, atomic=st.booleans(), merge=st.booleans())
def test_as_many_turns_are_drawn_as_wavefronts_are_counted(
    data: st.DataObject, size: int, atomic: bool, merge: bool
) -> None:
    room = data.draw(st.sampled_from([4, 32, 1024]))
    places = np.array(data.draw(st.lists(st.integers(0, room), min_size=32, max_size=32)))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=32, max_size=32)))
    mask[data.draw(st.integers(0, 31))] = True
    addresses = np.where(mask, places * size, NOBODY)
    turns, before = serve(addresses, mask, size, atomic=atomic, merge=merge)
    _, taken, ideal = count_wavefronts(addresses[None], mask[None], size, atomic=atomic, merge=merge)
    assert {*turns} - {-1} == {*range(taken)}
    assert [each >= 0 for each in turns] == [each >= 0 for each in before] == mask.tolist()
    assert (max(before) > 0) == (taken > ideal)


@settings(max_examples=100, deadline=None)
@given(places=st.lists(st.integers(-1, 200), min_size=32, max_size=32).filter(lambda each: max(each) >= 0), size=WIDTHS)
def test_as_many_sectors_are_drawn_as_are_counted(places: list[int], size: int) -> None:
    addresses = np.where(np.array(places) >= 0, np.array(places) * size, NOBODY)
    _, taken, ideal = count_sectors(addresses[None], addresses[None] >= 0, size)
    access = AccessRequests(None, "load", size, spaces={"global": Requests(1, taken, ideal, taken, addresses)})  # pyright: ignore[reportArgumentType]
    picture = picture_of(access, "global", None)
    assert picture is not None and picture.request.taken == taken


def access_of(rows: np.ndarray, size: int) -> AccessRequests:
    """Loads of shared memory by whole warps."""
    taken = [count_wavefronts(row[None], row[None] >= 0, size)[1:] for row in rows]
    worst = int(np.argmax([count for count, _ in taken]))
    sums = Requests(
        len(rows), sum(count for count, _ in taken), sum(ideal for _, ideal in taken), taken[worst][0], rows[worst]
    )
    shared = SharedRows(rows, np.ones(len(rows), np.int64))
    return AccessRequests(None, "load", size, element=size, rows=shared, spaces={"shared": sums})  # pyright: ignore[reportArgumentType]


@settings(max_examples=30, deadline=None)
@given(
    size=st.sampled_from([2, 4, 8, 16]),
    row=st.sampled_from([16, 32, 64]),
    pitch=st.sampled_from([0, 0, 1, 2, 16]),
    columns=st.booleans(),
)
def test_a_proposed_swizzle_takes_what_is_told(size: int, row: int, pitch: int, columns: bool) -> None:
    """A tile of 32 rows of which warps read columns, or all of whose rows they write, too."""
    tile = Layout((32, row), (row + pitch, 1))
    size_of_tile, room = 32 * row, 31 * (row + pitch) + row
    elements = np.array([[tile((thread, column)) for thread in range(32)] for column in range(row)])
    reading = access_of(elements * size + 1024, size)
    across = np.array([[tile((number, thread % row)) for thread in range(32)] for number in range(32)])
    accesses = [reading, access_of(across * size + 1024, size)] if columns else [reading]
    found = proposals(KernelRequests(None, accesses, []))  # pyright: ignore[reportArgumentType]
    before = sum(each.spaces["shared"].taken for each in accesses)
    for access in accesses:
        if (proposal := found.get(id(access))) is None or access.rows is None:
            continue
        # As CuTe composes it.
        swizzled = evaluate_expression(f"{proposal.swizzle} o 0 o {tile}")
        offsets = {tile(index): swizzled(index) for index in range(size_of_tile)}
        moved = [[offsets[int(each)] * size for each in (row - 1024) // size] for row in access.rows.addresses]
        counts = [count_wavefronts(np.array([each]), np.ones((1, 32), np.bool_), size)[1] for each in moved]
        assert proposal.each([access]) == sum(counts) / len(counts)
        assert max(offsets.values()) < room
        picture = picture_of(access, "shared", proposal)
        assert picture is not None and picture.swizzled is not None and picture.unit == size
        worst = [
            moved[number]
            for number, each in enumerate(access.rows.addresses)
            if (each - 1024).tolist() == picture.request.offsets
        ]
        assert picture.swizzled.offsets in worst
        assert picture.swizzled.taken == counts[moved.index(picture.swizzled.offsets)]
    if found:
        total = sum(found[id(each)].each([each]) * each.spaces["shared"].requests for each in accesses)
        assert total < before


@pytest.mark.parametrize(
    ("offsets", "unit", "layout"),
    [
        (range(0, 32 * 128, 128), 4, "32:32"),
        ([i % 8 * 64 + i // 8 * 16 for i in range(32)], 2, "(8,4):(32,8)"),
        ([64] * 32, 4, "32:0"),
        ([64, *[-1] * 31], 4, "1:0"),
        ([*range(0, 32, 4), *[-1] * 24], 4, "8:1"),
        (range(0, 32 * 6, 6), 4, None),
        ([-1, *range(31)], 1, None),
        ([i ^ (i >> 1) for i in range(32)], 1, None),
    ],
)
def test_threads_on_a_layout(offsets: list[int], unit: int, layout: str | None) -> None:
    assert layout_of(np.array(offsets), unit) == layout


def test_requests_that_are_too_many_are_not_kept() -> None:
    kept = KeptRows(_room=1000)
    kept.add(1, np.zeros((2, 32), np.int64))
    kept.add(1, np.zeros((2, 32), np.int64))
    found = kept.of(1)
    assert found is not None and found.addresses.shape == (1, 32) and found.counts.tolist() == [4]
    kept.add(2, np.zeros((4, 32), np.int64))
    assert kept.of(1) is None and kept.of(2) is None


@pytest.fixture(scope="module")
def tracer() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize("name", ["transpose_naive", "swizzled_vectors"])
def test_the_emulator_counts_what_is_drawn(name: str, tracer: Worker, tmp_path: Path) -> None:
    """A kernel with known conflicts, and the same one with the swizzle that is proposed."""
    text = (KERNELS / f"{name}.py").read_text()
    remarks = [each for each in remarks_of(KERNELS / f"{name}.py", tracer) if each.picture and each.picture.swizzle]
    file = tmp_path / f"{name}.py"
    (swizzle,) = {str(each.numbers["swizzle"]) for each in remarks}
    numbers = swizzle.strip("S<>")
    composed = f"x.element_type, cute.make_composed_layout(cute.make_swizzle({numbers}), 0, rows),"
    file.write_text(text.replace("x.element_type, rows,", composed))
    before, after = memory_table.compare(KERNELS / f"{name}.py", tracer), memory_table.compare(file, tracer)
    for remark in remarks:
        assert remark.location is not None and remark.picture is not None and remark.picture.swizzled is not None
        line = int(remark.location.split(":")[-2])
        plain, swizzled = before.emulated[line], after.emulated[line]
        assert remark.picture.request.taken == remark.numbers["most wavefronts of a request"]
        # Of these kernels all requests of a line are alike, but where the edge turns off some of the warp.
        assert remark.picture.swizzled.taken == remark.numbers["wavefronts a request with it"]
        assert swizzled.wavefronts == remark.picture.swizzled.taken * swizzled.shared_requests
        if name == "swizzled_vectors":
            assert plain.wavefronts == remark.picture.request.taken * plain.shared_requests
        assert plain.wavefronts > 4 * swizzled.wavefronts


def remarks_of(file: Path, tracer: Worker) -> list[Remark]:
    from cutecc.frontend.header import read_header
    from cutecc.frontend.traced import TraceRequest

    header = read_header(file)
    module = memory_table.lowered(tracer, TraceRequest(str(file), None, header.entry, header.args, target="sm_80"))[1]
    found: list[Remark] = []
    with modules.fresh_context() as context, plain_values(), hearing_remarks(found.append, context):
        parsed = modules.parse(module)
        CheckCoalescing().run(parsed)
        CheckBankConflicts().run(parsed)
    return found


def test_sectors_are_drawn_as_remarked(tracer: Worker) -> None:
    for remark in remarks_of(KERNELS / "strided_rows.py", tracer):
        assert remark.picture is not None and remark.picture.swizzle is None
        assert remark.picture.request.taken == remark.numbers["most sectors of a request"]
