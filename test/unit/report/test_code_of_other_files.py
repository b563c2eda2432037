"""Code of functions in other files than the kernel's: each instruction has a line that is there, and the right one."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest

import cutecc
from cutecc.arguments.grammar import parse_spec
from cutecc.compilation.request import CompileOptions
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.kernel import Kernel
from cutecc.ptx.locations import PtxText, python_line
from cutecc.report.frames import Frames
from cutecc.report.listings import Listing, ptx_listing, sass_listing
from cutecc.report.sass_places import sass_functions
from cutecc.support import isolation
from cutecc.support.locations import Frame

pytestmark = pytest.mark.slow

KERNEL = """\
import cutlass
from cutlass import cute

from placed_steps import step


@cute.kernel
def placed_kernel(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x[i] = step(x[i])


@cute.jit
def placed(x: cute.Tensor):
    placed_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""
# Longer than the kernel's file: a line of these that is ascribed to it is not there.
STEPS = (
    "\n" * 40
    + """\
from cutlass import cute

from placed_library import curve


def step(value):
    bent = cute.math.tanh(value)
    return curve(bent)
"""
)
LIBRARY = (
    "\n" * 80
    + """\
from cutlass import cute


def curve(value):
    return cute.math.exp2(value, fastmath=True) + cute.math.rsqrt(value)
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("placed")
    installed(folder).mkdir(parents=True)
    for path, text in (
        (folder / "placed.py", KERNEL),
        (folder / "placed_steps.py", STEPS),
        (installed(folder) / "placed_library.py", LIBRARY),
    ):
        path.write_text(text)
    return folder


def installed(folder: Path) -> Path:
    """Where packages of a user are whose `PYTHONUSERBASE` is the folder."""
    return Path(sysconfig.get_path("purelib", "posix_user", {"userbase": str(folder)}))


@pytest.fixture(scope="module")
def compiled(folder: Path) -> tuple[Kernel, Frames]:
    request = TraceRequest(str(folder / "placed.py"), args={"x": parse_spec("f32[32]")}, target="sm_80")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.syspath_prepend(installed(folder))
        module: TracedModule = isolation.call(
            "cutecc.frontend.trace:trace_file", request, environment={"PYTHONUSERBASE": str(folder)}
        )
    kernel = cutecc.compile_module(module.bytecode, target="sm_80", options=CompileOptions(report=True))
    assert module.lines is not None
    return kernel, Frames(module.lines)


def line_of(text: str, start: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.strip().startswith(start))


def places_of(listing: Listing, pattern: str) -> list[tuple[Frame, ...]]:
    found = [
        listing.table[place]
        for line, place in zip(listing.text.split("\n"), listing.places, strict=True)
        if re.search(pattern, line)
    ]
    assert found
    return found


TANH, CURVE = line_of(STEPS, "bent ="), line_of(STEPS, "return curve")
EXP2 = line_of(LIBRARY, "return")
CALL = line_of(KERNEL, "x[i] = step")


def test_every_place_is_in_its_file(compiled: tuple[Kernel, Frames], folder: Path) -> None:
    kernel, _ = compiled
    listings = [
        ptx_listing(kernel.ptx, "k.ptx"),
        sass_listing(kernel.sass, "k.sass", sass_functions(kernel.sass, [PtxText(kernel.ptx)])),
    ]
    frames = {frame for listing in listings for place in listing.table for frame in place}
    assert {Path(frame.file).name for frame in frames} == {"placed.py", "placed_steps.py", "placed_library.py"}
    for frame in frames:
        assert Path(frame.file).read_text().split("\n")[frame.line - 1].strip(), f"{frame} is an empty line"


@pytest.mark.parametrize(
    ("ptx", "sass", "lines"),
    [
        (r"mul\.f32 .*0f4038AA3B", "MUFU.TANH|MUFU.EX2", [("placed_steps.py", TANH), ("placed.py", CALL)]),
        (
            r"rsqrt\.approx",
            "MUFU.RSQ",
            [("placed_library.py", EXP2), ("placed_steps.py", CURVE), ("placed.py", CALL)],
        ),
    ],
    ids=["assembly", "library"],
)
def test_instructions_belong_to_all_lines_of_their_calls(
    compiled: tuple[Kernel, Frames], folder: Path, ptx: str, sass: str, lines: list[tuple[str, int]]
) -> None:
    kernel, frames = compiled
    folders = {"placed_library.py": installed(folder)}
    wanted = {(str(folders.get(name, folder) / name), line) for name, line in lines}
    for listing, pattern in (
        (ptx_listing(kernel.ptx, "k.ptx"), ptx),
        (sass_listing(kernel.sass, "k.sass", sass_functions(kernel.sass, [PtxText(kernel.ptx)])), sass),
    ):
        assert wanted in [frames.lines(place) for place in places_of(listing, pattern)]


def test_what_executes_ptx_knows_the_statement_too(compiled: tuple[Kernel, Frames], folder: Path) -> None:
    ptx = compiled[0].ptx
    number = next(n for n, line in enumerate(ptx.split("\n"), 1) if "0f4038AA3B" in line)
    found = python_line(ptx, number)
    assert found is not None and (found.file, found.line) == (str(folder / "placed_steps.py"), TANH)
