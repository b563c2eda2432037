"""`cutecc_bundle.h`: a C program reads the bundles that Python writes, and refuses what is damaged without a fault."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from bundles import record, sealed

import cutecc
from cutecc.record import host_program
from cutecc.record.bundle import encode_bundle
from cutecc.record.host_program import Block, HostProgram, KernelEntry, KernelParameter

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent / "c" / "read_bundle.c"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

PROGRAM = host_program.encode(
    HostProgram(
        function='a "function"',
        arguments=[],
        types=[],
        kernels=[
            KernelEntry("add_kernel_0", [KernelParameter(0, 8, 8)], 8),
            KernelEntry("scale_kernel_1", [KernelParameter(0, 8, 8), KernelParameter(8, 4, 4)], 12),
        ],
        body=Block(),
        strings=['{"kernels": [', "\\"],
    )
)


def build(compiler: str, program: Path, *flags: str) -> bool:
    command = [compiler, *flags, *WARNINGS, "-I", cutecc.include_path(), SOURCE, "-o", program]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if any(flag.startswith("-fsanitize") for flag in flags):
        # The sanitizers' libraries are not everywhere.
        return done.returncode == 0 and subprocess.run([program], capture_output=True).returncode == 2
    assert done.returncode == 0, done.stderr
    return True


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory):
    """Runs the C program, built with sanitizers where there are any; gives its lines."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler (cc) on this machine")
    program = tmp_path_factory.mktemp("c") / "read_bundle"
    flags = ["-std=c99", "-O1", "-g"]
    if not build(compiler, program, *flags, *SANITIZERS):
        build(compiler, program, *flags)

    def run(*arguments: object) -> list[str]:
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    return run


def test_the_header_is_cpp_too(tmp_path: Path) -> None:
    compiler = shutil.which("c++") or pytest.skip("no C++ compiler (c++) on this machine")
    build(compiler, tmp_path / "read_bundle", "-x", "c++", "-std=c++11")


def test_it_reads_what_python_writes(reader, tmp_path: Path) -> None:
    first = record(cubin=b"eighty", ptx=b"ptx", host_program=PROGRAM)
    second = record("sm_90a", cubin=bytes(1000), host_program=PROGRAM)
    (tmp_path / "k.cutecc").write_bytes(encode_bundle([first, second]))
    lines = reader("show", tmp_path / "k.cutecc", 9, 0)
    assert lines[:6] == [
        "target sm_80",
        "target sm_90a",
        "cubin sm_90a/k.cubin 1000 0",
        "kernel add_kernel_0 8",
        "kernel scale_kernel_1 12",
        "a buffer of 2 bytes is too small",
    ]
    assert lines[6].startswith("manifest ")


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ((8, 0), "cubin sm_80/"),
        ((8, 6), "cubin sm_86/"),
        ((8, 9), "cubin sm_86/"),
        ((9, 0), "cubin sm_90a/"),
        ((10, 0), "cubin sm_100f/"),
        ((10, 3), "cubin sm_100f/"),
        # No machine code, and the PTX of sm_90a and sm_100f is for their own kind only.
        ((12, 0), "ptx sm_86/"),
        ((7, 5), "no code"),
    ],
)
def test_the_code_for_a_device(reader, tmp_path: Path, device: tuple[int, int], expected: str) -> None:
    targets = ["sm_90", "sm_100f", "sm_86", "sm_80", "sm_90a"]
    both = {"cubin": b"c", "ptx": b"p"}
    files = {target: {"cubin": b"c"} if target == "sm_90" else both for target in targets}
    data = encode_bundle([record(target, **files[target]) for target in targets])
    (tmp_path / "k.cutecc").write_bytes(data)
    assert reader("show", tmp_path / "k.cutecc", *device)[len(targets)].startswith(expected)


def test_of_several_modules_the_first(reader, tmp_path: Path) -> None:
    from cutecc.record import Artifact

    compilation = record(cubin=b"c")
    compilation.artifacts.append(Artifact("cubin", "k-2.cubin"))
    compilation.files["k-2.cubin"] = b"second"
    (tmp_path / "k.cutecc").write_bytes(encode_bundle([compilation]))
    assert reader("show", tmp_path / "k.cutecc", 8, 0)[1].startswith("cubin sm_80/k.cubin 1 ")


def test_no_host_program_no_kernel_names(reader, tmp_path: Path) -> None:
    (tmp_path / "k.cutecc").write_bytes(encode_bundle([record()]))
    assert not [line for line in reader("show", tmp_path / "k.cutecc", 8, 0) if line.startswith("kernel")]


def test_what_is_no_bundle(reader, tmp_path: Path) -> None:
    path = tmp_path / "k.cutecc"
    assert reader("show", path, 8, 0) == ["error 1: the file cannot be read"]
    assert reader("show", tmp_path, 8, 0) == ["error 1: the file cannot be read"]
    for data in (b"", b"PK", b"PK\x03\x04" + bytes(50), b"x" * 1000):
        path.write_bytes(data)
        assert reader("show", path, 8, 0) == ["error 3: not a bundle of cutecc"]
    path.write_bytes(encode_bundle([record()])[:-1])
    assert reader("show", path, 8, 0) == ["error 5: the bundle is damaged: copy or build it again"]
    path.write_bytes(sealed({"targets": ["sm_80"], "version": "2.0"}, []))
    (line,) = reader("show", path, 8, 0)
    assert line.startswith("error 4: a newer version of the bundle format")
    path.write_bytes(sealed({"targets": ["sm_80"], "version": "1.9", "novelty": [{"targets": 3}]}, []))
    assert reader("show", path, 8, 0) == ["target sm_80", "no code"]


def test_every_cut_and_thousands_of_edits_are_refused(reader, tmp_path: Path) -> None:
    path = tmp_path / "k.cutecc"
    path.write_bytes(encode_bundle([record(cubin=b"c", host_program=PROGRAM), record("sm_90a")]))
    assert reader("fuzz", path, 1, 20_000) == ["refused all"]


def test_hostile_json_under_the_right_hash(reader, tmp_path: Path) -> None:
    """Whoever makes a bundle can put anything into it."""
    path = tmp_path / "k.cutecc"
    random.seed(7)
    texts = [
        b"",
        b"{",
        b'{"kernels',
        b'{"kernels":[',
        b'{"kernels":[{"name":"',
        b'{"kernels":[{"name":"\\',
        b"[" * 5000,
    ]
    texts += [b'{"kernels":[{"name":"' + b"x" * 600 + b'"}]}', b'{"kernels":{"name":"a"}}', b'{"kernels":[[],{}]}']
    for _ in range(60):
        text = bytearray(PROGRAM)
        for _ in range(random.randint(1, 4)):
            text[random.randrange(len(text))] = random.choice(b'{}[]",:\\ 9a\0')
        texts.append(bytes(text[: random.randint(1, len(text))]))
    for text in texts:
        data = sealed({"targets": ["sm_80"]}, [("sm_80/k.cubin", b""), ("sm_80/k.host.json", text)])
        path.write_bytes(data)
        assert reader("show", path, 8, 0)[:2] == ["target sm_80", "cubin sm_80/k.cubin 0 0"]
    for targets in (3, "x", {}, [[]], ["\\"], [3], ["a\\u0041"], ["x" * 5000], [None, "sm_80"]):
        path.write_bytes(sealed({"targets": targets}, [("sm_80/k.cubin", b"")]))
        reader("show", path, 8, 0)
