"""Kernels of plain loops over registers: what `open` needs for them beside the wheel, and their results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.frontend.companions import call_reference
from cutecc.frontend.header import read_header
from cutecc.frontend.traced import TraceRequest
from cutecc.harness.arguments import make_arguments
from cutecc.harness.on_device import DeviceArguments, HostMemory, compare_outputs
from cutecc.kernel import Kernel
from cutecc.record import Compilation, Workload
from cutecc.support.isolation import Worker

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "kernels" / "simt"
MORE_REGISTERS = 16
MOST_LINES = 9_000
"""Of PTX of the kernel whose loop asks to be unrolled to three times as many."""
MORE_LINES = 4
"""Times the wheel's: it leaves more loops as they are."""


@pytest.fixture(scope="module")
def dsl() -> Iterator[Worker]:
    """A process that has the DSL."""
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_loops_over_registers_take_no_more_than_the_wheel_takes(file: Path, dsl: Worker) -> None:
    header = read_header(file)
    request = TraceRequest(str(file), None, header.entry, header.args, target="sm_80", sources=header.arg_sources)
    traced = dsl.call("cutecc.frontend.trace:trace_file", request)
    options = CompileOptions(backend="llvm", observe=True, artifacts=("ptx", "host-program"), pipeline="open")
    kernel = cutecc.compile_module(traced.bytecode, target="sm_80", signature=traced.signature, options=options)
    assert isinstance(kernel, Kernel)
    lines = kernel.ptx.count("\n")
    needs = Needs(kernel.compilation)
    if file.stem == "unrolled_gemm":  # for which the wheel takes as long as for all others
        assert lines < MOST_LINES and not needs.spilled
    else:
        made = cutecc.compile_module(traced.bytecode, target="sm_80", options=CompileOptions(observe=True))
        wheel = Needs(made.compilation)
        assert lines < MORE_LINES * made.ptx.count("\n")
        assert needs.spilled <= wheel.spilled
        # An array that the wheel leaves in local memory, or spills, may be in registers.
        assert needs.registers <= wheel.registers + MORE_REGISTERS + (wheel.stack - needs.stack) // 4
    assert needs.tried <= (3 if needs.spilled else 1)

    arguments = make_arguments(header.args, header.outputs)
    arguments.randomize(1)
    reference = f"{call_reference.__module__}:{call_reference.__name__}"
    outputs = [tensor.name for tensor in arguments.outputs]
    expected = dsl.call(reference, str(file), header.reference, arguments.values(), outputs)
    with HostMemory() as memory:
        on_cpu = DeviceArguments(arguments, memory)
        on_cpu.upload()
        kernel.emulate(**on_cpu.by_name)
        stray = on_cpu.download()
    for output in compare_outputs(arguments, expected, header.workload or Workload(), stray):
        assert output.ok, "; ".join(output.problems())


class Needs:
    """What the code of a compilation needs."""

    def __init__(self, compilation: Compilation) -> None:
        kernels = compilation.resources
        self.registers = max(each.registers for each in kernels)
        self.spilled = sum((each.spill_store_bytes or 0) + (each.spill_load_bytes or 0) for each in kernels)
        self.stack = max(each.stack_bytes or 0 for each in kernels)
        step = compilation.step("llvm-to-binary")
        remarks = [remark.message for remark in step.remarks] if step else []
        self.tried = sum(message.count(" registers, ") for message in remarks) or 1
