"""Kernels of files on the emulator, against their references: a process that has the DSL traces them, the rest is here.

`cutecc run` says as much, and has a process of its own each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import cutecc
from cutecc.arguments.specs import Spec
from cutecc.compilation.request import CompileOptions
from cutecc.emulator.options import EmulatorOptions
from cutecc.frontend.companions import call_reference
from cutecc.frontend.header import Header, read_header
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.harness.arguments import Arguments, make_arguments
from cutecc.harness.on_device import DeviceArguments, HostMemory, compare_outputs
from cutecc.kernel import Kernel
from cutecc.record import Workload
from cutecc.support.isolation import Worker

_CALL_REFERENCE = f"{call_reference.__module__}:{call_reference.__name__}"
_OPTIONS = CompileOptions(artifacts=("ptx", "host-program"))
"""All that the emulator needs."""


class EmulatedKernels:
    """What traces, lowers and emulates; a trace is kept until another is asked for."""

    def __init__(self, dsl: Worker) -> None:
        self._dsl = dsl
        self._traced: tuple[TraceRequest, TracedModule] | None = None

    def trace(
        self,
        file: Path,
        target: str | None = None,
        *,
        entry: str | None = None,
        args: Mapping[str, Spec] | None = None,
    ) -> TracedModule:
        """The kernel of a file as its header says, with another target, entry or arguments."""
        header = read_header(file)
        request = TraceRequest(
            str(file),
            None,
            entry or header.entry,
            {**header.args, **(args or {})},
            target=target or header.target or "sm_80",
            sources=header.arg_sources,
        )
        if self._traced is None or self._traced[0] != request:
            self._traced = request, self._dsl.call("cutecc.frontend.trace:trace_file", request)
        return self._traced[1]

    def compile(
        self,
        file: Path,
        pipeline: str = "nvidia",
        *,
        target: str | None = None,
        entry: str | None = None,
        args: Mapping[str, Spec] | None = None,
        options: CompileOptions = _OPTIONS,
        output: Path | None = None,
    ) -> Kernel:
        """As `trace`, through a named pipeline; its record goes into the folder `output`."""
        traced = self.trace(file, target, entry=entry, args=args)
        kernel = cutecc.compile_module(
            traced.bytecode,
            target=target or read_header(file).target or "sm_80",
            signature=traced.signature,
            options=replace(options, pipeline=pipeline),
            output=output,
        )
        assert isinstance(kernel, Kernel)
        return kernel

    def agrees(
        self,
        kernel: Kernel,
        file: Path,
        *,
        reference: str | None = None,
        args: Mapping[str, Spec] | None = None,
        sizes: Mapping[str, int] | None = None,
        emulator: EmulatorOptions | None = None,
    ) -> None:
        """A kernel of a file does with random numbers what the header's reference does, or another one."""
        header = read_header(file)
        arguments = make_arguments({**header.args, **(args or {})}, header.outputs, sizes=sizes)
        arguments.randomize(1)
        self.agrees_with(kernel, file, header, arguments, reference or header.reference, emulator)

    def agrees_with(
        self,
        kernel: Kernel,
        file: Path,
        header: Header,
        arguments: Arguments,
        reference: str | None,
        emulator: EmulatorOptions | None = None,
    ) -> None:
        """It does with these arguments what the reference does; where there is none, it ends. Checks find nothing."""
        names = [tensor.name for tensor in arguments.outputs]
        expected = self._dsl.call(_CALL_REFERENCE, str(file), reference, arguments.values(), names) if reference else ()
        with HostMemory() as memory:
            on_cpu = DeviceArguments(arguments, memory)
            on_cpu.upload()
            emulation = kernel.emulate(**on_cpu.by_name, emulator=emulator)
            assert emulation.ok, f"{arguments.sizes}, {emulator}: {emulation.findings}"
            stray = on_cpu.download()
        if not reference:
            return
        compared = compare_outputs(arguments, expected, header.workload or Workload(), stray)
        assert compared, f"{file}: nothing is compared"
        for output in compared:
            assert output.ok, f"{arguments.sizes}, {emulator}: {'; '.join(output.problems())}"
