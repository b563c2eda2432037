"""The wheel's code generator, with its output in a folder of ours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from cutecc.errors import PassError
from cutecc.ir.modules import body_of
from cutecc.passes.base import ModulePass
from cutecc.passes.options import Option
from cutecc.passes.wheel import WheelPass
from cutecc.record import Provider

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

NAME = "cuda-to-binary"
_LOG = "collect-compiler-diagnostics"


@dataclass(frozen=True, kw_only=True)
class CodeGeneration(ModulePass):
    """`cuda-to-binary`, the pass that runs libNVVM and ptxas, keeping the PTX, the cubin and the assembler's log.

    In text it is the plain pass: where the files go is nobody's business but cutecc's.
    """

    name: ClassVar[str] = NAME
    provider: ClassVar[Provider] = "wheel"

    plain: WheelPass
    """The pass as the pipeline has it."""
    folder: Path
    """An empty folder, for the files."""
    ptx_alone: bool = False
    """Whether another assembler goes on from the PTX."""

    @property
    def options(self) -> list[Option]:
        return self.plain.options

    def __str__(self) -> str:
        return str(self.plain)

    def run(self, module: ir.Module) -> None:
        from cutecc.passes.cuda_binary import device_modules

        # Where they name their targets, those say what to stop at.
        if self.ptx_alone and not all("compute_targets" in device.attributes for device in device_modules(module)):
            self._generate_ptx(module)
        else:
            self._generate(module, self.plain.option("ptx-options") or "")

    def _generate(self, module: ir.Module, ptx_options: str) -> None:
        # Releases before 4.7 keep no log.
        logged = {"collect_compiler_diagnostics": "true"} if self.plain.option(_LOG) is not None else {}
        # `-v` adds a log, no code: PTX and cubin stay what they are without it.
        self.plain.with_options(
            dump_ptx_path=str(self.folder / "kernel"),
            dump_cubin_path=str(self.folder / "kernel"),
            ptx_options=f"{ptx_options} -v",
            **logged,
        ).run(module)

    def _generate_ptx(self, module: ir.Module) -> None:
        """As releases from 4.8 on stop at PTX: one that always assembles does so in vain, whatever comes of it."""
        from cutecc.ir.modules import parse, to_bytecode
        from cutecc.passes.cuda_binary import device_modules, replace_by_binary

        devices = device_modules(module)
        try:
            self._generate(parse(to_bytecode(module)), "")
        except PassError:
            if len(self.ptx()) != len(devices):
                raise
        for device, text in zip(devices, self.ptx(), strict=True):
            replace_by_binary(device, text.encode(), log="", kind="ptx")

    def ptx(self) -> list[str]:
        """The PTX of each device module, in order."""
        return [path.read_text() for path in sorted(self.folder.glob("*.ptx"))]

    def cubins(self) -> list[bytes]:
        """The cubin of each device module, in order; empty when the pass was asked for PTX alone."""
        return [path.read_bytes() for path in sorted(self.folder.glob("*.cubin"))]


def assembler_log(module: ir.Module) -> str:
    """What the wheel's assembler said about the kernels of `module`, as `ptxas -v` prints it."""
    lines: list[str] = []
    for operation in body_of(module.operation):
        if operation.name == "cuda.binary" and "cutlass.ptxas_logs" in operation.attributes:
            lines += [entry.value for entry in operation.attributes["cutlass.ptxas_logs"]]
    return "\n".join(lines)
