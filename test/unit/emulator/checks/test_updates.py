"""Which races are told as updates that need atomics: by what flows from the load to the store, and who stores."""

from __future__ import annotations

import pytest
from checked_kernels import findings

ADDRESS = "and.b32 %r8, %r4, 28; add.u32 %r8, %r8, %r3;"
CLEAR = "st.shared.b32 [%r5], 0; bar.sync 0;"
UPDATES = "atomic_add"


def told(body: str, threads: int = 64) -> list[str]:
    """The messages of the races, without what is said of memory that nothing has written."""
    return [each.message for each in findings(body.replace(";", ";\n"), threads=threads) if each.kind == "race"]


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize(
    "update",
    [
        "ld.shared.b32 %r9, [%r8]; add.u32 %r9, %r9, 1; st.shared.b32 [%r8], %r9;",
        "ld.shared.b32 %r9, [%r8]; add.u32 %r10, %r9, %r1; mul.lo.u32 %r11, %r10, 3; st.shared.b32 [%r8], %r11;",
        "ld.shared.b32 %r9, [%r8]; setp.gt.u32 %p4, %r1, %r9; @%p4 st.shared.b32 [%r8], %r1;",
        "ld.shared.b32 %r9, [%r8]; setp.gt.u32 %p4, %r9, %r1; @%p4 bra OVER; st.shared.b32 [%r8], %r1; OVER:",
    ],
    ids=["counts", "computes", "guarded", "branches"],
)
def test_several_threads_that_read_and_write_back_are_one_finding(update: str, threads: int) -> None:
    (message,) = told(ADDRESS + CLEAR + update, threads)
    assert UPDATES in message


@pytest.mark.parametrize(
    "body",
    [
        "@%p1 st.shared.b32 [%r3], 7; ld.shared.b32 %r9, [%r3]; st.global.b32 [%rd3], %r9;",
        "ld.shared.b32 %r9, [%r3]; st.global.b32 [%rd3], %r9; @%p1 st.shared.b32 [%r3], 7;",
        # One thread reads and writes back, and the others read.
        "ld.shared.b32 %r9, [%r3]; add.u32 %r10, %r9, 1; @%p1 st.shared.b32 [%r3], %r10; st.global.b32 [%rd3], %r9;",
        # Thread 0's address register is another one's by the time of the store.
        "mov.u32 %r8, %r3; ld.shared.b32 %r9, [%r8]; mov.u32 %r8, %r6; st.shared.b32 [%r8], %r9;",
    ],
    ids=["published", "read before", "one thread updates", "moved"],
)
def test_what_one_thread_publishes_is_no_update(body: str) -> None:
    (message,) = told(CLEAR + body)
    assert UPDATES not in message
    assert message.endswith("sync_threads() belongs between the two")


def test_stores_that_collide_are_told_beside_a_read_of_them() -> None:
    """All warps publish, and read at once what they do: two races, of which none hides the other."""
    messages = told(CLEAR + "st.shared.b32 [%r3], %r1; ld.shared.b32 %r9, [%r3]; st.global.b32 [%rd3], %r9;")
    assert len(messages) == 2
    assert "have one thread alone write it" in messages[0]
    assert messages[1].endswith("sync_threads() belongs between the two")
