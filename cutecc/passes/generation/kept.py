"""Code generation that keeps what it makes: PTX, cubins and the assembler's log, in files of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from cutecc.passes.base import ModulePass, Pass
from cutecc.passes.generation.llvm_to_binary import LlvmToBinary
from cutecc.passes.nvidia import codegen
from cutecc.passes.nvidia.codegen import CodeGeneration
from cutecc.passes.options import Option
from cutecc.passes.wheel import WheelPass

if TYPE_CHECKING:
    from cutecc.backend.llvm.code import DeviceCode
    from cutecc.ir.mlir import ir
    from cutecc.record.llvm_passes import LlvmPasses


@dataclass(frozen=True, kw_only=True)
class LlvmGeneration(ModulePass):
    """`llvm-to-binary`, keeping PTX and cubins. In text it is the plain pass."""

    name: ClassVar[str] = LlvmToBinary.name

    plain: LlvmToBinary
    folder: Path
    """An empty folder, for the files."""
    ptxas: Path | None = None
    """The assembler of the user's choice, which no pipeline names."""
    timed: bool = False
    """Whether somebody will ask for LLVM's `passes` with their code, which are told with their times."""
    _made: list[DeviceCode] = field(default_factory=list["DeviceCode"], init=False, compare=False, repr=False)

    @property
    def options(self) -> list[Option]:
        return self.plain.options

    def __str__(self) -> str:
        return str(self.plain)

    def run(self, module: ir.Module) -> None:
        self.plain.generate(module, ptxas=self.ptxas, keep=self._keep, keep_code=self._made.append, timed=self.timed)

    def _keep(self, number: int, ptx: str, cubin: bytes | None) -> None:
        (self.folder / f"kernel-{number:04}.ptx").write_text(ptx)
        if cubin is not None:
            (self.folder / f"kernel-{number:04}.cubin").write_bytes(cubin)

    def passes(self, *, with_code: bool) -> Iterator[LlvmPasses]:
        """What LLVM did with each device module, in order, which is watched now (`cutecc.backend.llvm.code.watched`).

        Raises `ToolError`.
        """
        from cutecc.backend.llvm.code import watched

        for each in self._made:
            yield watched(each, with_code=with_code)

    def ptx(self) -> list[str]:
        """The PTX of each device module, in order."""
        return [path.read_text() for path in sorted(self.folder.glob("*.ptx"))]

    def cubins(self) -> list[bytes]:
        """The cubin of each device module, in order."""
        return [path.read_bytes() for path in sorted(self.folder.glob("*.cubin"))]


KeptGeneration = CodeGeneration | LlvmGeneration


def keeping(pass_: Pass, folder: Path, ptxas: Path | None = None, *, timed: bool = False) -> KeptGeneration | None:
    """`pass_`, keeping what it makes in `folder`, LLVM's times if `timed`; `None` for one that generates no code."""
    if isinstance(pass_, LlvmToBinary):
        return LlvmGeneration(plain=pass_, folder=folder, ptxas=ptxas, timed=timed)
    if isinstance(pass_, WheelPass) and pass_.name == codegen.NAME:
        return CodeGeneration(plain=pass_, folder=folder, ptx_alone=ptxas is not None)
    return None
