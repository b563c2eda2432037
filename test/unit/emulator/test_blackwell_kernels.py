"""Kernels for Blackwell by both pipelines: the same results on the emulator, and code that needs no more of a GPU.

There is no such GPU here. What a main loop has of products, tensor memory, copies by TMA and barriers is counted by
`main_loops`, for each other: code generators unroll by other numbers.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_blackwell_code import FILES, Code
from emulated_runs import EmulatedKernels

from cutecc.compilation.request import CompileOptions
from cutecc.emulator.options import EmulatorOptions
from cutecc.frontend.header import read_header
from cutecc.harness.arguments import Arguments, make_arguments
from cutecc.kernel import Kernel

QUICK = ("f32x2_softmax", "gemm_mxfp4_sm120", "tcgen05_gemm", "tmem_from_smem")
"""What `make test` has of them: packed arithmetic, products of a warp and of tensor memory, and copies into it."""
OPTIONS = CompileOptions(artifacts=("ptx", "cubin", "host-program"))
CHECKED = EmulatorOptions(check="all")
MORE_REGISTERS = 4
REGISTERS = {
    # LLVM keeps the first address of each access and adds the step to all; the wheel's generator moves a few pointers.
    "gemm_mxf8f6f4_sm120": 10,  # 80 for 70
    "gemm_mxfp4_sm120": 18,  # 96 for 78
    # The kernel copies scales byte by byte. LLVM loads sixteen at once, but has each in a register until a product.
    "gemm_nvfp4_sm120": 8,  # 224 for 216
}
"""How many over the wheel's others take, and why."""
MERGED = {"narrow_matrices": frozenset({(("ldmatrix", 5), ("stmatrix", 1))})}
"""What else the code has: of two `ldmatrix` of the same matrices in a row, LLVM leaves one."""
CASES = [pytest.param(file, id=file.stem, marks=[pytest.mark.slow] * (file.stem not in QUICK)) for file in FILES]


class Compiled:
    """A kernel by both pipelines, at the sizes and for the first target of its header."""

    def __init__(self, file: Path, emulated: EmulatedKernels) -> None:
        self.file = file
        self.header = read_header(file)
        target = (self.header.target or "").split(",")[0]
        self.wheel, self.open = (
            emulated.compile(file, pipeline, target=target, options=OPTIONS) for pipeline in ("nvidia", "open")
        )

    def results(self, kernel: Kernel, emulated: EmulatedKernels) -> list[bytes]:
        """The bits of the outputs, which agree with the reference; with all checks nothing is found."""
        arguments: Arguments = make_arguments(self.header.args, self.header.outputs)
        arguments.randomize(1)
        emulated.agrees_with(kernel, self.file, self.header, arguments, self.header.reference, CHECKED)
        return [output.codes.tobytes() for output in arguments.outputs]


@pytest.fixture(scope="module")
def compiled(request: pytest.FixtureRequest, emulated: EmulatedKernels) -> Compiled:
    return Compiled(request.param, emulated)


@pytest.mark.parametrize("compiled", CASES, indirect=True)
def test_both_pipelines_agree_with_the_reference_and_bit_for_bit(compiled: Compiled, emulated: EmulatedKernels) -> None:
    assert compiled.results(compiled.open, emulated) == compiled.results(compiled.wheel, emulated)


@pytest.mark.parametrize("compiled", CASES, indirect=True)
def test_code_of_the_open_lowering_needs_no_more(compiled: Compiled) -> None:
    wheel, ours = Code.of(compiled.wheel), Code.of(compiled.open)
    name = compiled.file.stem
    assert ours.steps == MERGED.get(name, wheel.steps)
    assert ours.stack <= wheel.stack
    assert ours.registers <= wheel.registers + REGISTERS.get(name, MORE_REGISTERS)
