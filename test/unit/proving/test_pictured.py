"""What a proof's picture shows of the example: who does what in one period, and what completes what they wait for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutecc.cli.inputs import KernelFile, choose
from cutecc.compilation.from_file import trace_apart
from cutecc.config import Settings
from cutecc.proving.modules import prove_apart
from cutecc.proving.proof import Proof
from cutecc.report.skeleton import Lane, Skeleton

ROOT = Path(__file__).resolve().parents[3]
STAGES = 4


def proof_of(file: str | Path) -> Proof:
    chosen = choose(str(ROOT / file), (), None, "sm_90a", Settings.from_environment())
    assert isinstance(chosen, KernelFile)
    traced = trace_apart(replace(chosen.request, target="sm_90a", locations=True))
    # What is shown does not depend on how long there is to prove it.
    (proof,) = prove_apart(traced.bytecode, "sm_90a", 0.0)
    return proof


@pytest.fixture(scope="module")
def gemm() -> Skeleton:
    (skeleton,) = proof_of("examples/gemm.py").skeleton
    return skeleton


def lane(skeleton: Skeleton, role: str) -> tuple[int, Lane]:
    ((index, found),) = [(index, each) for index, each in enumerate(skeleton.lanes) if each.role == role]
    return index, found


def test_lanes_are_roles(gemm: Skeleton) -> None:
    assert [each.title for each in gemm.lanes] == ["warps 0-7 consumers", "warp 8 producer"]
    assert gemm.others == ["warps 9-11: have ended"]


def test_a_period_is_twice_through_all_slots(gemm: Skeleton) -> None:
    """Parities come again after two rounds."""
    assert gemm.is_period
    assert gemm.title == f"one period: {2 * STAGES} steps of the loop, from step 9 on"
    for role, barrier in (("consumer", "full"), ("producer", "empty")):
        waits = [each for each in lane(gemm, role)[1].events if each.kind == "wait"]
        assert len(waits) == 2 * STAGES
        assert {each.barrier for each in waits} == {f"{barrier}[{slot}]" for slot in range(STAGES)}
        assert all(each.line for each in waits)


def test_a_step_of_the_consumers(gemm: Skeleton) -> None:
    _, consumers = lane(gemm, "consumer")
    kinds = [(each.kind, each.times) for each in consumers.events]
    step = [("wait", 1), ("product", 4), ("commit", 1), ("group wait", 1), ("arrive", 1)]
    assert kinds == step * 2 * STAGES


def test_copies_complete_what_consumers_wait_for(gemm: Skeleton) -> None:
    (at, consumers), (other, producer) = lane(gemm, "consumer"), lane(gemm, "producer")
    edges = [each for each in gemm.edges if each.to[0] == at]
    assert len(edges) == 2 * STAGES
    for edge in edges:
        assert edge.start is not None
        assert edge.start[0] == other
        copy, wait = producer.events[edge.start[1]], consumers.events[edge.to[1]]
        assert (copy.kind, copy.barrier, copy.phase) == ("copy", wait.barrier, wait.phase)


def test_consumers_arrivals_complete_what_the_producer_waits_for(gemm: Skeleton) -> None:
    (other, consumers), (at, producer) = lane(gemm, "consumer"), lane(gemm, "producer")
    edges = [each for each in gemm.edges if each.to[0] == at]
    assert len(edges) == 2 * STAGES
    inside = [each for each in edges if each.start is not None]
    assert len(inside) == STAGES + 1
    for edge in inside:
        assert edge.start is not None
        arrival, wait = consumers.events[edge.start[1]], producer.events[edge.to[1]]
        assert (arrival.kind, arrival.barrier, arrival.phase) == ("arrive", wait.barrier, wait.phase)
    assert {each.lane for each in edges if each.start is None} == {other}


def test_a_loop_over_tiles_is_shown_with_short_tiles() -> None:
    """One period of the inner loop, and who takes which tile."""
    period, tiles = proof_of("test/kernels/gemm_pingpong.py").skeleton
    assert period.is_period
    assert not tiles.is_period
    assert tiles.title == "3 tiles of 1 step each"
    assert len([each for each in tiles.lanes if each.role == "consumer"]) == 2
    assert {each.kind for lane in tiles.lanes for each in lane.events} >= {"initialise", "barrier", "write", "product"}


def test_blocks_of_a_cluster_have_lanes_of_their_own() -> None:
    period, _ = proof_of("test/kernels/gemm_cooperative.py").skeleton
    assert [each.title for each in period.lanes] == [
        "block 0: warps 0-7 consumers",
        "block 0: warp 8 producer",
        "block 1: warps 0-7 consumers",
        "block 1: warp 8 producer",
    ]
    arrivals = {each.barrier for each in period.lanes[0].events if each.kind == "arrive"}
    assert arrivals == {f"empty[{slot}] in all blocks" for slot in range(STAGES)}


def test_a_run_that_comes_to_no_end_is_shown_up_to_there(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "gemm.py").read_text()
    wrong = text.replace("mbarrier_arrive(empty + previous)", "mbarrier_arrive(empty + stage)")
    assert wrong != text
    (tmp_path / "gemm.py").write_text(wrong)
    (skeleton,) = proof_of(tmp_path / "gemm.py").skeleton
    assert skeleton.title == "up to where nobody goes on"
    line = 1 + text[: text.index("mbarrier_wait(full + stage")].count("\n")
    assert f"warps 0-7: wait for ever at line {line}" in skeleton.others
