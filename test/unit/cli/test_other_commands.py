"""`cutecc passes`, `pipelines` and `parity` on the real command line."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from conftest import CUTECC

from cutecc.passes import lookup
from cutecc.passes.pipelines import choose_pipeline
from cutecc.target import Target

pytestmark = pytest.mark.slow

INPUTS = Path(__file__).parents[2] / "inputs"
ADD = "func.func @f(%a: i32) -> i32 {\n  return %a : i32\n}\n"


# passes


def listed(text: str) -> dict[str, tuple[str, str]]:
    """Provider and the beginning of the description by pass; a long name goes on in the next line."""
    rows: dict[str, tuple[str, str]] = {}
    name = ""
    for line in text.splitlines():
        if match := re.match(r"([a-z][\w:.-]+) +(wheel|reimplementation|cutecc|plugin|composite) +(.*)", line):
            name = match[1]
            rows[name] = match[2], match[3].strip()
        elif name and (match := re.match(r"([\w:.-]+)(?: |$)", line)):
            rows[name + match[1]] = rows.pop(name)
            name += match[1]
    return rows


def test_passes_lists_every_pass_with_its_provider_and_a_sentence(cutecc) -> None:
    rows = listed(cutecc("passes", env={"COLUMNS": "200"}).stdout)
    for lir in (False, True):
        for pass_ in choose_pipeline("nvidia", Target.parse("sm_90a"), lir=lir, pyir=True):
            assert rows[pass_.name][0] == pass_.provider
    for name, pass_class in lookup.registered_passes().items():
        assert rows[name][0] == pass_class.provider
    assert list(rows) == sorted(rows)
    assert not [name for name, (_, what) in rows.items() if not what]


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_passes_fits_the_terminal(cutecc, columns: str) -> None:
    assert all(len(line) <= int(columns) for line in cutecc("passes", env={"COLUMNS": columns}).stdout.splitlines())


def test_one_pass_with_its_options(cutecc) -> None:
    text = cutecc("passes", "canonicalize").stdout
    assert text.startswith("canonicalize (wheel)")
    assert re.search(r"max-iterations = \d+", text)
    text = cutecc("passes", "cuda-compute-target").stdout
    assert "gpu.module" in text
    assert "in pipelines: nvidia" in text
    text = cutecc("passes", "arith-expand").stdout
    assert text.startswith("arith-expand (reimplementation)")


def test_a_pass_that_is_not_there(cutecc) -> None:
    done = cutecc("passes", "canonicalise", status=2)
    assert done.stderr.splitlines() == [
        "error: no pass is called 'canonicalise'",
        "hint: did you mean canonicalize?",
        "hint: cutecc passes lists them all",
    ]


def test_a_pipeline_is_no_pass(cutecc) -> None:
    done = cutecc("passes", "open", status=2)
    assert done.stderr.splitlines() == [
        "error: no pass is called 'open'",
        "hint: open is a pipeline: cutecc pipelines open",
        "hint: cutecc passes lists them all",
    ]


# pipelines


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--line-info"],
        ["--opt-level=1"],
        ["--fast-math"],
        ["--lir"],
        ["--pyir"],
        ["--lir", "--pyir"],
        ["--target=sm_80"],
    ],
)
def test_pipelines_prints_them_in_full(cutecc, options: list[str]) -> None:
    from cutecc.passes.nvidia.options import WheelOptions

    target = Target.parse("sm_80" if "--target=sm_80" in options else "sm_90a")
    wheel = WheelOptions(
        opt_level=1 if "--opt-level=1" in options else 3,
        preserve_line_info="--line-info" in options,
        fast_math="--fast-math" in options,
    )
    expected = choose_pipeline("nvidia", target, wheel, lir="--lir" in options, pyir="--pyir" in options)
    head, _, rest = cutecc("pipelines", "nvidia", *options).stdout.partition("\n")
    assert re.fullmatch(rf"# nvidia: .*; {len(expected)} passes for {target}", head)
    assert rest.rstrip("\n").split(",\n") == [str(pass_) for pass_ in expected]


def test_a_pipeline_that_is_not_there(cutecc) -> None:
    done = cutecc("pipelines", "nvidai", status=2)
    assert done.stderr.splitlines() == [
        "error: no pipeline is called 'nvidai'",
        "hint: did you mean nvidia?",
        "hint: named pipelines: nvidia, open",
    ]


# parity


@pytest.fixture
def modules(small_kernel, traced_kernels, tmp_path: Path) -> Path:
    folder = tmp_path / "modules" / "deeper"
    folder.mkdir(parents=True)
    for kernel in (small_kernel, traced_kernels["tma_copy"]):
        (folder / f"{kernel.name}-{kernel.target}.mlir").write_bytes(kernel.bytecode)
    return tmp_path / "modules"


def test_parity_says_what_is_identical(cutecc, modules: Path) -> None:
    done = cutecc("parity", "modules", "-j2")
    assert done.stdout == "identical 4  composite 0  different 0  failed 0  of 4\n"
    assert done.stderr == ""


@pytest.mark.parametrize(("choice", "rows"), [("on", [True]), ("off", [False]), ("both", [False, True])])
def test_parity_as_json(cutecc, modules: Path, choice: str, rows: list[bool]) -> None:
    file = modules / "deeper" / "vector_copy-sm_80.mlir"
    body = json.loads(cutecc("parity", file, "--line-info", choice, "-j1", "--json").stdout)
    assert list(body) == ["identical", "composite", "different", "failed", "modules"]
    assert body["identical"] == len(rows)
    assert [(row["file"], row["target"], row["result"]) for row in body["modules"]] == [
        (str(file), "sm_80", "identical")
    ] * len(rows)
    assert [row["line_info"] for row in body["modules"]] == rows


def test_parity_with_failures(cutecc, modules: Path) -> None:
    (modules / "broken-sm_80.mlir").write_text("hello\n")
    (modules / "aborts-sm_80.mlir").write_bytes((INPUTS / "aborts-while-parsing.mlir").read_bytes())
    done = cutecc("parity", "modules", "-j2", "--line-info=off", status=1)
    assert done.stdout == "identical 2  composite 0  different 0  failed 2  of 4\n"
    assert re.search(r"aborts-sm_80\.mlir \(sm_80, line info off\): failed: .*SIGABRT", done.stderr)
    assert re.search(r"broken-sm_80\.mlir \(sm_80, line info off\): failed: ", done.stderr)
    assert cutecc("parity", "modules", "-j2", "--line-info=off", "-q", status=1).stderr == ""


def test_parity_reads_bytecode_below_a_folder(cutecc, small_kernel, tmp_path: Path) -> None:
    (tmp_path / "bytecode").mkdir()
    (tmp_path / "bytecode" / "k-sm_80.mlirbc").write_bytes(small_kernel.bytecode)
    done = cutecc("parity", "bytecode", "-j1", "--line-info=off")
    assert done.stdout == "identical 1  composite 0  different 0  failed 0  of 1\n"


def test_parity_usage(cutecc, modules: Path, tmp_path: Path) -> None:
    assert "there is no file or folder nowhere" in cutecc("parity", "nowhere", status=2).stderr
    (tmp_path / "empty").mkdir()
    assert "no .mlir files in empty" in cutecc("parity", "empty", status=2).stderr
    (tmp_path / "k.mlir").write_text(ADD)
    done = cutecc("parity", "k.mlir", status=2)
    assert "k.mlir: which target is it for?" in done.stderr
    assert "unknown target 'sm_1'" in cutecc("parity", "k.mlir", "--target=sm_1", status=2).stderr


def test_a_reader_that_goes_gets_no_verdict() -> None:
    """Status 1 would be that of a difference, or of a wrong result."""
    with subprocess.Popen([CUTECC, "passes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141
