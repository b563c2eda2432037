"""Every kernel of the repository on the emulator, at small and ragged sizes, against its reference."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import NEEDS_TORCH
from emulated_runs import EmulatedKernels

sys.path.insert(0, str(Path(__file__).parents[2] / "gpu"))

from bench_report import longer_kernel
from kernels import FILES, points

from cutecc.compilation.request import CompileOptions
from cutecc.emulator.options import EmulatorOptions
from cutecc.frontend.header import read_header
from cutecc.harness.arguments import Arguments, make_arguments
from cutecc.target import Target

pytestmark = pytest.mark.slow

WITH_LINES = CompileOptions(line_info=True, artifacts=("ptx", "host-program"))
MOST_ELEMENTS = 60_000
"""Of a point's tensors: larger ones are run where they are compared with a GPU."""
MORE_ELEMENTS = {"attention_sm90": 110_000}
"""Of what has to be larger for its main loop to be entered."""
SCHEDULES = ("round-robin", "random", "adversarial")
OF_ONE_TARGET = ("large_unrolled",)
"""What takes as long as ten others, also over fewer keys than it has, and uses only what every target has."""
KEYS = 192
"""Three blocks of three steps each."""


def cases() -> Iterator[tuple[Path, str]]:
    """Each kernel for the targets that it can be compiled for and the emulator models."""
    for file in FILES:
        own = Target.parse(read_header(file).target or "sm_80")
        if own.suffix or file.stem in OF_ONE_TARGET:
            yield file, own.name
        else:
            yield from ((file, target) for target in ("sm_80", "sm_90a") if own <= Target.parse(target))


CASES = list(cases())
OF_LLVM = [
    (file, target)
    for file, target in CASES
    if target == "sm_90a"
    and file.stem
    in (
        *("cluster_reduce", "cooperative_launch", "fp8_convert", "gemm", "histogram", "math_functions", "rmsnorm"),
        *("softmax", "tma_multicast", "tma_reduce", "warp_ops", "wgmma_registers"),
        # What the open lowering has for Hopper beside these.
        *("attention_sm90", "experimental_pipeline", "gemm_cooperative", "gemm_fp8", "gemm_pingpong"),
        *("grouped_gemm", "hopper_gemm", "im2col", "tma_copy"),
    )
]
"""Those that are lowered in the open too, for which LLVM generates code: each feature that the translation mends."""


@pytest.mark.parametrize(
    ("file", "target", "pipeline"),
    [
        pytest.param(
            *(file, target, pipeline),
            id=f"{file.stem}-{target}-{pipeline}",
            marks=[pytest.mark.torch] * (file.stem in NEEDS_TORCH),
        )
        for file, target in CASES
        # One after the other: they share the trace.
        for pipeline in ("nvidia", *["open"] * ((file, target) in OF_LLVM))
    ],
)
def test_it_agrees_with_its_reference(
    file: Path, target: str, pipeline: str, emulated: EmulatedKernels, shorter: Path
) -> None:
    file = shorter if file.name == shorter.name else file
    header = read_header(file)
    kernel = emulated.compile(file, pipeline, target=target, options=WITH_LINES)
    tried = [make_arguments(header.args, header.outputs, sizes=sizes) for sizes in points(file)]
    tried.sort(key=elements)
    most = MORE_ELEMENTS.get(file.stem, MOST_ELEMENTS)
    small = [arguments for arguments in tried if elements(arguments) <= most] or tried[:1]
    for arguments, schedule in zip(reversed(small), SCHEDULES, strict=False):
        arguments.randomize(1)
        emulator = EmulatorOptions(schedule=schedule, seed=1)
        emulated.agrees_with(kernel, file, header, arguments, header.reference, emulator)


COPIES = Path(__file__).parents[1] / "passes" / "lowering" / "kernels" / "cluster_copies.py"


# The wheel's lowering takes no barrier of another block for `CopyBulkS2SOp`.
@pytest.mark.parametrize(("entry", "pipeline"), [("exchange", "open"), ("spread", "nvidia"), ("spread", "open")])
def test_copies_between_the_blocks_of_a_cluster(entry: str, pipeline: str, emulated: EmulatedKernels) -> None:
    kernel = emulated.compile(COPIES, pipeline, target="sm_90a", entry=entry, options=WITH_LINES)
    emulator = EmulatorOptions(schedule="random", seed=1, check="all")
    emulated.agrees(kernel, COPIES, reference=f"{entry}_reference", emulator=emulator)


@pytest.fixture(scope="module")
def shorter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The large kernel over fewer keys."""
    path = tmp_path_factory.mktemp("shorter") / "large_unrolled.py"
    path.write_text(longer_kernel(KEYS))
    return path


def elements(arguments: Arguments) -> int:
    return sum(tensor.codes.size for tensor in arguments.tensors)
