"""What is counted of whole kernels."""

from __future__ import annotations

import json
import pickle

import pytest
from counted import count, instruction

from cutecc.emulator.counters.counts import Counts
from cutecc.emulator.counters.ncu import METRICS, ncu_metrics

DIVERGENT = """
  setp.lt.u32 %p1, %r1, 40;
  .loc 1 7 3
  @%p1 add.s32 %r4, %r1, 1;
  @%p1 bra SOME;
  sub.s32 %r4, %r1, 1;
  bra END;
SOME:
  mul.lo.s32 %r4, %r1, 2;
END:
  xor.b32 %r4, %r4, 1;
"""


def test_executions_and_divergence() -> None:
    counters = count(DIVERGENT, blocks=3, threads=64)
    executed = {each.form: each.counts for each in counters.instructions}
    # Threads 0 to 39 of 64 take the branch: both warps, the second one in two parts.
    assert (executed["add.s32"].warps, executed["add.s32"].threads) == (6, 192)
    assert executed["add.s32"].predicated_threads == 3 * 40
    assert (executed["sub.s32"].warps, executed["sub.s32"].threads) == (3, 3 * 24)
    assert (executed["mul.lo.s32"].warps, executed["mul.lo.s32"].threads) == (6, 3 * 40)
    assert executed["xor.b32"].threads == 192
    assert executed["mul.lo.s32"].thread_efficiency == pytest.approx(40 / 64)


def test_incomplete_warps() -> None:
    counts = instruction(count("add.s32 %r4, %r1, 1;", threads=40), "add.s32").counts
    assert (counts.warps, counts.threads) == (2, 40)


def test_loops() -> None:
    counters = count("mov.u32 %r4, 0;\nLOOP:\n add.s32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r1; @%p1 bra LOOP;")
    counts = instruction(counters, "add.s32").counts
    assert (counts.warps, counts.threads) == (31, 1 + sum(range(1, 32)))


def test_every_warp_counts_once_at_a_barrier() -> None:
    body = "setp.lt.u32 %p1, %r1, 32;\n @%p1 bra END;\n add.s32 %r4, %r1, 1;\n add.s64 %rd2, %rd1, 1;\nEND: bar.sync 0;"
    for schedule in ("round-robin", "random", "adversarial"):
        counts = instruction(count(body, blocks=2, threads=96, schedule=schedule), "bar.sync").counts
        assert (counts.warps, counts.threads) == (6, 192)


def test_warps_that_go_on_while_others_wait() -> None:
    body = """
      setp.eq.u32 %p1, %r1, 33;
      @%p1 bra LATE;
    SHUFFLE:
      shfl.sync.idx.b32 %r5, %r4, 0, 31, -1;
      bra END;
    LATE:
      add.s32 %r4, %r1, 1;
      bra SHUFFLE;
    END:
    """
    counts = instruction(count(body, threads=96), "shfl.sync.idx.b32").counts
    assert (counts.warps, counts.threads) == (3, 96)


def test_global_accesses() -> None:
    counters = count(
        """
        mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
        mul.wide.u32 %rd4, %r1, 64; add.s64 %rd5, %rd1, %rd4;
        ld.global.b32 %r4, [%rd3];
        ld.global.b16 %r5, [%rd5];
        st.global.v2.b32 [%rd5], {%r4, %r4};
        setp.eq.u32 %p1, %r1, 99;
        @%p1 st.global.b32 [%rd3], %r4;
        """.replace("b16 %r5", "u16 %r5"),
        blocks=2,
        threads=64,
    )
    aligned = instruction(counters, "ld.global.b32").counts
    assert (aligned.global_requests, aligned.global_sectors, aligned.global_ideal_sectors) == (4, 16, 16)
    assert (aligned.sectors_per_request, aligned.coalescing_efficiency) == (4.0, 1.0)
    strided = instruction(counters, "ld.global.u16").counts
    assert (strided.global_requests, strided.global_sectors, strided.global_ideal_sectors) == (4, 128, 8)
    wide = instruction(counters, "st.global.v2.b32").counts
    assert (wide.global_sectors, wide.global_ideal_sectors, wide.global_bytes_written) == (128, 32, 2 * 64 * 8)
    switched_off = instruction(counters, "st.global.b32").counts
    assert (switched_off.warps, switched_off.predicated_threads, switched_off.global_requests) == (4, 0, 0)
    total = counters.total()
    assert total.global_bytes_read == 2 * 64 * (4 + 2)
    assert total.global_sectors == 16 + 128 + 128


def test_shared_accesses() -> None:
    counters = count(
        """
        shl.b32 %r4, %r1, 7; add.s32 %r5, %r3, %r4;
        shl.b32 %r6, %r1, 4; add.s32 %r7, %r3, %r6;
        st.shared.b32 [%r5], %r1;
        ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r7];
        add.s32 %r10, %r12, %r13;
        atom.shared.add.u32 %r14, [%r3], %r1;
        atom.shared.add.s32 %r15, [%r3], 1;
        atom.shared.add.u64 %rd4, [%r3], 1;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r5];
        """,
        threads=64,
    )
    store = instruction(counters, "st.shared.b32").counts
    assert (store.shared_requests, store.shared_wavefronts, store.bank_conflicts) == (2, 64, 62)
    load = instruction(counters, "ld.shared.v4.b32").counts
    assert (load.shared_requests, load.shared_wavefronts, load.bank_conflicts) == (2, 8, 0)
    assert load.shared_bytes_read == 64 * 16
    atomic = instruction(counters, "atom.shared.add.u32").counts
    assert (atomic.shared_wavefronts, atomic.shared_bytes_read, atomic.shared_bytes_written) == (64, 256, 256)
    # Ones are added at once, where nothing reads the result.
    assert instruction(counters, "atom.shared.add.s32").counts.shared_wavefronts == 2
    assert instruction(counters, "atom.shared.add.u64").counts.shared_wavefronts == 64
    rows = instruction(counters, "ldmatrix.sync.aligned.m8n8.x4.shared.b16").counts
    assert (rows.shared_requests, rows.shared_wavefronts, rows.bank_conflicts) == (2, 64, 56)
    metrics = ncu_metrics(counters)
    assert metrics["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] == 8 + 64
    assert metrics["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"] == 62
    assert metrics["smsp__inst_executed_op_shared_ld.sum"] == 2
    assert metrics["smsp__inst_executed_op_ldsm.sum"] == 2


def test_metrics_of_global_memory_and_zeros() -> None:
    counters = count(
        """
        mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
        ld.global.b32 %r4, [%rd3];
        atom.global.add.u32 %r5, [%rd1], 1;
        atom.global.add.u32 %r6, [%rd3], %r4; xor.b32 %r6, %r6, 1;
        red.global.add.u32 [%rd3], 1;
        """
    )
    metrics = ncu_metrics(counters)
    assert set(metrics) == set(METRICS)
    for access, requests, sectors in (("ld", 1, 4), ("st", 0, 0), ("atom", 1, 4), ("red", 2, 5)):
        assert metrics[f"l1tex__t_requests_pipe_lsu_mem_global_op_{access}.sum"] == requests
        assert metrics[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{access}.sum"] == sectors
    assert metrics["smsp__inst_executed_op_global_red.sum"] == 2
    assert metrics["memory_l2_theoretical_sectors_global"] == 13


def test_a_vector_load_is_a_wide_request_whatever_is_used_of_it() -> None:
    address = "shl.b32 %r6, %r1, 4; add.s32 %r7, %r3, %r6;"
    for used in ("", "add.s32 %r4, %r10, 1;", "add.s32 %r4, %r12, 1;", "add.s32 %r4, %r13, 1;"):
        counters = count(f"{address} ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r7]; {used}")
        load = instruction(counters, "ld.shared.v4.b32").counts
        assert (load.shared_requests, load.shared_wavefronts, load.bank_conflicts) == (1, 4, 0)


def test_copies_of_threads_are_requests_of_their_warp() -> None:
    counters = count(
        """
        mul.wide.u32 %rd2, %r1, 16; add.s64 %rd3, %rd1, %rd2;
        shl.b32 %r4, %r1, 7; add.s32 %r5, %r3, %r4;
        setp.lt.u32 %p1, %r1, 8; selp.b32 %r6, 16, 0, %p1;
        cp.async.cg.shared.global [%r5], [%rd3], 16, %r6;
        cp.async.wait_all;
        """
    )
    copy = instruction(counters, "cp.async.cg.shared.global").counts
    assert (copy.global_requests, copy.global_sectors, copy.global_ideal_sectors) == (1, 8, 4)
    assert (copy.shared_requests, copy.shared_wavefronts, copy.shared_ideal_wavefronts) == (1, 32, 4)
    assert (copy.async_global_bytes_read, copy.async_shared_bytes_written) == (8 * 16, 32 * 16)
    metrics = ncu_metrics(counters)
    assert metrics["smsp__inst_executed_op_ldgsts.sum"] == 1
    assert metrics["smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"] == 8


def test_bulk_copies() -> None:
    counters = count(
        """
        setp.ne.u32 %p1, %r1, 0;
        mov.u32 %r5, tile; add.s32 %r5, %r5, 8192;
        @%p1 bra END;
        mbarrier.init.shared.b64 [%r5], 1;
        mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r5], 2048;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 2048, [%r5];
      WAIT:
        mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0;
        @!%p2 bra WAIT;
      END:
        """
    )
    total = counters.total()
    assert (total.async_global_bytes_read, total.async_shared_bytes_written) == (2048, 2048)
    assert (total.global_bytes, total.shared_bytes) == (2048, 2048)
    assert counters.by_class()["copy"].warps == 1


def test_matrix_operations() -> None:
    registers = "{%r10, %r11, %r12, %r13}"
    body = f"""
      mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0;
      mov.f32 %f1, 0f00000000; mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;
      mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {registers}, {{%r20, %r21, %r22, %r23}}, {{%r20, %r21}}, {registers};
    """
    total = count(body, blocks=2, threads=64).total()
    assert (total.matrix_operations, total.matrix_flops) == (4, 4 * 2 * 16 * 8 * 16)


def test_lines_of_python() -> None:
    counters = count(
        """
        .loc 1 4 2
        mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
        .loc 1 5 9
        ld.global.b32 %r4, [%rd3];
        .loc 1 4 8
        add.s32 %r4, %r4, 1;
        .loc 1 0 0
        """
    )
    lines = {line.location and line.location.line: line for line in counters.by_line()}
    assert set(lines) == {None, 4, 5}
    # Three of its own, and the end of the kernel, which has no line of its own.
    assert lines[4].counts.warps == 4
    assert lines[4].warps_by_class == {"integer": 3, "control": 1}
    assert lines[5].counts.global_sectors == 4
    assert counters.by_line()[0].counts.warps == max(line.counts.warps for line in lines.values())
    assert sum((line.counts.warps for line in lines.values()), 0) == counters.total().warps


def test_parts_of_a_grid_add_up() -> None:
    whole = count(DIVERGENT, blocks=5, threads=64)
    first = count(DIVERGENT, blocks=5, threads=64, only=range(2))
    first.add(pickle.loads(pickle.dumps(count(DIVERGENT, blocks=5, threads=64, only=range(2, 5)))))
    assert first.to_dict() == whole.to_dict()


def test_schedules_count_the_same() -> None:
    in_step = count("add.s32 %r4, %r1, 1; shl.b32 %r4, %r1, 3; add.s32 %r4, %r3, %r4; st.shared.b32 [%r4], 1;", 2, 96)
    random = count(
        "add.s32 %r4, %r1, 1; shl.b32 %r4, %r1, 3; add.s32 %r4, %r3, %r4; st.shared.b32 [%r4], 1;",
        2,
        96,
        schedule="random",
        seed=3,
    )
    assert in_step.total() == random.total()


def test_json() -> None:
    counters = count(DIVERGENT, threads=64)
    (kernel,) = json.loads(json.dumps(counters.to_dict()))["kernels"]
    assert kernel["kernel"] == "kernel"
    assert kernel["total"]["warps"] == counters.total().warps
    assert {line.get("line") for line in kernel["lines"]} == {None, 7}
    add = next(each for each in kernel["instructions"] if each["instruction"].startswith("add"))
    assert add["counts"] == {
        "warps": 2,
        "threads": 64,
        "predicated_threads": 40,
        "thread_efficiency": 1.0,
    }
    assert (add["class"], add["file"], add["line"]) == ("integer", "kernel.py", 7)
    assert kernel["classes"]["integer"]["warps"] == sum(
        each["counts"]["warps"] for each in kernel["instructions"] if each["class"] == "integer"
    )


def test_adding_counts() -> None:
    counts = Counts(warps=1, shared_wavefronts=3)
    counts.add(Counts(warps=2, shared_wavefronts=4, shared_ideal_wavefronts=5))
    assert counts == Counts(warps=3, shared_wavefronts=7, shared_ideal_wavefronts=5)
    assert counts.bank_conflicts == 2
    assert Counts().to_dict() == {}
