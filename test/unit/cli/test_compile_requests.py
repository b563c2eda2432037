"""What `cutecc compile` says when the request is wrong: message, place, hint, exit code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from copied import ARGS, KERNEL, write

from cutecc.record.folder import read_folder

FAILED, USAGE = 1, 2


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    return file


# Files, functions, entries.


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["missing.py"], [r"error: there is no file missing\.py"]),
        (["missing.py:copy"], [r"error: there is no file missing\.py"]),
        (["missing.mlir"], [r"error: cannot read missing\.mlir: No such file or directory"]),
        (["add.cutecc"], [r"error: 'add\.cutecc' is neither .*", r"hint: .* to launch it: cutecc run add\.cutecc"]),
        (["kernel.cu"], [r"error: 'kernel\.cu' is neither a Python file nor a \.mlir file"]),
        ([".", "--target=sm_80"], [r"error: \. is a folder, not a kernel's file", r"hint: name a Python file .*"]),
        ([], [r"Error: Missing argument '.*'\."]),
    ],
)
def test_the_file(says, arguments: list[str], lines: list[str]) -> None:
    says(*arguments, status=USAGE, lines=lines)


def test_a_function_that_is_not_there(says, kernel) -> None:
    says(
        *("kernel.py:coppy", *ARGS),
        status=USAGE,
        lines=[
            r"error: kernel\.py has no function 'coppy'",
            r"hint: did you mean kernel\.py:copy\?",
            r"hint: @cute\.jit functions in it: copy",
        ],
    )


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("copy_kernel", [r"error: 'copy_kernel' is a @cute\.kernel, .*", r"hint: name the @cute\.jit function .*"]),
        ("plain", [r"error: 'plain' is a function without @cute\.jit"]),
        ("Copy", [r"error: 'Copy' is a class", r"hint: make an object of it: 'Copy\(…\)'"]),
    ],
)
def test_something_else_than_a_host_function(says, kernel, name: str, lines: list[str]) -> None:
    says(f"kernel.py:{name}", *ARGS, status=USAGE, lines=lines)


def test_a_file_with_several_or_none(says, tmp_path: Path) -> None:
    second = KERNEL[KERNEL.index("@cute.jit") : KERNEL.index("def plain")].replace("def copy(", "def copy_again(")
    write(tmp_path, "two.py", KERNEL + "\n\n" + second)
    says(
        *("two.py", *ARGS),
        status=USAGE,
        lines=[
            r"error: two\.py has 2 @cute\.jit functions: copy \(line 12\), copy_again \(line \d+\)",
            r"hint: choose one: two\.py:copy",
        ],
    )
    write(tmp_path, "none.py", "x = 1\n")
    says("none.py", *ARGS, status=USAGE, lines=[r"error: none\.py has no @cute\.jit function", r"hint: .*--entry.*"])


@pytest.mark.parametrize(
    ("entry", "lines"),
    [
        ("Coppy(4)", [r".*error: entry 'Coppy\(4\)' of kernel\.py: NameError: .*", r"hint: did you mean Copy\?"]),
        ("Copy(", [r".*error: entry 'Copy\(' of kernel\.py: .*", r" *Copy\(", r" *\^"]),
        ("Copy()", [r".*error: entry 'Copy\(\)' of kernel\.py: TypeError: .*threads.*"]),
        ("1 / 0", [r".*error: entry '1 / 0' of kernel\.py: ZeroDivisionError: .*"]),
        ("Copy", [r".*error: 'Copy' is a class.*"]),
    ],
)
def test_entries(says, kernel, entry: str, lines: list[str]) -> None:
    says("kernel.py", "--entry", entry, *ARGS, status=USAGE, lines=lines)


def test_a_good_entry(cutecc, kernel, tmp_path: Path) -> None:
    done = cutecc("compile", "kernel.py", "--entry", "Copy(threads=64)", *ARGS)
    (resources,) = read_folder(tmp_path / done.stdout.strip()).resources
    assert resources.occupancy is not None
    assert resources.occupancy.block_threads == 64


# Argument specs.


def test_a_parameter_without_a_spec_shows_it_and_one_that_would_fit(says, kernel) -> None:
    text = says(
        *("kernel.py:copy", "--arg", "src=f32[32]", "--target=sm_80"), status=USAGE, lines=[r".*error: .*'?dst'?.*"]
    )
    assert "kernel.py:12" in text
    assert "cute.Tensor" in text
    assert re.search(r"--arg dst=", text)


@pytest.mark.parametrize(
    ("argument", "lines"),
    [
        ("src=f33[32]", [r"--arg src:1: error: .*f33.*", r"  f33\[32\]", r"  \^+"]),
        ("src=f32[32", [r"--arg src:7: error: .*", r"  f32\[32", r" {8}\^"]),
        ("src=f32[32]x", [r"--arg src:8: error: .*"]),
        ("src", [r"error: --arg takes NAME=SPEC, not 'src'", r"hint: .*"]),
        ("=f32[32]", [r"error: --arg takes NAME=SPEC, not '=f32\[32\]'"]),
        ("sorce=f32[32]", [r".*error: .*sorce.*"]),
        ("src=i32=3", [r".*error: .*"]),
    ],
)
def test_wrong_specs(says, kernel, argument: str, lines: list[str]) -> None:
    says("kernel.py:copy", "--arg", argument, "--arg", "dst=f32[32]", "--target=sm_80", status=USAGE, lines=lines)


def test_a_wrong_header_is_located_in_the_file(says, tmp_path: Path) -> None:
    write(tmp_path, "header.py", "# cutecc: target = sm_80\n" + KERNEL)
    says(
        "header.py:copy",
        status=USAGE,
        lines=[r"header\.py:1:\d+: error: the header is not TOML: .*", r"  # cutecc: target = sm_80", r" +\^"],
    )
    write(tmp_path, "header.py", '# cutecc: traget = "sm_80"\n' + KERNEL)
    says(
        "header.py:copy",
        status=USAGE,
        lines=[r"header\.py:1:11: error: unknown key 'traget' in the header", r"hint: did you mean target\?"],
    )


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (
            'reference = "plan"',
            [
                r"header\.py:1:24: error: reference: header\.py defines no 'plan'",
                r" +\^\^\^\^",
                r"hint: did you mean plain\?",
            ],
        ),
        (
            'peers = ["plain", "nope"]',
            [r"header\.py:1:30: error: peers: header\.py defines no 'nope'", r" +\^\^\^\^"],
        ),
        (
            'outputs = ["src", "dest"]',
            [
                r"header\.py:1:30: error: outputs: copy has no parameter 'dest'",
                r" +\^\^\^\^",
                r"hint: did you mean dst\?",
                r"hint: parameters: src, dst",
            ],
        ),
    ],
)
def test_a_header_that_names_what_is_not_there(says, tmp_path: Path, line: str, lines: list[str]) -> None:
    write(tmp_path, "header.py", f"# cutecc: {line}\n{KERNEL}")
    says("header.py", *ARGS, status=USAGE, lines=lines)


def test_the_headers_specs_are_for_its_entry(says, tmp_path: Path) -> None:
    header = '# cutecc: entry = "copy"\n# cutecc: args.dst = "f32[32]"\n# cutecc: outputs = ["dst"]\n'
    write(tmp_path, "header.py", f"{header}{KERNEL}\n\n@cute.jit\ndef other(x: cute.Tensor):\n    pass\n")
    says(
        "header.py:other",
        "--target=sm_80",
        status=USAGE,
        lines=[
            r"header\.py:2:\d+: error: other has no parameter 'dst'",
            r"note: the header's specs are for its entry 'copy'",
        ],
    )


def test_arg_and_entry_are_for_python(says, small_kernel) -> None:
    lines = [r"error: --arg and --entry are for Python files", r"hint: .*"]
    says(small_kernel.module, "--arg", "a=f32", "--target=sm_80", status=USAGE, lines=lines)
    says(small_kernel.module, "--entry", "x", "--target=sm_80", status=USAGE, lines=lines)


# Targets.


@pytest.mark.parametrize("target", ["sm_42", "sm_80,sm_42", "h100"])
def test_an_unknown_target(says, small_kernel, target: str) -> None:
    says(
        small_kernel.module,
        "--target",
        target,
        status=USAGE,
        lines=[r"error: unknown target '(sm_42|h100)'", r"hint: known targets: sm_80, .*sm_121f"],
    )


def test_the_target_is_in_a_modules_name(cutecc, small_kernel, tmp_path: Path) -> None:
    (tmp_path / "k-sm_90a.mlirbc").write_bytes(small_kernel.bytecode)
    cutecc("compile", "k-sm_90a.mlirbc", "--stop-after=cute-desugar", "-o", "out", env={"CUDA_VISIBLE_DEVICES": ""})
    assert read_folder(tmp_path / "out").target == "sm_90a"
    (tmp_path / "k-sm_80.mlirbc").write_bytes(small_kernel.bytecode)
    assert ".target sm_80" in cutecc("opt", "k-sm_80.mlirbc", "--pipeline=nvidia", "--emit=ptx").stdout


def test_no_target(says, small_kernel, tmp_path: Path) -> None:
    """On a machine without a GPU; the driver's library is hidden in case there is one."""
    (tmp_path / "k.mlirbc").write_bytes(small_kernel.bytecode)
    says(
        "k.mlirbc",
        status=USAGE,
        env={"CUDA_VISIBLE_DEVICES": ""},
        lines=[
            r"error: no target: none is given, and this machine has no GPU to compile for",
            r"hint: .*--target sm_90a.*",
        ],
    )


# Passes, pipelines, options.


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (
            ["--stop-after=no-such-pass"],
            [r"error: no pass 'no-such-pass' in the pipeline", r"hint: the pipeline has .*cse.*"],
        ),
        (
            ["--stop-after=cute-desugra"],
            [r"error: no pass 'cute-desugra' in the pipeline", r"hint: did you mean cute-desugar\?"],
        ),
        (["--stop-after=cse"], [r"error: 'cse' runs 2 times in the pipeline", r"hint: say which: cse#1, cse#2"]),
        (["--start-after=cse"], [r"error: 'cse' runs 2 times in the pipeline"]),
        (
            ["--start-after=cse#2", "--stop-after=cse#1"],
            [r"error: nothing to run between cse#2 and stopping after cse#1"],
        ),
        (
            ["--start-after=cuda-error-handling"],
            [r"error: nothing to run between cuda-error-handling and the end of the pipeline"],
        ),
        (["--without=nothing"], [r"error: no pass 'nothing' in the pipeline"]),
        (["--insert-after=cse"], [r"error: --insert-after takes PASS=NEW, not 'cse'"]),
        (["--insert-before==cse"], [r"error: --insert-before takes PASS=NEW, not '=cse'"]),
        (["--replace=cse="], [r"error: --replace takes PASS=NEW, not 'cse='"]),
        (["--replace=cse#9=canonicalize"], [r"error: 'cse#9': cse occurs 2 times, counted from #1"]),
        (
            ["--insert-after=cse=nonsense"],
            [r"error: no pass is called 'nonsense'", r"hint: cutecc passes lists them all"],
        ),
        (["--insert-after=cse=canonicalize{speed=9}"], [r"error: pass canonicalize does not take the options .*"]),
        (["--insert-after=cse=cse,cse"], [r"error: 'cse,cse' is not one pass"]),
        (["--pipeline=cse,no-such-pass"], [r"error: no pass is called 'no-such-pass'"]),
        (["--pipeline=cse{"], [r"error: .*'}' is missing.*"]),
        (["--pipeline=missing.pipeline"], [r"error: pipeline file missing\.pipeline does not exist"]),
        (["--pipeline=cuda-compute-target"], [r"error: pass cuda-compute-target does not run on a module"]),
        (["--dump-after=no-such-pass"], [r"error: no pass 'no-such-pass' in the pipeline"]),
        (["--dump-before=no-such-pass"], [r"error: no pass 'no-such-pass' in the pipeline"]),
        (["--dump-after=cse#7"], [r"error: 'cse#7': cse occurs 2 times, counted from #1"]),
        (["--ptxas=/no/such/ptxas"], [r"error: --ptxas: there is no program /no/such/ptxas"]),
        (["--link-libraries=/no/such.bc"], [r"error: --link-libraries: there is no file /no/such\.bc"]),
        (["--opt-level=4"], [r"Error: Invalid value for '--opt-level': 4 is not in the range 0<=x<=3\."]),
        (["--opt-level=fast"], [r"Error: Invalid value for '--opt-level': .*"]),
        (["--no-such-option"], [r"Error: No such option '?--no-such-option'?.*"]),
        (["--nvvm-options=-opt=3 } canonicalize {"], [r"error: libNVVM option '}': .*"]),
    ],
)
def test_passes_and_options(says, small_kernel, tmp_path: Path, options: list[str], lines: list[str]) -> None:
    says(small_kernel.module, "--target=sm_80", *options, "-o", "out", status=USAGE, lines=lines)
    assert not (tmp_path / "out").exists(), "a record that is there would have been lost"


@pytest.mark.parametrize("option", ["--output-file=x", "-o x", "--options-file=x", "--input-as-string", "x.ptx"])
def test_ptxas_options_that_name_files_are_refused(says, small_kernel, tmp_path: Path, option: str) -> None:
    says(small_kernel.module, "--target=sm_80", f"--ptxas-options={option}", status=USAGE, lines=[r"error: .*"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "way"),
    [
        *((option, "pipeline") for option in ("dump-ptx-path", "dump-cubin-path", "output-json-path", "toolkit", "l")),
        *(("toolkit", way) for way in ("file", "insert", "replace")),
    ],
)
def test_options_that_name_a_path_are_refused(says, small_kernel, tmp_path: Path, option: str, way: str) -> None:
    text = f"cuda-to-binary{{{option}={tmp_path}/x}}"
    write(tmp_path, "p.pipeline", text)
    arguments = {
        "pipeline": f"--pipeline={text}",
        "file": "--pipeline=p.pipeline",
        "insert": f"--insert-after=cse={text}",
        "replace": f"--replace=cuda-to-binary={text}",
    }[way]
    says(
        small_kernel.module,
        "--target=sm_80",
        arguments,
        status=USAGE,
        lines=[rf"error: pass cuda-to-binary: option '{option}' names a path .*", r"hint: .*"],
    )
    assert [path.name for path in tmp_path.iterdir()] == ["p.pipeline"]


def test_a_python_file_has_no_stage_to_start_after(says, kernel) -> None:
    says(
        *("kernel.py:copy", *ARGS, "--start-after=cse#1"),
        status=USAGE,
        lines=[r"error: --start-after goes on from a dump", r"hint: name the dump .*"],
    )
