"""What is said of a race between blocks that have told each other something: why that does not order the two."""

from __future__ import annotations

import pytest
from checked_kernels import findings

BODY = """
  @!%p2 bra WAIT;
  st.global.b32 [%rd1+4], 1;
  TELL
  bra END;
WAIT:
  HEAR
  ld.global.b32 %r9, [%rd1+4];
END:
"""
POLL = "POLL: ld.SEM.global.b32 %r8, [%rd1]; setp.eq.u32 %p4, %r8, 0; @%p4 bra POLL;"


def told(tell: str, hear: str) -> list[str]:
    """What is told of races; block 0 tells the other one."""
    body = BODY.replace("TELL", tell).replace("HEAR", POLL.replace("SEM", hear)).replace("; ", ";\n")
    return [each.message.split("\n")[1] for each in findings(body, blocks=2, threads=1)]


@pytest.mark.parametrize(
    ("tell", "hear", "words"),
    [
        ("st.relaxed.gpu.global.b32 [%rd1], 1;", "acquire.gpu", ["writes it without a release"]),
        ("atom.relaxed.gpu.global.add.u32 %r9, [%rd1], 1;", "acquire.gpu", ["writes it without a release"]),
        ("st.volatile.global.b32 [%rd1], 1;", "acquire.gpu", ["a volatile store, which releases nothing"]),
        ("st.release.gpu.global.b32 [%rd1], 1;", "relaxed.gpu", ["reads it without an acquire"]),
        ("st.release.gpu.global.b32 [%rd1], 1;", "volatile", ["a volatile load, which acquires nothing"]),
        (
            "st.volatile.global.b32 [%rd1], 1;",
            "volatile",
            ["volatile store, which releases nothing", "volatile load, which acquires nothing"],
        ),
        ("membar.cta; st.relaxed.gpu.global.b32 [%rd1], 1;", "acquire.gpu", ["writes it without a release"]),
    ],
)
def test_a_flag_that_does_not_order(tell: str, hear: str, words: list[str]) -> None:
    (message,) = told(tell, hear)
    assert message.startswith("a0[0] tells the other block, but does not order the two: PTX line ")
    assert all(each in message for each in words)
    assert message.count("PTX line") == len(words)


@pytest.mark.parametrize(
    ("tell", "hear"),
    [
        ("st.release.gpu.global.b32 [%rd1], 1;", "acquire.gpu"),
        ("membar.gl; st.volatile.global.b32 [%rd1], 1;", "acquire.gpu"),
        ("atom.release.gpu.global.add.u32 %r9, [%rd1], 1;", "acquire.gpu"),
    ],
)
def test_a_flag_that_does(tell: str, hear: str) -> None:
    assert told(tell, hear) == []


ALONE = "@!%p2 bra OTHER; st.global.b32 [%rd1+4], 1; FENCE bra END; OTHER: ld.global.b32 %r9, [%rd1+4]; END:\n"


def test_a_fence_alone_orders_nothing() -> None:
    (found,) = findings(ALONE.replace("FENCE", "membar.gl;").replace("; ", ";\n"), blocks=2, threads=1)
    assert "the fence at PTX line" in found.message and "orders no blocks by itself" in found.message


def test_blocks_that_tell_each_other_nothing() -> None:
    (found,) = findings(ALONE.replace("FENCE ", "").replace("; ", ";\n"), blocks=2, threads=1)
    assert found.message.endswith("atomics with release and acquire; or give each memory of its own")
