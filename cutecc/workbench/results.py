"""Whether a kernel writes what another one writes: the check that needs a device."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cutecc.errors import LaunchError, UsageError
from cutecc.harness.arguments import make_arguments, specs_of
from cutecc.harness.on_device import HostMemory
from cutecc.kernel import Kernel
from cutecc.record import Compilation, Signature
from cutecc.runtime.workspace import Workspace
from cutecc.workbench.checks import Finding
from cutecc.workbench.host_memory import Needs, check_memory
from cutecc.workbench.plan import Point, inputs_checksum
from cutecc.workbench.running import Device, Settings, run_point


@dataclass(frozen=True)
class SameResults:
    """A check on compiled kernels: whether they write what `norm` does, in its bounds, for one set of inputs."""

    norm: Compilation
    device: Device
    point: Point

    @classmethod
    def at(cls, norm: Compilation, device: Device, sizes: dict[str, int], seed: int = 0) -> SameResults:
        """The check for inputs of `sizes`, by the names that the kernel's specs give, random from `seed`.

        Raises `UsageError` for a kernel that does not say what arguments it takes, and where memory is too small.
        """
        specs = specs_of(_signature(norm))
        check_memory(norm.name, specs, sizes, (), Needs(variants=2, on_cpu=device.kind == "cpu"))
        arguments = make_arguments(specs, (), sizes=sizes)
        arguments.randomize(seed)
        return cls(norm, device, Point(arguments.sizes, seed, inputs_checksum(arguments)))

    def __call__(self, record: Compilation) -> Finding:
        """What it says of `record`. Raises `LaunchError` for a fault on a GPU, after which nothing runs there."""
        for each in (self.norm, record):
            if each.host_program is None:
                return Finding("unknown", f"{each.name} cannot be launched: there is no host program")
        kernels = {"the other pipeline": Kernel(self.norm), "this": Kernel(record)}
        try:
            runs = run_point(kernels, self.point, Path(), self.device, Settings(timed=False))
        except LaunchError as failure:
            failure.notes.append("bisect on the CPU, where a fault ends one run only: --device cpu")
            raise
        last = runs[-1]
        if runs[0].verdict == "fails":
            return Finding("unknown", _text(runs[0].problems))
        return Finding("passes", last.verdict) if last.ok else Finding("fails", _text(last.problems))


def _signature(record: Compilation) -> Signature:
    if record.signature is None:
        raise UsageError(
            f"{record.name} is a module that does not say what arguments it takes, so that it cannot be launched",
            hints=["name the Python file, or the record of a kernel"],
        )
    return record.signature


def _text(problems: Sequence[str]) -> str:
    return "; ".join(problems)


@functools.cache
def device_called(name: str) -> Device:
    """`cpu`, the memory of the emulator, or the GPU `cuda:N`, opened once in a process."""
    return HostMemory() if name == "cpu" else Workspace(int(name.partition(":")[2] or 0))
