"""What each form of instruction is counted as, by the names of Nsight Compute."""

from __future__ import annotations

import pytest

from cutecc.emulator.counters.counters import Counters, InstructionCounts
from cutecc.emulator.counters.counts import Counts
from cutecc.emulator.counters.ncu import ncu_metrics

GLOBAL = {"global_requests": 4, "global_sectors": 24, "global_ideal_sectors": 12}
SHARED = {"shared_requests": 5, "shared_wavefronts": 20, "shared_ideal_wavefronts": 8}

OF_GLOBAL = {"memory_l2_theoretical_sectors_global": 24, "memory_l2_theoretical_sectors_global_ideal": 12}
OF_SHARED = {"memory_l1_wavefronts_shared": 20, "memory_l1_wavefronts_shared_ideal": 8}


def in_global(kind: str) -> dict[str, int]:
    return OF_GLOBAL | {
        f"smsp__inst_executed_op_global_{kind}.sum": 3,
        f"l1tex__t_requests_pipe_lsu_mem_global_op_{kind}.sum": 4,
        f"l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum": 24,
    }


def in_shared(kind: str, own: str = "") -> dict[str, int]:
    return OF_SHARED | {
        f"smsp__inst_executed_op_{own or f'shared_{kind}'}.sum": 3,
        f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{kind}.sum": 20,
        f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{kind}.sum": 12,
        f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{own or kind}.sum": 20,
    }


def threads(operation: str) -> dict[str, int]:
    return {f"smsp__sass_thread_inst_executed_op_{operation}_pred_on.sum": 90}


COPY = {
    "smsp__inst_executed_op_ldgsts.sum": 3,
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 4,
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum": 24,
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum": 20,
    **OF_GLOBAL,
    **OF_SHARED,
}


@pytest.mark.parametrize(
    ("form", "accessed", "metrics"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {}, {"smsp__inst_executed_pipe_tensor.sum": 3}),
        ("add.f32", {}, threads("fadd")),
        ("sub.rn.f64", {}, threads("dadd")),
        ("mul.f32", {}, threads("fmul")),
        ("fma.rn.f64", {}, threads("dfma")),
        ("mad.rn.f32", {}, threads("ffma")),
        ("mad.lo.s32", {}, {}),
        ("ld.global.v4.b32", GLOBAL, in_global("ld")),
        ("st.global.b32", GLOBAL, in_global("st")),
        ("red.global.add.u32", GLOBAL, in_global("red")),
        ("ld.shared.b32", SHARED, in_shared("ld")),
        ("stmatrix.sync.aligned.m8n8.x4.shared.b16", SHARED, in_shared("st")),
        ("red.shared.add.u32", SHARED, in_shared("atom")),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", SHARED, in_shared("ld", "ldsm")),
        ("ld.local.f32", {"local_bytes_read": 384}, {"smsp__inst_executed_op_local_ld.sum": 3}),
        ("st.local.f32", {"local_bytes_written": 384}, {"smsp__inst_executed_op_local_st.sum": 3}),
        ("cp.async.cg.shared.global", GLOBAL | SHARED, COPY),
        ("cp.async.ca.shared.global", GLOBAL | SHARED, {**COPY, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 24}),
        ("cp.async.bulk.commit_group", {}, {}),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32", {"async_shared_bytes_written": 384}, {}),
    ],
)
def test_one_instruction(form: str, accessed: dict[str, int], metrics: dict[str, int]) -> None:
    counts = Counts(warps=3, threads=96, predicated_threads=90, **accessed)
    found = ncu_metrics(Counters.of([InstructionCounts("k", 0, form, f"{form} …;", 1, None, "global", counts)]))
    assert {name: value for name, value in found.items() if value} == metrics


@pytest.mark.parametrize(("is_used", "kind"), [(True, "atom"), (False, "red")])
def test_an_atomic_whose_result_nothing_reads(is_used: bool, kind: str) -> None:
    counts = Counts(warps=3, **GLOBAL)
    one = InstructionCounts("k", 0, "atom.global.add.u32", "", 1, None, "global", counts, is_used)
    found = ncu_metrics(Counters.of([one]))
    assert found[f"l1tex__t_requests_pipe_lsu_mem_global_op_{kind}.sum"] == 4
    assert sum(value for name, value in found.items() if "_requests_" in name) == 4


def test_of_one_kernel() -> None:
    of = [InstructionCounts(name, 0, "add.f32", "", 1, None, "float", Counts(predicated_threads=7)) for name in "kl"]
    name = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"
    assert (ncu_metrics(Counters.of(of))[name], ncu_metrics(Counters.of(of), "k")[name]) == (14, 7)
