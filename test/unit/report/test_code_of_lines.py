"""From a line of Python to the PTX and SASS made of it, through the whole compiler."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import NEEDS_TORCH

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.kernel import Kernel
from cutecc.ptx.locations import PtxText
from cutecc.report.listings import Listing, llvm_ir_listing, ptx_listing, sass_listing
from cutecc.report.mapping import KernelMix, mix_of_record, statement_lines
from cutecc.report.sass_places import sass_functions

EXAMPLES = Path(__file__).parents[3] / "examples"
COMPILED = [
    ("elementwise_add", "sm_80"),
    *((name, "sm_90a") for name in ("elementwise_add", "naive_gemm_f64", "softmax")),
    *((name, "sm_90a") for name in ("gemm", "hopper_gemm")),
    ("bring_your_own_kernel", "sm_90a"),
]
LEAST_SHARE = 0.9


def traced(file: Path, target: str) -> TracedModule:
    header = read_header(file)
    return trace_file(TraceRequest(str(file), None, header.entry, header.args, target, header.arg_sources))


def lowered(module: TracedModule, target: str, options: CompileOptions) -> Kernel:
    return cutecc.compile_module(module.bytecode, target=target, options=options)


@cache
def example(name: str, target: str) -> tuple[TracedModule, Kernel]:
    """An example as it is compiled for a report."""
    module = traced(EXAMPLES / f"{name}.py", target)
    return module, lowered(module, target, CompileOptions(report=True))


@pytest.fixture(
    scope="module",
    params=[pytest.param(each, marks=pytest.mark.torch) if each[0] in NEEDS_TORCH else each for each in COMPILED],
    ids="-".join,
)
def compiled(request: pytest.FixtureRequest) -> tuple[str, TracedModule, Kernel]:
    """Each example, with its target."""
    name, target = request.param
    return target, *example(name, target)


def instructions(sass: str) -> list[str]:
    return [line for line in sass.split("\n") if "//## File" not in line]


def kernel_mixes(module: TracedModule, kernel: Kernel) -> list[KernelMix]:
    mix = mix_of_record(kernel.compilation, module.lines)
    assert mix is not None and mix.line_info
    return mix.kernels


def test_every_example_is_compiled() -> None:
    assert {name for name, _ in COMPILED} == {path.stem for path in EXAMPLES.glob("*.py")}


@pytest.mark.slow
def test_nearly_all_instructions_have_a_statement(compiled: tuple[str, TracedModule, Kernel]) -> None:
    _, module, kernel = compiled
    for each in kernel_mixes(module, kernel):
        assert each.instructions > 100
        assert each.mapped / each.instructions >= LEAST_SHARE, f"{each.mapped} of {each.instructions}"
        assert "other" not in each.classes
        assert sum(each.classes.values()) == each.instructions


@pytest.mark.slow
def test_a_report_changes_no_instruction(compiled: tuple[str, TracedModule, Kernel]) -> None:
    target, module, reported = compiled
    plain = lowered(module, target, CompileOptions(artifacts=("ptx", "sass")))
    assert instructions(reported.sass) == instructions(plain.sass)
    assert "//##" in reported.sass and "//##" not in plain.sass and ".loc" not in plain.ptx
    stages = [kernel.compilation.artifact("stages") is not None for kernel in (reported, plain)]
    assert stages == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elementwise_add", "naive_gemm_f64", "softmax", "gemm", "hopper_gemm"])
def test_tracing_with_lines_changes_no_code(name: str) -> None:
    file = EXAMPLES / f"{name}.py"
    header = read_header(file)
    request = TraceRequest(str(file), None, header.entry, header.args, "sm_90a", header.arg_sources, locations=False)
    options = CompileOptions(artifacts=("ptx",))
    codes = [
        cutecc.compile_module(module.bytecode, target="sm_90a", options=options).ptx
        for module in (trace_file(request), example(name, "sm_90a")[0])
    ]
    assert codes[0] == codes[1]


def users_lines(listing: Listing, pattern: str) -> list[int]:
    """The user's line of each line of code that matches, in order; 0 for none."""
    return [
        listing.table[place][-1].line if place >= 0 else 0
        for line, place in zip(listing.text.split("\n"), listing.places, strict=True)
        if re.search(pattern, line)
    ]


def line_of(text: str, start: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.strip().startswith(start))


def test_named_lines_of_a_hopper_kernel() -> None:
    _, kernel = example("hopper_gemm", "sm_90a")
    source = (EXAMPLES / "hopper_gemm.py").read_text()
    ptx, sass = (
        ptx_listing(kernel.ptx, "k.ptx"),
        sass_listing(kernel.sass, "k.sass", sass_functions(kernel.sass, [PtxText(kernel.ptx)])),
    )
    wait, multiply = line_of(source, "cute.arch.mbarrier_wait(full + stage"), line_of(source, "cute.gemm(tiled_mma")
    # Both are inline assembly of several lines, each of which code generation puts one line further down.
    assert set(users_lines(ptx, r"wgmma\.mma_async")) == {multiply}
    assert set(users_lines(ptx, r"mbarrier\.try_wait")) == {wait}
    assert set(users_lines(sass, "TRYWAIT")) == {wait}
    # The assembler gives them no line, and the last of a group stands between the instructions of other lines.
    assert users_lines(sass, " HGMMA") == [multiply] * 4
    loads = set(users_lines(ptx, r"cp\.async\.bulk\.tensor\S+shared\S+global"))
    copies = {
        number for number, text in enumerate(source.split("\n"), 1) if re.search(r"cute\.copy\(.*tma_bar_ptr", text)
    }
    assert loads == set(users_lines(sass, "UTMALDG")) == copies


HEADER = """\
import cutlass
from cutlass import cute


@cute.kernel
def statements_kernel(single: cute.Tensor, double: cute.Tensor, short: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
"""
FOOTER = """\
    out[i] = first.to(cutlass.Float64) + second + third.to(cutlass.Float64)


@cute.jit
def statements(single: cute.Tensor, double: cute.Tensor, short: cute.Tensor, out: cute.Tensor):
    statements_kernel(single, double, short, out).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


class Statement(NamedTuple):
    text: str
    ptx: str
    sass: str


STATEMENTS = [
    Statement("first = single[i]", r"ld\.global\.(b|f)32", r"LDG\.E R"),
    Statement("second = double[i]", r"ld\.global\.(b|f)64", r"LDG\.E\.64 "),
    Statement("third = short[i]", r"ld\.global\.\w*16", r"LDG\.E\.[US]16"),
]
ARGUMENTS = {"single": "f32[32]", "double": "f64[32]", "short": "i16[32]", "out": "f64[32]"}


def statements_listings(folder: Path, source: str) -> list[Listing]:
    from cutecc.arguments.grammar import parse_spec

    file = folder / "statements.py"
    file.write_text(source)
    args = {name: parse_spec(text) for name, text in ARGUMENTS.items()}
    options = CompileOptions(line_info=True, artifacts=("llvm-ir", "ptx", "cubin", "sass"))
    kernel = lowered(trace_file(TraceRequest(str(file), args=args, target="sm_80")), "sm_80", options)
    return [
        ptx_listing(kernel.ptx, "k.ptx"),
        sass_listing(kernel.sass, "k.sass", sass_functions(kernel.sass)),
        llvm_ir_listing(kernel.llvm_ir, "k.ll"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_the_mapping_follows_statements(order: tuple[int, int, int], tmp_path: Path) -> None:
    """Independent statements in another order, with other lines between them."""
    moved = [STATEMENTS[index] for index in order]
    body = "".join(f"{'    # A remark.' * (index % 2)}\n    {each.text}\n" for index, each in enumerate(moved))
    source = HEADER + body + FOOTER
    ptx, sass, llvm_ir = statements_listings(tmp_path, source)
    for each in moved:
        line = line_of(source, each.text)
        assert users_lines(ptx, each.ptx) == [line], each.text
        assert users_lines(sass, each.sass) == [line], each.text
    store = line_of(source, "out[i] =")
    assert users_lines(ptx, r"st\.global") == users_lines(sass, r"STG\.E\.64") == [store]
    assert users_lines(llvm_ir, r"store double") == [store]
    assert {line_of(source, each.text) for each in moved} == set(
        users_lines(llvm_ir, r"= load \w+, ptr addrspace\(1\)")
    )
    # No instruction is at a launch, and none but the kernel's own prologue at a `def`.
    outside = [line for line in users_lines(sass, r"/\*[0-9a-f]{4}\*/") if line and line not in statement_lines(source)]
    assert set(outside) <= {line_of(source, "def statements_kernel") - 1}


@pytest.mark.slow
def test_a_librarys_instructions_are_at_the_users_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutecc.frontend import user_lines

    (tmp_path / "installed_library.py").write_text("def loaded(x, i):\n    value = x[i]\n    return value\n")
    before = user_lines.is_installed
    monkeypatch.setattr(user_lines, "is_installed", lambda path: path.endswith("installed_library.py") or before(path))
    source = HEADER.replace("import cutlass\n", "import cutlass\nimport installed_library\n", 1)
    source += "    first = installed_library.loaded(single, i)\n    second = double[i]\n    third = short[i]\n" + FOOTER
    ptx, sass, llvm_ir = statements_listings(tmp_path, source)
    call = line_of(source, "first =")
    for listing, pattern in ((ptx, STATEMENTS[0].ptx), (sass, STATEMENTS[0].sass), (llvm_ir, "= load float")):
        assert users_lines(listing, pattern) == [call]
        [place] = {listing.table[index] for index in listing.places if index >= 0 and len(listing.table[index]) == 2}
        assert [(Path(frame.file).name, frame.line) for frame in place] == [
            ("installed_library.py", 2),
            ("statements.py", call),
        ]
