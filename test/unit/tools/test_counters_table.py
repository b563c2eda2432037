"""The table of counters beside Nsight Compute's."""

from __future__ import annotations

import counters_table

REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
EXECUTED = "smsp__inst_executed_op_global_ld.sum"


def test_equal_numbers_reasons_and_what_has_none() -> None:
    results = {
        "stencil": {"ncu": {REQUESTS: 7, EXECUTED: 7}, "emulator": {REQUESTS: 7, EXECUTED: 7, "other": 1}},
        "transpose": {"ncu": {REQUESTS: 7, EXECUTED: 9}, "emulator": {REQUESTS: 7, EXECUTED: 8}},
        "warp_ops": {"ncu": {REQUESTS: 5}, "emulator": {REQUESTS: 6}},
    }
    table, unexplained = counters_table.rows(results)
    stencil, transpose, warp_ops = ([cell.strip() for cell in line.split("|")[2:]] for line in table[2:5])
    assert (stencil[0], stencil[5]) == ("7", "7")
    assert (transpose[0], transpose[5]) == ("7", "8 / 9 a")
    assert warp_ops[0] == "6 / 5"
    assert "Of 3 kernels, 2 agree in all columns up to conflicts, and 1 in all." in table
    assert f"- a: {counters_table.PREDICATES}." in table
    assert len(unexplained) == 1 and unexplained[0].startswith("warp_ops: global requests")
