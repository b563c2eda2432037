"""The tables of what the prover says of kernels of others."""

from __future__ import annotations

from typing import Any

from public_proofs import counts, reasons


def result(file: str, answer: str, **more: Any) -> dict[str, Any]:
    return {"file": f"traces/{file}.sm_100a.mlirbc", "answer": answer, "problems": [], **more}


PLACE = {"file": "/somewhere/gemm.py", "line": 7}
RESULTS = [
    result("one-gemm-f16", "proved"),
    result("one-gemm-f8", "cannot tell", reason="the time is over", location=None),
    result("two-gemm", "cannot tell", reason="the time is over", location=None),
    result(
        "two-scan", "suspicious", problems=[{"kind": "race", "location": PLACE}, {"kind": "race", "location": None}]
    ),
    {"file": "traces/two-sort.sm_80.mlirbc", "ok": False, "error": {"message": "it does not lower\nat all"}},
]


def test_counts() -> None:
    assert counts(RESULTS).splitlines() == [
        "| package | kernels | proved | suspicious | cannot tell |",
        "|---|--:|--:|--:|--:|",
        "| one | 2 | 1 | 0 | 1 |",
        "| two | 3 | 0 | 1 | 2 |",
        "| all | 5 | 1 | 1 | 3 |",
    ]


def test_reasons() -> None:
    """The most frequent first; of each kind of problem the first."""
    assert reasons(RESULTS).splitlines()[2:] == [
        "| cannot tell |  | the time is over | one-gemm-f8, two-gemm |",
        "| cannot tell |  | it does not lower | two-sort |",
        "| suspicious | gemm.py:7 | race | two-scan |",
    ]
