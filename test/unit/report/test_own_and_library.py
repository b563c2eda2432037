"""The page of a kernel of cutecc's own tells the user's lines, those of the epilogue, from cutecc's."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.kernel import Kernel
from cutecc.operations import Gemm, Row
from cutecc.operations.compiling import compile_descriptions
from cutecc.record.stages import UserLines, stages_of
from cutecc.report.code import listings_of
from cutecc.report.history import histories
from cutecc.report.inlined_frames import CallSites
from cutecc.report.mapping import Mix, mix_of_record
from cutecc.support.locations import Frame

OWN = str(Path(__file__))


def scaled(accum, bias):  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
    D = accum * 2 + bias
    return D


LINE = scaled.__code__.co_firstlineno + 1


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    operation = Gemm("f16", "f16", epilogue=scaled, operands={"bias": Row("f16")}, tile="32x32x32", target="sm_80")
    (kernel,) = compile_descriptions([operation.description], options=CompileOptions(report=True), workers=None)
    assert isinstance(kernel, Kernel), kernel
    return kernel


@pytest.fixture(scope="module")
def lines(kernel: Kernel) -> UserLines:
    return stages_of(kernel.compilation).user_lines


def test_files_of_cutecc_are_a_librarys_and_the_epilogues_is_not(lines: UserLines):
    package = str(Path(cutecc.__file__).parent)
    assert set(lines.sources) - set(lines.library) == {OWN}
    assert all(file.startswith(package) for file in lines.library)


def test_an_epilogue_is_in_the_chain_from_the_kernel_to_its_operations(lines: UserLines):
    chains = [chain for chain in lines.chains if chain[0].file == OWN]
    assert {(chain[0].line, chain[0].function) for chain in chains} == {(LINE, "scaled"), (LINE + 1, "scaled")}
    assert all(chain[-1].function.endswith("kernel") for chain in chains)


def test_the_epilogues_lines_have_operations_and_instructions(kernel: Kernel):
    stages = stages_of(kernel.compilation)
    found = {each.line: each for each in histories(stages, listings_of(kernel.compilation)) if each.file == OWN}
    assert found[LINE].traced > 0 and found[LINE].ptx > 0 and found[LINE].sass > 0


def test_the_mix_tells_how_many_instructions_are_the_users(kernel: Kernel, lines: UserLines):
    mix = mix_of_record(kernel.compilation, lines)
    assert isinstance(mix, Mix)
    assert 0 < mix.kernels[0].own < mix.kernels[0].mapped
    everything = msgspec.structs.replace(lines, library=[])
    own = mix_of_record(kernel.compilation, everything)
    assert own is not None and own.kernels[0].own == own.kernels[0].mapped


def test_what_is_inlined_at_another_files_line_is_known_from_ptx():
    sites = CallSites(
        [
            "\n".join(
                [
                    '.file 1 "/kernel.py"',
                    '.file 2 "/own.py"',
                    ".loc 2 15 0, function_name $L, inlined_at 1 362 8",
                    "// begin inline asm",
                    ".loc 2 16 0, function_name $L, inlined_at 1 362 8",
                    "// end inline asm",
                ]
            )
        ]
    )
    for line in (15, 16):
        assert sites.place((Frame("/own.py", line, 0), Frame("/own.py", 362, 0))) == (Frame("/own.py", 15, 0),)
