"""Inline assembly: barriers are what they are elsewhere, what is not modelled is not known, the rest is silent."""

from __future__ import annotations

import pytest
from kernel_text import assembly, initialised, kinds, proof_of, wait

WRITES = "    scf.if %is_warp0 { llvm.store %c1, %tile : i32, !llvm.ptr<3> }\n"
READS = "    scf.if %is_warp1 { %held = llvm.load %tile : !llvm.ptr<3> -> i32 }\n"


@pytest.mark.parametrize(
    "barrier",
    (
        assembly("bar.sync 0;"),
        assembly("bar.sync 1, 64;"),
        assembly("barrier.cta.sync $0, $1;", "%c1", "%c64"),
        assembly("barrier.sync.aligned $0;", "%c2"),
    ),
)
def test_a_barrier(barrier: str) -> None:
    assert kinds(proof_of(WRITES + READS)) == {"race"}
    assert proof_of(WRITES + barrier + READS).answer == "proved"


def test_of_more_threads_than_come() -> None:
    proof = proof_of(assembly("barrier.cta.sync $0, $1;", "%c1", "%c128"))
    assert kinds(proof) == {"deadlock"}
    assert {each.text for each in proof.problems} == {"warp 0 waits for ever: barrier.cta.sync of too few"}


def test_who_arrives_goes_on() -> None:
    arrives = f"    scf.if %is_warp0 {{ {assembly('barrier.cta.arrive $0, $1;', '%c1', '%c64')} }}\n"
    waits = f"    scf.if %is_warp1 {{ {assembly('barrier.cta.sync $0, $1;', '%c1', '%c64')} }}\n"
    assert proof_of(WRITES + arrives + waits + READS).answer == "proved"


@pytest.mark.parametrize(
    "text",
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$0];",
        "@p red.relaxed.shared::cta.min.u32 [$0], $1;",
        "ld.shared.b32 $0, [$1];",
        "mbarrier.arrive.shared::cta.b64 _, [$0];",
        "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;",
        "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], 16;",
        "barrier.cta.red.popc.u32 $0, $1, p;",
        "exit;",
    ),
)
def test_what_is_not_modelled(text: str) -> None:
    proof = proof_of(assembly(text, "%c1", "%c64"))
    assert (proof.answer, proof.reason) == ("cannot tell", "what the assembly does is not modelled")


@pytest.mark.parametrize("text", ("st.global.b32 [$0], $1;", "mapa.shared::cluster.u32 $0, $1, 0;"))
def test_what_does_nothing_to_shared_memory(text: str) -> None:
    assert proof_of(assembly(text, "%c1", "%c64")).answer == "proved"


def ptx(text: str, *operands: str, when: str = "") -> str:
    """The same as the other operation that holds assembly."""
    given = f" ro ({', '.join(operands)} : {', '.join('i32' for _ in operands)})" if operands else ""
    return f'    nvvm.inline_ptx "{text}"{given}{f", predicate = {when}" if when else ""}\n'


@pytest.mark.parametrize("barrier", (ptx("bar.sync 1, 64;"), ptx("barrier.cta.sync {$r1}, {$r0};", "%c64", "%c1")))
def test_a_barrier_of_inline_ptx(barrier: str) -> None:
    assert proof_of(WRITES + barrier + READS).answer == "proved"


def test_inline_ptx_that_is_not_modelled() -> None:
    """Bytes that come by it are not missing: what it does is not known."""
    text = "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [{$r0}], {$r1}, [{$r2}];"
    announced = "scf.if %is_first { nvvm.mbarrier.arrive.expect_tx %bar0, %c4 : !llvm.ptr<3>, i32 -> i64 }\n"
    sent = f"    scf.if %is_first {{ {ptx(text, '%c1', '%c64', '%c1')} }}\n    {wait(0)}\n"
    for body in (initialised(1) + announced + sent, ptx("bar.sync 1, 64;", when="%flag")):
        proof = proof_of(body)
        assert (proof.answer, proof.reason) == ("cannot tell", "what the assembly does is not modelled")
    assert proof_of(ptx("st.global.b32 [{$r0}], {$r1};", "%c1", "%c64")).answer == "proved"
