"""The table of what analyses, emulator and Nsight Compute say of accesses."""

from __future__ import annotations

from typing import Any

import memory_table


def compared(name: str, analysed: tuple[int, ...], emulated: tuple[int, ...]) -> Any:
    return memory_table.Compared(
        name, {"N": 8}, {3: memory_table.Sums(*analysed)}, {3: memory_table.Sums(*emulated)}, (1, 2)
    )


def measured(sectors: int, n: int = 8) -> dict[str, Any]:
    return {"sizes": {"N": n}, "ncu": {"memory_l2_theoretical_sectors_global": sectors}}


def test_equal_numbers_reasons_and_what_has_none() -> None:
    kernels = [
        compared("transpose", (1, 4000, 4, 0, 0, 0), (1, 4000, 4, 0, 0, 0)),
        compared("gemm_sm80", (1, 5, 4, 0, 0, 0), (1, 5, 4, 0, 0, 0)),
        compared("stencil", (0, 0, 0, 1, 2, 1), (0, 0, 0, 1, 1, 1)),
    ]
    ncu = {"transpose": measured(4000), "gemm_sm80": measured(6), "unknown": measured(1)}
    table, unexplained = memory_table.rows(kernels, ncu)
    assert table[2:5] == [
        "| gemm_sm80 | 2 | 1 | 1 of 1 | 5 / 5 / 6 a | 4 |  |  |",
        "| stencil | 2 | 1 | 0 of 1 |  |  | 2 / 1 | 1 |",
        "| transpose | 2 | 1 | 1 of 1 | 4,000 | 4 |  |  |",
    ]
    assert table[-1] == f"- a: {memory_table.TAKEN_OUT}."
    assert unexplained == ["stencil: wavefronts: [2, 1]"]


def test_measurements_of_other_sizes_do_not_count() -> None:
    kernel = compared("transpose", (1, 4, 4, 0, 0, 0), (1, 4, 4, 0, 0, 0))
    _, unexplained = memory_table.rows([kernel], {"transpose": measured(4, n=9)})
    assert unexplained == ["transpose: ncu has other sizes, {'N': 9}"]
