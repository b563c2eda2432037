"""The wheel's code generator, with its output in a folder of ours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

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

    @property
    def options(self) -> list[Option]:
        return self.plain.options

    def __str__(self) -> str:
        return str(self.plain)

    def run(self, module: ir.Module) -> None:
        # Releases before 4.7 keep no log.
        logged = {"collect_compiler_diagnostics": "true"} if self.plain.option(_LOG) is not None else {}
        # `-v` adds a log, no code: PTX and cubin stay what they are without it.
        self.plain.with_options(
            dump_ptx_path=str(self.folder / "kernel"),
            dump_cubin_path=str(self.folder / "kernel"),
            ptx_options=f"{self.plain.option('ptx-options') or ''} -v",
            **logged,
        ).run(module)

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
