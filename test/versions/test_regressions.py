"""`cutecc versions` on kernels that releases compile differently: what changes, and where it says that it comes from.

Run by `make test-versions`, beside whose environments these are.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "test" / "versions" / "kernels"


def compared(kernel: str, *across: str, run: bool = True) -> Any:
    """What the command says of a kernel across releases."""
    pythons = {release: ROOT / f".venv-{release}" / "bin" / "python" for release in across}
    command = [sys.executable, "-W", "ignore", "-m", "cutecc", "versions", str(KERNELS / f"{kernel}.py"), "--json"]
    command += ["--across", ",".join(across), "--device", "cpu"] if run else ["--across", ",".join(across), "--no-run"]
    for release, python in pythons.items():
        if not python.exists():
            pytest.skip(f"there is no {python.parents[1].name}: make {python.parents[1].name}/.dev")
        command += ["--env", f"{release}={python}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    return row


def since(row: Any) -> tuple[str, str, str]:
    """The pass, the operation and the line from which on the kernels differ."""
    (change,) = row["changes"]
    place = change["since"]
    return place["selector"], place["operation"], place["location"].rpartition(":")[2]


def test_narrow_stores() -> None:
    row = compared("bf16_tile_store", "4.6.0", "4.6.3")
    widths = [each["functions"]["scale_kernel"]["widths"]["global store"] for each in row["cells"]]
    assert widths == [{"16": 64}, {"128": 8}]
    assert row["cells"][1]["results"] == "same bits"
    assert since(row)[::2] == ("traced", "38")


def test_wrong_results() -> None:
    row = compared("transposed_tile", "4.6.3", "4.6.0")
    assert row["cells"][1]["results"] == "differs"
    assert since(row)[::2] == ("traced", "36")


def test_a_guard_that_became_a_select() -> None:
    row = compared("guarded_async_copy", "4.6.0", "4.6.3")
    stores = [each["functions"]["rows_kernel"]["widths"].get("shared store") for each in row["cells"]]
    assert stores == [{"128": 8}, None]
    assert since(row) == ("cute-expand-ops", "arith.select", "42")


def test_registers_by_name() -> None:
    row = compared("named_kernel", "4.6.0", "4.6.3")
    assert [next(iter(each["functions"].values()))["registers"] for each in row["cells"]] == [40, 30]
    (change,) = row["changes"]
    assert (change["since"], change["same_ptx"], change["same_code"]) == (None, True, False)


def test_what_one_release_does_not_compile() -> None:
    row = compared("tmem_beside_release", "4.6.0", "4.6.3", run=False)
    assert "NVVM" in row["cells"][0]["failure"] and not row["cells"][1]["failure"]
    (change,) = row["changes"]
    assert change["since"]["selector"] == "nvgpu-optimization" and change["same_code"] is None


def test_a_zero_that_is_negated() -> None:
    row = compared("negated_zero", "4.6.3", "4.7.1-cu13")
    assert row["cells"][1]["results"] == "same bits"
