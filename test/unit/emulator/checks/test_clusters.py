"""What orders the blocks of a cluster: its barrier with and without fences, mbarriers that others arrive at."""

from __future__ import annotations

import checked_kernels as kernels
import pytest

PEER = "mov.u32 %r10, %cluster_ctarank; xor.b32 %r10, %r10, 1; mapa.shared::cluster.u32 %r11, TARGET, %r10;"
WAIT = "{ .reg .pred q; AGAIN: mbarrier.try_wait.parity.shared.b64 q, [%r7], 0; @!q bra AGAIN; }"
BARRIER = "barrier.cluster.arrive{}; barrier.cluster.wait;"
ARRIVE = PEER.replace("TARGET", "%r7") + "mbarrier.arrive.shared::cluster.b64 _, [%r11];"


@pytest.mark.parametrize(
    ("fence", "order", "found"),
    [
        ("fence.mbarrier_init.release.cluster;", ".relaxed", []),
        ("fence.acq_rel.cluster;", ".relaxed", []),
        ("", ".release", []),
        ("", ".relaxed", [("mbarrier", "mbarrier", ""), ("race", "mbarrier", "mbarrier")]),
    ],
)
def test_initialised_mbarriers(fence: str, order: str, found: list[tuple[str, str, str]]) -> None:
    """Another thread than the one that has initialised the mbarrier uses it, here and in the other block."""
    start = f"setp.eq.u32 %p3, %r1, 1; @%p3 mbarrier.init.shared.b64 [%r7], 64; {fence} {BARRIER.format(order)}"
    assert kernels.kinds(start + ARRIVE + WAIT, blocks=2, cluster=2) == found


@pytest.mark.parametrize(
    ("fence", "found"),
    [("fence.mbarrier_init.release.cluster;", [("race", "ld", "st")]), ("fence.acq_rel.cluster;", [])],
)
def test_what_a_fence_of_mbarriers_orders(fence: str, found: list[tuple[str, str, str]]) -> None:
    """Nothing but their initialisation: not the data that comes before an arrival without release."""
    body = "st.shared.b32 [%r5], %r1;" + fence + BARRIER.format(".relaxed") + PEER.replace("TARGET", "%r5")
    body += "ld.shared::cluster.b32 %r8, [%r11]; @%p2 st.global.b32 [%rd3], %r8;" + BARRIER.format("")
    assert kernels.kinds(body, blocks=2, cluster=2) == found


@pytest.mark.parametrize(("wait", "found"), [(WAIT, []), ("", [("race", "mbarrier", "")])])
def test_arrival_before_the_block_exits(wait: str, found: list[tuple[str, str, str]]) -> None:
    """A block that has waited for the arrivals of others may end, and its mbarrier with it."""
    start = "@%p1 mbarrier.init.shared.b64 [%r7], 64;" + BARRIER.format("")
    assert kernels.kinds(start + ARRIVE + wait, blocks=2, cluster=2) == found


@pytest.mark.parametrize(("between", "blocks"), [(BARRIER.format(""), []), ("", [0, 1, 2, 3])])
def test_everyone_reads_the_next_block(between: str, blocks: list[int]) -> None:
    """And overwrites its own memory, which the block before may still be reading."""
    body = f"""
      st.shared.b32 [%r5], %r1; {BARRIER.format("")}
      mov.u32 %r10, %cluster_ctarank; add.u32 %r10, %r10, 1; and.b32 %r10, %r10, 3;
      mapa.shared::cluster.u32 %r11, %r5, %r10;
      ld.shared::cluster.b32 %r8, [%r11]; {between} st.shared.b32 [%r5], %r8; {BARRIER.format("")}
    """
    (found,) = kernels.findings(body, blocks=4, cluster=4) or [None]
    if not blocks:
        assert found is None
        return
    assert found is not None and found.kind == "race" and found.other is not None
    assert (found.count, found.place.text.split(".")[0]) == (256, "st")
    assert found.other.block[0] == (found.place.block[0] - 1) % 4
