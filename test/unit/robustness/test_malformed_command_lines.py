"""Command lines that nobody means: options, names, sizes, layouts, pipelines, headers."""

from __future__ import annotations

from pathlib import Path

import malformed_command_lines as malformed
import pytest
from acceptable_ends import BEFORE, check, check_file, check_record
from chosen_pairs import Command, pairs
from limited_runs import run
from real_inputs import RealInputs, make_inputs


@pytest.fixture(scope="session")
def real(shared_folder: Path, cutecc_in) -> RealInputs:
    return make_inputs(shared_folder, cutecc_in)


@pytest.fixture(autouse=True)
def _a_good_module(tmp_path: Path) -> None:
    (tmp_path / "good.mlir").write_text(malformed.GOOD)


def is_left_alone(folder: Path) -> None:
    """Nothing was made that an input names, and the good module is as it was."""
    assert (folder / "good.mlir").read_text() == malformed.GOOD
    assert not (folder / "owned").exists()
    assert not Path("/tmp/owned").exists()
    assert not Path("/tmp/owned-by-cutecc").exists()


@pytest.mark.parametrize("name", malformed.LINES)
def test_a_command_line(name: str, templates, tmp_path: Path) -> None:
    line = malformed.LINES[name]
    check(run(line, tmp_path, templates), as_json="--json" in line)
    is_left_alone(tmp_path)


_PIPELINES, _HEADERS, _FILES = [*malformed.PIPELINES], [*malformed.HEADERS], [*malformed.FILES]
OF_PIPELINES = {
    "opt": Command(["opt", "good.mlir", "-o", "out.mlir"], _PIPELINES),
    "compile": Command(["compile", "good.mlir", "--target=sm_80", "-o", "record", "--quiet"], _PIPELINES, 3),
    "bisect": Command(["bisect", "good.mlir", "--target=sm_80", "-o", "steps", "--json"], _PIPELINES, 5),
    "reduce": Command(["reduce", "good.mlir", "--timeout=5", "-o", "out.mlir", "--json"], _PIPELINES, 5),
}


@pytest.mark.parametrize(("command", "name"), pairs(OF_PIPELINES))
def test_a_pipeline(command: str, name: str, templates, tmp_path: Path) -> None:
    (tmp_path / "out.mlir").write_bytes(BEFORE)
    words = [*OF_PIPELINES[command].line, f"--pipeline={malformed.PIPELINES[name]}"]
    ok = check(run(words, tmp_path, templates), as_json="--json" in words)
    check_file(tmp_path / "out.mlir", written=ok and "out.mlir" in words)
    check_record(tmp_path / "record", written=ok and "record" in words)
    is_left_alone(tmp_path)


OF_HEADERS = {
    "repro": Command(["repro", "input.mlir", "--json"], _HEADERS),
    "compile": Command(["compile", "input.mlir", "-o", "record", "--quiet"], _HEADERS),
    "opt": Command(["opt", "input.mlir", "--pipeline=cse"], _HEADERS, 5),
    "bisect": Command(["bisect", "input.mlir", "-o", "steps", "--json"], _HEADERS, 4),
    "reduce": Command(["reduce", "input.mlir", "--timeout=5", "-o", "steps", "--json"], _HEADERS, 4),
}


@pytest.mark.parametrize(("command", "name"), pairs(OF_HEADERS))
def test_a_header(command: str, name: str, templates, tmp_path: Path) -> None:
    (tmp_path / "input.mlir").write_bytes(malformed.HEADERS[name])
    (tmp_path / "owned.py").write_text("open('owned', 'w')\n")
    words = OF_HEADERS[command].line
    ok = check(run(words, tmp_path, templates), verdicts=command == "repro", as_json="--json" in words)
    check_record(tmp_path / "record", written=ok and "record" in words)
    is_left_alone(tmp_path)


OF_FILES = {
    "opt": Command(["opt"], _FILES),
    "compile": Command(["compile", "--target=sm_80", "-o", "record"], _FILES, 2),
    "run": Command(["run", "--device=cpu"], _FILES, 2),
    "report": Command(["report"], _FILES),
    "repro": Command(["repro"], _FILES),
    "bisect": Command(["bisect", "--pipeline=cse", "--target=sm_80", "-o", "steps"], _FILES, 3),
    "reduce": Command(["reduce", "--pipeline=cse", "-o", "steps"], _FILES, 3),
}


@pytest.mark.parametrize(("command", "name"), pairs(OF_FILES))
def test_the_name_of_a_file(command: str, name: str, templates, tmp_path: Path) -> None:
    malformed.make_file(name, tmp_path)
    check(run([*OF_FILES[command].line, "--", malformed.FILES[name]], tmp_path, templates))
    is_left_alone(tmp_path)


@pytest.mark.parametrize("name", malformed.LAYOUTS)
def test_a_layout(name: str, templates, tmp_path: Path) -> None:
    check(run(["layout", "--quiet", "--", malformed.LAYOUTS[name]], tmp_path, templates))


@pytest.mark.parametrize("name", malformed.LAYOUTS)
def test_a_drawn_layout(name: str, templates, tmp_path: Path) -> None:
    (tmp_path / "out.svg").write_bytes(BEFORE)
    ok = check(run(["layout", "-o", "out.svg", "--", malformed.LAYOUTS[name]], tmp_path, templates))
    check_file(tmp_path / "out.svg", written=ok)


@pytest.mark.parametrize("name", malformed.SPECS)
def test_a_spec(name: str, templates, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(malformed.SPEC_KERNEL)
    line = ["compile", "kernel.py", "--target=sm_80", "-o", "record", "--arg", f"x={malformed.SPECS[name]}"]
    ok = check(run(line, tmp_path, templates))
    check_record(tmp_path / "record", written=ok)


@pytest.mark.parametrize(
    "size",
    [
        "",
        "M",
        "M=",
        "=3",
        "M=x",
        "M=-1",
        "M=0",
        f"M={'9' * 5000}",
        f"M={2**40}",
        "M=1e9",
        "M=3,M=4",
        "N=3",
        "Q=8",
        "M=\x1b]0;x\x07",
        "M=" + "1," * 5000,
        "M=[3]",
        "M=N=Q=1",
    ],
)
def test_a_size(size: str, real, templates, tmp_path: Path) -> None:
    check(run(["run", real.bundle, "--device=cpu", "--size", size], tmp_path, templates), verdicts=True)
