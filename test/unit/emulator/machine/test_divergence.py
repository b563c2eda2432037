"""Threads part and meet again."""

from __future__ import annotations

import re

import numpy as np
import pytest
from small_kernels import PROLOGUE, run

from cutecc.errors import DeadlockError, EmulatorError

SCHEDULES = [("round-robin", 0), ("random", 1), ("random", 2), ("adversarial", 1), ("adversarial", 2)]

IF_ELSE = (
    PROLOGUE
    + """
  and.b32 %r5, %r1, 3;
  setp.eq.u32 %p1, %r5, 0;
  @%p1 bra THEN;
  mov.u32 %r6, 100;
  bra JOIN;
THEN:
  mov.u32 %r6, 200;
JOIN:
  shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1;
  add.u32 %r8, %r7, %r4;
  st.global.u32 [%rd3], %r8;
"""
)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_both_sides_of_a_branch_are_taken_and_threads_meet_behind_it(schedule: str, seed: int) -> None:
    out = np.zeros(192, np.uint32)
    run(IF_ELSE, out, grid=(2, 1, 1), block=(96, 1, 1), schedule=schedule, seed=seed)
    threads = np.arange(192)
    expected = np.where((threads ^ 1) % 96 % 4 == 0, 200, 100) + threads
    assert np.array_equal(out, expected)


def test_behind_a_branch_threads_go_on_together() -> None:
    body = IF_ELSE.replace("  shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1;\n", "  xor.b32 %r7, %r6, 1;\n")
    found = run(body, np.zeros(192, np.uint32), grid=(2, 1, 1), block=(96, 1, 1), counters=True)
    assert found.counters is not None
    warps = {each.form: each.counts.warps for each in found.counters.instructions}
    assert (warps["xor.b32"], warps["st.global.u32"]) == (6, 6)


LOOP = (
    PROLOGUE
    + """
  mov.u32 %r5, 0;
  mov.u32 %r6, %r4;
LOOP:
  setp.eq.u32 %p1, %r6, 0;
  @%p1 bra DONE;
  add.u32 %r5, %r5, %r6;
  sub.u32 %r6, %r6, 1;
  bra LOOP;
DONE:
  st.global.u32 [%rd3], %r5;
"""
)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_each_thread_goes_round_its_own_number_of_times(schedule: str, seed: int) -> None:
    out = np.zeros(70, np.uint32)
    run(LOOP, out, block=(35, 1, 1), grid=(2, 1, 1), schedule=schedule, seed=seed)
    threads = np.arange(70)
    assert np.array_equal(out, threads * (threads + 1) // 2)


def test_a_shuffle_waits_for_threads_that_took_a_longer_way() -> None:
    body = (
        PROLOGUE
        + """
  setp.lt.u32 %p1, %r1, 5;
  mov.u32 %r6, 1;
  @%p1 bra COLLECT;
  mov.u32 %r6, 2;
  mov.u32 %r9, 3;
LONG:
  sub.u32 %r9, %r9, 1;
  setp.ne.u32 %p2, %r9, 0;
  @%p2 bra LONG;
COLLECT:
  shfl.sync.idx.b32 %r7, %r6, 31, 31, -1;
  st.global.u32 [%rd3], %r7;
"""
    )
    out = np.zeros(32, np.uint32)
    run(body, out)
    assert (out == 2).all()


def test_a_shuffle_for_threads_that_are_elsewhere_is_a_deadlock() -> None:
    body = (
        PROLOGUE
        + """
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra HALF;
  bar.sync 0;
  ret;
HALF:
  shfl.sync.idx.b32 %r7, %r1, 0, 31, -1;
  st.global.u32 [%rd3], %r7;
"""
    )
    with pytest.raises(DeadlockError) as caught:
        run(body, np.zeros(64, np.uint32), block=(64, 1, 1))
    text = "\n".join([caught.value.message, *caught.value.notes])
    assert "warp 0 of block (0, 0, 0), 16 threads from lane 0 on, waits at PTX line" in text
    assert "barrier 0" in text


CALLS = """
.func (.param .b32 result) square_and_add(.param .b32 x, .param .align 8 .b8 pair[16])
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<3>;
  .reg .pred %p;
  ld.param.b32 %r1, [x];
  ld.param.b64 %rd1, [pair+8];
  cvt.u32.u64 %r2, %rd1;
  setp.gt.u32 %p, %r1, 20;
  @%p bra BIG;
  mad.lo.s32 %r3, %r1, %r1, %r2;
  st.param.b32 [result], %r3;
  ret;
BIG:
  st.param.b32 [result], %r2;
  ret;
}
"""


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_functions_are_called_with_parameters_and_return_results(schedule: str, seed: int) -> None:
    body = (
        PROLOGUE
        + """
  {
  .param .b32 argument;
  .param .align 8 .b8 two[16];
  .param .b32 returned;
  mov.b64 %rd5, 7;
  st.param.b32 [argument], %r1;
  st.param.b64 [two], %rd1;
  st.param.b64 [two+8], %rd5;
  call.uni (returned), square_and_add, (argument, two);
  ld.param.b32 %r9, [returned];
  }
  st.global.u32 [%rd3], %r9;
"""
    )
    out = np.zeros(32, np.uint32)
    run(body, out, module=CALLS, schedule=schedule, seed=seed)
    threads = np.arange(32)
    assert np.array_equal(out, np.where(threads > 20, 7, threads**2 + 7))


def test_a_function_that_calls_itself_without_end() -> None:
    module = ".func again()\n{\n  call.uni again;\n  ret;\n}\n"
    with pytest.raises(EmulatorError, match="1,000 calls inside of one another"):
        run(PROLOGUE + "  call.uni again;\n", np.zeros(32, np.uint32), module=module)


INDEXED = (
    PROLOGUE
    + """
  rem.u32 %r5, %r1, COUNT;
  setp.ne.u32 %p1, %r1, 31;
  mov.u32 %r6, 13;
TARGETS: .branchtargets ZERO, ONE, TWO;
  @%p1 brx.idx %r5, TARGETS;
  bra END;
ZERO:
  mov.u32 %r6, 10;
  bra END;
ONE:
  mov.u32 %r6, 11;
  bra END;
TWO:
  mov.u32 %r6, 12;
END:
  bar.sync 0;
  st.global.u32 [%rd3], %r6;
"""
)


def test_a_fault_names_the_thread_of_a_block_with_three_dimensions() -> None:
    body = (
        PROLOGUE
        + """
  mov.u32 %r5, %tid.y;
  mov.u32 %r6, %tid.z;
  mad.lo.u32 %r5, %r6, 10, %r5;
  mad.lo.u32 %r5, %r5, 10, %r1;
  setp.eq.u32 %p1, %r5, 112;
  @%p1 st.global.u32 [%rd1+1024], 1;
"""
    )
    with pytest.raises(EmulatorError, match=r"block \(0, 0, 0\), thread \(2, 1, 1\): "):
        run(body, np.zeros(32, np.uint32), block=(4, 3, 2))


def test_a_function_of_the_runtime_returns_its_result() -> None:
    module = """
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[6] = {37, 100, 37, 100, 10, 0};
"""
    body = (
        PROLOGUE
        + """
  .local .align 4 .b8 numbers[8];
  {
  .param .b64 format;
  .param .b64 values;
  .param .b32 result;
  mov.u64 %rd5, text;
  cvta.global.u64 %rd5, %rd5;
  mov.u64 %rd6, numbers;
  st.local.u32 [%rd6], 4;
  st.local.u32 [%rd6+4], 5;
  cvta.local.u64 %rd6, %rd6;
  st.param.b64 [format], %rd5;
  st.param.b64 [values], %rd6;
  call.uni (result), vprintf, (format, values);
  ld.param.b32 %r9, [result];
  }
  st.global.u32 [%rd3], %r9;
"""
    )
    out = np.zeros(32, np.uint32)
    run(body, out, module=module)
    assert (out == 2).all(), "arguments printed"


def test_an_indexed_branch_goes_to_the_target_of_its_number() -> None:
    out = np.zeros(32, np.uint32)
    run(INDEXED.replace("COUNT", "3"), out)
    assert out.tolist() == [*(10 + thread % 3 for thread in range(31)), 13]


def test_an_indexed_branch_to_a_target_that_there_is_not_is_a_fault() -> None:
    body, out = INDEXED.replace("COUNT", "5"), np.zeros(32, np.uint32)
    with pytest.raises(EmulatorError) as caught:
        run(body, out)
    message = r"block \(0, 0, 0\), thread \(3, 0, 0\) and 11 more threads: branches to number 3 of 3 targets"
    assert re.search(message, str(caught.value))
    assert any(re.search(r"PTX line \d+: .*brx\.idx %r5, TARGETS", note) for note in caught.value.notes)
    (finding,) = run(body, out, check=frozenset({"bounds"})).findings
    assert (finding.kind, finding.count) == ("out-of-bounds", 12)
    assert np.array_equal(out == 0, [thread % 5 > 2 and thread != 31 for thread in range(32)]), "these end"


def test_threads_that_have_exited_are_not_waited_for() -> None:
    body = (
        PROLOGUE
        + """
  setp.ge.u32 %p1, %r1, 40;
  @%p1 exit;
  bar.sync 0;
  st.global.u32 [%rd3], 1;
"""
    )
    out = np.zeros(96, np.uint32)
    run(body, out, block=(96, 1, 1))
    assert np.array_equal(out, (np.arange(96) < 40))


def test_an_instruction_that_is_not_modelled_is_named_where_it_is_executed() -> None:
    body = PROLOGUE + "  setp.eq.u32 %p1, %r1, 99;\n  @%p1 wmma.load.a.sync.aligned.row.m16n16k8.f16 %r5, [%rd1];\n"
    run(body, np.zeros(32, np.uint32))
    body = body.replace("99;", "3;")
    with pytest.raises(EmulatorError, match="does not model 'wmma") as caught:
        run(body, np.zeros(32, np.uint32))
    assert "PTX line" in "".join(caught.value.notes)


def test_warps_that_come_together_to_different_barriers_go_on_when_theirs_is_complete() -> None:
    """The first warp finds its barrier complete; the second one's is completed by what the first does next."""
    body = (
        PROLOGUE
        + """
  shr.u32 %r5, %r1, 5;
  add.u32 %r6, %r5, 1;
  sub.u32 %r7, 2, %r5;
  setp.ne.u32 %p1, %r5, 0;
  @%p1 bra READY;
  bar.arrive 1, 64;
READY:
  mov.u32 %r8, 3;
AGAIN:
  bar.sync %r6, 64;
  bar.arrive %r7, 64;
  sub.u32 %r8, %r8, 1;
  setp.ne.u32 %p2, %r8, 0;
  @%p2 bra AGAIN;
  st.global.u32 [%rd3], 1;
"""
    )
    out = np.zeros(64, np.uint32)
    run(body, out, block=(64, 1, 1))
    assert out.all()
