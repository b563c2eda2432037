"""The table of what analyses, emulator and Nsight Compute say of accesses."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tool() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        spec = importlib.util.spec_from_file_location("memory_table", ROOT / "tools" / "memory_table.py")
        assert spec is not None and spec.loader is not None
        module = sys.modules["memory_table"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
        del sys.modules["memory_table"]
    finally:
        sys.path.pop(0)


def compared(tool: ModuleType, name: str, analysed: tuple[int, ...], emulated: tuple[int, ...]) -> Any:
    return tool.Compared(name, {"N": 8}, {3: tool.Sums(*analysed)}, {3: tool.Sums(*emulated)}, (1, 2))


def measured(sectors: int, n: int = 8) -> dict[str, Any]:
    return {"sizes": {"N": n}, "ncu": {"memory_l2_theoretical_sectors_global": sectors}}


def test_equal_numbers_reasons_and_what_has_none(tool: ModuleType) -> None:
    kernels = [
        compared(tool, "transpose", (1, 4000, 4, 0, 0, 0), (1, 4000, 4, 0, 0, 0)),
        compared(tool, "gemm_sm80", (1, 5, 4, 0, 0, 0), (1, 5, 4, 0, 0, 0)),
        compared(tool, "stencil", (0, 0, 0, 1, 2, 1), (0, 0, 0, 1, 1, 1)),
    ]
    ncu = {"transpose": measured(4000), "gemm_sm80": measured(6), "unknown": measured(1)}
    table, unexplained = tool.rows(kernels, ncu)
    assert table[2:5] == [
        "| gemm_sm80 | 2 | 1 | 1 of 1 | 5 / 5 / 6 a | 4 |  |  |",
        "| stencil | 2 | 1 | 0 of 1 |  |  | 2 / 1 | 1 |",
        "| transpose | 2 | 1 | 1 of 1 | 4,000 | 4 |  |  |",
    ]
    assert table[-1] == f"- a: {tool.TAKEN_OUT}."
    assert unexplained == ["stencil: wavefronts: [2, 1]"]


def test_measurements_of_other_sizes_do_not_count(tool: ModuleType) -> None:
    kernel = compared(tool, "transpose", (1, 4, 4, 0, 0, 0), (1, 4, 4, 0, 0, 0))
    _, unexplained = tool.rows([kernel], {"transpose": measured(4, n=9)})
    assert unexplained == ["transpose: ncu has other sizes, {'N': 9}"]
