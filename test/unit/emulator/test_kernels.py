"""Every kernel of the repository on the emulator, at small and ragged sizes, against its reference."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import NEEDS_TORCH

sys.path.insert(0, str(Path(__file__).parents[2] / "gpu"))

from bench_report import longer_kernel
from kernels import FILES, points

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.emulator.names import models
from cutecc.emulator.options import EmulatorOptions
from cutecc.frontend.companions import call_reference
from cutecc.frontend.header import Header, read_header
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.harness.arguments import Arguments, make_arguments
from cutecc.harness.on_device import DeviceArguments, HostMemory, compare_outputs
from cutecc.kernel import Kernel
from cutecc.record import Workload
from cutecc.support.isolation import Worker
from cutecc.target import Target

pytestmark = pytest.mark.slow

CALL_REFERENCE = f"{call_reference.__module__}:{call_reference.__name__}"
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
            yield from [(file, own.name)] if models(own.name) else []
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
        *("grouped_gemm", "hopper_gemm", "tma_copy"),
    )
]
"""Those that are lowered in the open too, for which LLVM generates code: each feature that the translation mends."""


@pytest.fixture(scope="module")
def dsl() -> Iterator[Worker]:
    """A process that has the DSL: it traces kernel files, and runs their references."""
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize(
    ("file", "target"),
    [
        pytest.param(file, target, id=f"{file.stem}-{target}", marks=[pytest.mark.torch] * (file.stem in NEEDS_TORCH))
        for file, target in CASES
    ],
)
def test_it_agrees_with_its_reference(file: Path, target: str, dsl: Worker, shorter: Path) -> None:
    agrees(shorter if file.name == shorter.name else file, target, dsl, None)


@pytest.mark.parametrize(("file", "target"), OF_LLVM, ids=[f"{file.stem}-{target}" for file, target in OF_LLVM])
def test_the_open_lowering_agrees_with_it_too(file: Path, target: str, dsl: Worker) -> None:
    agrees(file, target, dsl, "open")


COPIES = Path(__file__).parents[1] / "passes" / "lowering" / "kernels" / "cluster_copies.py"


# The wheel's lowering takes no barrier of another block for `CopyBulkS2SOp`.
@pytest.mark.parametrize(("entry", "pipeline"), [("exchange", "open"), ("spread", "nvidia"), ("spread", "open")])
def test_copies_between_the_blocks_of_a_cluster(entry: str, pipeline: str, dsl: Worker) -> None:
    header = read_header(COPIES)
    request = TraceRequest(str(COPIES), None, entry, header.args, target="sm_90a", sources=header.arg_sources)
    kernel = lowered(dsl.call("cutecc.frontend.trace:trace_file", request), "sm_90a", pipeline)
    arguments = make_arguments(header.args, header.outputs)
    arguments.randomize(1)
    expected = dsl.call(CALL_REFERENCE, str(COPIES), f"{entry}_reference", arguments.values(), ["y"])
    run(kernel, header, arguments, expected, EmulatorOptions(schedule="random", seed=1, check="all"))


@pytest.fixture(scope="module")
def shorter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The large kernel over fewer keys."""
    path = tmp_path_factory.mktemp("shorter") / "large_unrolled.py"
    path.write_text(longer_kernel(KEYS))
    return path


def agrees(file: Path, target: str, dsl: Worker, pipeline: str | None) -> None:
    header = read_header(file)
    kernel = compiled(file, header, target, dsl, pipeline)
    tried = [make_arguments(header.args, header.outputs, sizes=sizes) for sizes in points(file)]
    tried.sort(key=elements)
    most = MORE_ELEMENTS.get(file.stem, MOST_ELEMENTS)
    small = [arguments for arguments in tried if elements(arguments) <= most] or tried[:1]
    for arguments, schedule in zip(reversed(small), SCHEDULES, strict=False):
        arguments.randomize(1)
        expected = None
        if header.reference:
            names = [tensor.name for tensor in arguments.outputs]
            expected = dsl.call(CALL_REFERENCE, str(file), header.reference, arguments.values(), names)
        run(kernel, header, arguments, expected, EmulatorOptions(schedule=schedule, seed=1))


def compiled(file: Path, header: Header, target: str, dsl: Worker, pipeline: str | None = None) -> Kernel:
    request = TraceRequest(str(file), None, header.entry, header.args, target=target, sources=header.arg_sources)
    return lowered(dsl.call("cutecc.frontend.trace:trace_file", request), target, pipeline)


def lowered(traced: TracedModule, target: str, pipeline: str | None) -> Kernel:
    return cutecc.compile_module(
        traced.bytecode,
        target=target,
        signature=traced.signature,
        options=CompileOptions(line_info=True, artifacts=("ptx", "host-program"), pipeline=pipeline or "nvidia"),
    )


def elements(arguments: Arguments) -> int:
    return sum(tensor.codes.size for tensor in arguments.tensors)


def run(
    kernel: Kernel, header: Header, arguments: Arguments, expected: list[np.ndarray] | None, options: EmulatorOptions
) -> None:
    with HostMemory() as memory:
        on_cpu = DeviceArguments(arguments, memory)
        on_cpu.upload()
        kernel.emulate(**on_cpu.by_name, emulator=options)
        stray = on_cpu.download()
    for output in compare_outputs(arguments, expected, header.workload or Workload(), stray) if expected else ():
        assert output.ok, f"{arguments.sizes}, {options.schedule}: {'; '.join(output.problems())}"
