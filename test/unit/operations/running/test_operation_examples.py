"""The examples of operations and their notebooks."""

import json
import os
import sys
from pathlib import Path

import pytest
from warm_processes import Templates

ROOT = Path(__file__).parents[4]
EXAMPLES = ("basic_gemm", "convolution", "epilogue_functors", "grouped_gemm", "traced_epilogue")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_notebook_is_what_the_file_does(name: str, tmp_path: Path, templates: Templates) -> None:
    """Runs every cell."""
    command = ["make_notebook.py", str(ROOT / "examples" / "operations" / f"{name}.py"), "--check"]
    status, _, errors = templates.run(
        command, folder=tmp_path, environment=os.environ, kind="tracing", entry="make_notebook:main", path=sys.path
    )
    assert status == 0, errors


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_notebook_says_that_its_results_are_right(name: str) -> None:
    """Reads what its cells printed when it was made; the slow test above runs them."""
    notebook = json.loads((ROOT / "examples" / "operations" / f"{name}.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    printed = "".join(text for cell in cells for output in cell["outputs"] for text in output["text"])
    assert "True" in printed and "False" not in printed
