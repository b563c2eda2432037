"""What the picture of a proof calls events, and who waits for whom there, however they are written."""

from __future__ import annotations

import pytest
from kernel_text import assembly, initialised, picture_of, wait

from cutecc.report.skeleton import Edge, Skeleton


def labels(picture: Skeleton) -> list[list[tuple[str, str]]]:
    """Of each lane."""
    return [[(each.kind, each.text) for each in lane.events] for lane in picture.lanes]


@pytest.mark.parametrize(
    ("arrives", "waits"),
    [
        ("nvvm.barrier.arrive id = %c1 number_of_threads = %c64", "nvvm.barrier id = %c1 number_of_threads = %c64"),
        ("nvvm.barrier.cta.arrive %c1, %c64 : i32, i32", "nvvm.barrier.cta.sync %c1, %c64 : i32, i32"),
        (assembly("bar.arrive 1, 64;"), assembly("bar.sync 1, 64;")),
        (assembly("barrier.cta.arrive $0, $1;", "%c1", "%c64"), assembly("barrier.sync $0, 64;", "%c1")),
    ],
)
def test_a_barrier_is_one_however_it_is_written(arrives: str, waits: str) -> None:
    picture = picture_of(f"    scf.if %is_warp0 {{ {arrives} }} else {{ {waits} }}")
    assert labels(picture) == [[("arrive", "arrive barrier 1")], [("barrier", "barrier 1")]]
    assert picture.edges == [Edge((1, 0), (0, 0), None)]


@pytest.mark.parametrize("barrier", ["nvvm.barrier", assembly("bar.sync 0;")])
def test_who_meets_at_a_barrier_waits_for_each_other(barrier: str) -> None:
    stores = "llvm.store %c1, %tile : i32, !llvm.ptr<3>"
    loads = "%found = llvm.load %word : !llvm.ptr<3> -> i32"
    picture = picture_of(f"    scf.if %is_warp0 {{ {stores} }} else {{ {loads} }}\n    {barrier}")
    assert labels(picture) == [[(each, each), ("barrier", "barrier 0")] for each in ("write", "read")]
    assert {(each.start, each.to) for each in picture.edges} == {((0, 1), (1, 1)), ((1, 1), (0, 1))}


def test_bulk_copies_fill_mbarriers_as_tensor_copies_do() -> None:
    copy = """
      scf.if %is_first {
        nvvm.mbarrier.arrive.expect_tx %bar0, %c128 : !llvm.ptr<3>, i32
        %remote = llvm.addrspacecast %tile : !llvm.ptr<3> to !llvm.ptr<7>
        nvvm.cp.async.bulk.shared.cluster.global %remote, %x, %bar0, %c128 : !llvm.ptr<7>, <1>
      }
"""
    picture = picture_of(f"{initialised(1)}{copy}    {wait(0)}")
    words = [text for lane in labels(picture) for _, text in lane]
    assert "copy → full" in words and "wait full" in words


def test_a_bulk_store_goes_out() -> None:
    store = """
      scf.if %is_first {
        nvvm.cp.async.bulk.global.shared.cta %x, %tile, %c128 : !llvm.ptr<1>, <3>
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0
      }
"""
    assert labels(picture_of(store))[0][0] == ("copy", "copy out")
