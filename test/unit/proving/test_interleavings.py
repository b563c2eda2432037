"""What the prover says of small programs agrees with all of their interleavings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interleavings import Operation, Program, explore

from cutecc.ir.modules import fresh_context, parse
from cutecc.proving.kernel import Atoms, read_kernels
from cutecc.proving.proof import Proof, prove
from cutecc.proving.skeleton import skeleton_of
from cutecc.proving.warps import program_of


def proof_of(program: Program) -> Proof:
    with fresh_context():
        module = parse(program.text().encode())
        (kernel,) = read_kernels(module, Atoms({}))
        return prove(program_of(skeleton_of(kernel)))


def pipeline(stages: int, tiles: int, *, lag: int = 0, first: int = 1) -> Program:
    """A producer that fills stages and a consumer that reads them."""
    producer: list[Operation] = []
    consumer: list[Operation] = []
    for tile in range(tiles):
        stage, turn = tile % stages, tile // stages
        producer += [
            ("wait", stages + stage, (first + turn) % 2),
            ("write", stage, 0),
            ("arrive", stage, 0),
        ]
        consumer += [("wait", stage, turn % 2), ("read", stage, 0)]
        released = tile - lag
        if released >= 0:
            consumer.append(("arrive", stages + released % stages, 0))
    return Program((tuple(producer), tuple(consumer)), (1,) * 2 * stages)


@pytest.mark.parametrize("stages", (1, 2, 3))
@pytest.mark.parametrize("tiles", (1, 2, 4, 7))
def test_a_pipeline_is_proved(stages: int, tiles: int) -> None:
    program = pipeline(stages, tiles)
    assert explore(program).is_right
    assert proof_of(program).answer == "proved"


def test_a_producer_that_does_not_wait_for_room_races() -> None:
    program = pipeline(2, 4, first=0)
    assert not explore(program).is_right
    assert proof_of(program).answer == "suspicious"


def test_who_may_be_lapped_is_told() -> None:
    # The second warp may look only when two phases are complete, and waits for ever: one order of several.
    program = Program(((("arrive", 0, 0), ("arrive", 0, 0)), (("wait", 0, 0),)), (1,))
    assert explore(program).deadlocks
    assert "phase" in {problem.kind for problem in proof_of(program).problems}


@st.composite
def changed_pipelines(draw: st.DrawFn) -> Program:
    """A pipeline with an operation that is left out, said twice, swapped with the next, or of another barrier."""
    program = pipeline(draw(st.integers(1, 2)), draw(st.integers(1, 4)))
    warps = [list(warp) for warp in program.warps]
    for _ in range(draw(st.integers(0, 2))):
        warp = draw(st.sampled_from([warp for warp in warps if warp]))
        at = draw(st.integers(0, len(warp) - 1))
        match draw(st.sampled_from(("drop", "repeat", "swap", "other"))):
            case "drop":
                del warp[at]
            case "repeat":
                warp.insert(at, warp[at])
            case "swap":
                warp[at : at + 2] = warp[at : at + 2][::-1]
            case _:
                kind, number, parity = warp[at]
                most = len(program.counts) if kind in ("arrive", "wait") else len(program.counts) // 2
                warp[at] = kind, (number + 1) % most, parity
    return Program(tuple(tuple(warp) for warp in warps), program.counts)


@settings(max_examples=200, deadline=None)
@given(changed_pipelines())
def test_a_changed_pipeline_is_proved_only_if_every_interleaving_is_right(program: Program) -> None:
    if proof_of(program).answer == "proved":
        assert explore(program).is_right


_OPERATIONS = st.one_of(
    st.tuples(st.just("arrive"), st.integers(0, 1), st.just(0)),
    st.tuples(st.just("wait"), st.integers(0, 1), st.integers(0, 1)),
    st.tuples(st.sampled_from(("read", "write")), st.integers(0, 1), st.just(0)),
    st.just(("sync", 0, 0)),
)
_PROGRAMS = st.builds(
    Program,
    st.lists(st.lists(_OPERATIONS, max_size=6).map(tuple), min_size=2, max_size=3).map(tuple),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
)


@settings(max_examples=300, deadline=None)
@given(_PROGRAMS)
def test_what_is_proved_is_right_in_every_interleaving(program: Program) -> None:
    if proof_of(program).answer == "proved":
        assert explore(program).is_right
