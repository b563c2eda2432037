"""What `cutecc compile` says when a compilation fails: message, place, hint, reproducer, exit code."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from copied import ARGS, KERNEL, write

from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.record.folder import read_folder
from cutecc.record.reproducer import read_reproducer

FAILED, USAGE = 1, 2


# Kernels and modules that fail.


def test_a_kernel_that_raises_while_it_is_traced(says, tmp_path: Path) -> None:
    text = KERNEL.replace("    dst[thread] = src[thread]", "    dst[thread] = src[thread] + missing_name")
    write(tmp_path, "kernel.py", text)
    says(
        *("kernel.py:copy", *ARGS),
        status=FAILED,
        lines=[
            r"kernel\.py:8(:\d+)?: error: .*missing_name.*",
            r" +dst\[thread\] = src\[thread\] \+ missing_name",
        ],
    )


def test_a_kernel_that_misuses_the_dsl(says, tmp_path: Path) -> None:
    text = KERNEL.replace("    dst[thread] = src[thread]", "    dst[thread, thread, thread] = src[thread]")
    write(tmp_path, "kernel.py", text)
    says(
        "kernel.py:copy",
        *ARGS,
        status=FAILED,
        lines=[r"kernel\.py:8(:\d+)?: error: .*", r" +dst\[thread, thread, thread\] = src\[thread\]"],
    )


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "import cutlass\nraise ValueError('at import')\n",
            [r"broken\.py:2(:\d+)?: error: .*at import.*", r" +raise ValueError\('at import'\)"],
        ),
        ("import cutlass\ndef f(:\n", [r"broken\.py:2:\d+: error: .*", r" +def f\(:", r" +\^"]),
        (
            "import no_such_package\n",
            [
                r"broken\.py:1(:\d+)?: error: .*no_such_package.*",
                r"hint: if it is a module of yours: is no_such_package\.py beside the kernel file\?",
                r"hint: if it is a package: pip install no_such_package",
            ],
        ),
        (
            # The package as it is without the distribution that adds to it.
            "import cutlass, sys\nsys.modules['cutlass.operators'] = None\nimport cutlass.operators\n",
            [
                r"broken\.py:3(:\d+)?: error: .*cutlass\.operators.*",
                r"hint: it is of nvidia-cutlass-operators: pip install 'cutecc\[operators\]'",
            ],
        ),
        ("import sys\nsys.exit(3)\n", [r"broken\.py:2(:\d+)?: error: .*"]),
    ],
)
def test_a_file_that_fails_when_it_is_run(says, tmp_path: Path, text: str, lines: list[str]) -> None:
    write(tmp_path, "broken.py", text)
    says("broken.py:f", *ARGS, status=FAILED, lines=lines)


def test_a_kernel_that_takes_its_process_down(says, tmp_path: Path) -> None:
    text = KERNEL.replace("    copy_kernel(src, dst)", "    import os; os.abort()\n    copy_kernel(src, dst)", 1)
    write(tmp_path, "kernel.py", text)
    says("kernel.py:copy", *ARGS, status=FAILED, lines=[r"error: tracing kernel\.py aborted: .*SIGABRT.*"])


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("func.func @f( {", [r"m\.mlir:1:\d+: error: .*", r"  func\.func @f\( \{", r" +\^"]),
        ("hello", [r"m\.mlir:1:1: error: .*", r"  hello"]),
        ("func.func @f() -> i32 { return }", [r"m\.mlir:1:\d+: error: .*"]),
        ("\x00", [r"error: m\.mlir is neither MLIR bytecode nor text: .*"]),
        ("ML\udcefR\x00", [r"error: m\.mlir: not readable as MLIR bytecode: .*"]),
    ],
)
def test_modules_that_do_not_parse(says, tmp_path: Path, text: str, lines: list[str]) -> None:
    (tmp_path / "m.mlir").write_bytes(text.encode(errors="surrogateescape"))
    says("m.mlir", "--target=sm_80", status=FAILED, lines=lines)


def test_a_module_that_aborts_the_parser(says, tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "inputs" / "aborts-while-parsing.mlir"
    says(
        source,
        "--target=sm_80",
        status=FAILED,
        lines=[r"error: .*aborts-while-parsing\.mlir: reading the module aborted: .*SIGABRT"],
    )


def test_a_failing_pass_leaves_a_reproducer_that_reproduces(cutecc, says, small_kernel, tmp_path: Path) -> None:
    # Lowering what is left of `cute` needs the passes before.
    text = says(
        *(
            small_kernel.module,
            "--target=sm_80",
            "--pipeline=canonicalize,convert-cute-to-core,cse",
            "--dump-after=all",
            "-o",
            "out",
        ),
        status=FAILED,
        lines=[
            r"(.*vector_copy\.py:\d+:\d+: )?error: pass convert-cute-to-core failed: failed to legalize .* 'cute\..*",
            r"reproducer: out/reproducer-02-convert-cute-to-core\.mlir",
            r"reproduce: cutecc opt out/reproducer-02-convert-cute-to-core\.mlir --pipeline=convert-cute-to-core",
        ],
    )
    assert "does not show this failure" not in text
    record = read_folder(tmp_path / "out")
    assert record.status == "failed"
    assert record.failure is not None
    assert record.failure.stage == "convert-cute-to-core"
    assert record.failure.reproducer == "reproducer-02-convert-cute-to-core.mlir"
    assert [(step.name, step.status) for step in record.steps] == [
        ("canonicalize", "ok"),
        ("convert-cute-to-core", "failed"),
    ]
    assert record.traced == "00-traced.mlir"
    assert record.steps[0].dump == "01-canonicalize.mlir"

    file = tmp_path / "out" / record.failure.reproducer
    reproducer = read_reproducer(file.read_text())
    assert reproducer.expected == "failed"
    command = text.splitlines()[-1].removeprefix("reproduce: ")
    assert shlex.split(command) == reproducer.command(f"out/{file.name}")
    assert reproducer.message in cutecc(*shlex.split(command)[1:], status=FAILED).stderr


def test_the_reproducer_is_the_module_right_before_the_failing_pass(says, small_kernel, tmp_path: Path) -> None:
    pipeline = "--pipeline=canonicalize,cute-desugar,convert-cute-to-core"
    says(
        *(small_kernel.module, "--target=sm_80", pipeline, "--dump-after=all", "-o", "out"),
        status=FAILED,
        lines=[r".*error: pass convert-cute-to-core failed: .*", r"reproducer: out/reproducer-03-.*"],
    )
    record = read_folder(tmp_path / "out")
    assert record.failure is not None
    assert record.steps[1].dump == "02-cute-desugar.mlir"
    saved = (tmp_path / "out" / (record.failure.reproducer or "")).read_bytes()
    with fresh_context():
        assert to_text(parse(saved)) == to_text(parse((tmp_path / "out" / "02-cute-desugar.mlir").read_bytes()))


def test_ptxas_that_fails_names_the_kernel_and_its_words(cutecc, says, traced_kernels, tmp_path: Path) -> None:
    """Inline PTX that no assembler takes."""
    source = traced_kernels["inline_ptx"].source.read_text()
    assert "prmt.b32" in source or "asm" in source
    module = cutecc("opt", traced_kernels["inline_ptx"].module).stdout
    mnemonic = re.search(r'llvm\.inline_asm[^"]*"\s*([a-z0-9.]+)', module)
    assert mnemonic is not None
    write(tmp_path, "bad.mlir", module.replace(mnemonic[1], "frobnicate.b32"))
    text = says("bad.mlir", "--target=sm_80", "-o", "out", status=FAILED, lines=[r".*error: .*"])
    assert "frobnicate" in text
    assert "cuda-to-binary" in text or "ptxas" in text
    assert read_folder(tmp_path / "out").status == "failed"


@pytest.mark.parametrize(
    "attribute",
    [
        '#nvvm.target<chip = "sm_80", link = ["/etc/passwd"]>',
        '#nvvm.target<chip = "sm_80", flags = {"ptx-cmd-options" = ["--output-file=x"]}>',
        '#nvvm.target<chip = "sm_80", flags = {"nvvm-options" = "-x"}>',
    ],
)
def test_target_attributes_with_tool_options_are_refused(says, tmp_path: Path, attribute: str) -> None:
    write(
        tmp_path,
        "hostile.mlir",
        f"gpu.module @m [{attribute}] {{\n"
        "  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {\n    llvm.return\n  }\n}\n",
    )
    says(
        *("hostile.mlir", "--target=sm_80", "--pipeline=cuda-to-binary", "-o", "out"),
        status=FAILED,
        lines=[
            r"error: the module's GPU target names link libraries or tool options, which a module may not",
            r"hint: .*",
        ],
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hostile.mlir", "out"]


def test_verify_each_names_the_pass(cutecc, tmp_path: Path, small_kernel) -> None:
    """There is no pass of the wheel's that is known to leave an invalid module; that none here does is the test."""
    cutecc("compile", small_kernel.module, "--target=sm_80", "--verify-each", "-o", "out", "-q")
    assert read_folder(tmp_path / "out").status == "ok"


def test_a_trace_that_fails_is_a_record_too(cutecc, tmp_path: Path) -> None:
    write(tmp_path, "kernel.py", KERNEL.replace("src[thread]\n", "src[thread] + missing_name\n"))
    cutecc("compile", "kernel.py:copy", *ARGS, "-o", "out", status=FAILED)
    record = read_folder(tmp_path / "out")
    assert record.status == "failed"
    assert record.failure is not None
    assert record.failure.stage == "trace"
    assert "missing_name" in record.failure.message


def test_a_dump_is_not_compiled_into_its_own_folder(says, cutecc, small_kernel, tmp_path: Path) -> None:
    """The new run would begin by removing it."""
    cutecc("compile", small_kernel.module, "--target=sm_80", "--stop-after=cse#1", "--dump-after=cse#1", "-o", "out")
    before = sorted(path.name for path in (tmp_path / "out").iterdir())
    says(
        "out/14-cse.mlir",
        "-q",
        "-o",
        "out",
        status=USAGE,
        lines=[r"error: the output folder out holds the input.*", r"hint: .*"],
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == before


# What an error looks like.


def test_debug_shows_where_it_comes_from(cutecc, command: Path) -> None:
    for arguments, env in ((["--debug"], {}), ([], {"CUTECC_DEBUG": "1"})):
        done = subprocess.run(
            [command, *arguments, "compile", "missing.mlir", "--target=sm_80"],
            capture_output=True,
            text=True,
            env={**os.environ, **env},
        )
        assert done.returncode == USAGE
        assert "Traceback (most recent call last)" in done.stderr
        assert "error: cannot read missing.mlir" in done.stderr
    assert (
        "Traceback"
        not in cutecc("compile", "missing.mlir", "--target=sm_80", status=USAGE, env={"CUTECC_DEBUG": "0"}).stderr
    )


def test_debug_shows_the_workers_side_too(cutecc, small_kernel) -> None:
    request = ("compile", small_kernel.module, "--target=sm_80", "--pipeline=nonsense")
    done = cutecc("--debug", *request, status=USAGE)
    assert "check_registered" in done.stderr


def test_errors_have_colour_on_demand_only(cutecc) -> None:
    assert "\x1b[" not in cutecc("compile", "missing.mlir", "--target=sm_80", status=USAGE).stderr
