"""`examples/bring_your_own_kernel.py` and its notebook."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from make_notebook import cells

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "examples" / "bring_your_own_kernel.py"


@pytest.fixture(scope="module")
def printed() -> list[str]:
    """What the notebook's cells print, according to the notebook."""
    notebook = json.loads(EXAMPLE.with_suffix(".ipynb").read_text())
    return "".join(
        "".join(output["text"]) for cell in notebook["cells"] for output in cell.get("outputs", [])
    ).splitlines()


@pytest.mark.torch
def test_the_notebook_is_what_the_file_does(tmp_path: Path) -> None:
    """Runs every cell."""
    command = [sys.executable, str(ROOT / "tools" / "make_notebook.py"), str(EXAMPLE), "--check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_what_it_shows(printed: list[str]) -> None:
    names = ["example.F64GemmOperator_tnt_tile16x16", "example.F64GemmOperator_tnt_tile8x32"]
    assert printed[:2] == names
    assert printed[2] == "0 operators" and "a mode for batches" in printed[3]
    assert printed[4:6] == [f"(8, 32) {[names[1]]}", "(128, 128) []"]
    assert printed[6:8] == [f"{name} is A @ B: True" for name in names]


def test_a_notebook_out_of_step_is_found(tmp_path: Path) -> None:
    file = tmp_path / "small.py"
    file.write_text(
        '"""Not in it."""\n\n# %% [markdown]\n# # Title\n\n# %%\nif __name__ == "__main__":\n    print(1 + 1)\n'
    )
    assert cells(file.read_text()) == [("markdown", "# Title"), ("code", "print(1 + 1)")]
    command = [sys.executable, str(ROOT / "tools" / "make_notebook.py"), str(file)]
    assert subprocess.run([*command, "--check"], capture_output=True).returncode == 1
    assert subprocess.run(command).returncode == 0
    assert json.loads(file.with_suffix(".ipynb").read_text())["cells"][1]["outputs"][0]["text"] == ["2\n"]
    assert subprocess.run([*command, "--check"]).returncode == 0
    file.write_text(file.read_text().replace("1 + 1", "1 + 2"))
    assert b"is out of step" in subprocess.run([*command, "--check"], capture_output=True).stderr
