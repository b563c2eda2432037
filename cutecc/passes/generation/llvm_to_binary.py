"""Code generation through LLVM, as a pass."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from cutecc.backend.ptxas_options import checked_options
from cutecc.errors import UsageError
from cutecc.passes.base import ModulePass
from cutecc.passes.registry import register

if TYPE_CHECKING:
    from cutecc.backend.llvm.code import DeviceCode
    from cutecc.ir.mlir import ir

Keep = Callable[[int, str, bytes | None], None]
"""Takes the number of a device module, its PTX, and its cubin where that is made."""
KeepCode = Callable[["DeviceCode"], None]
"""Takes all that came of a device module."""


@register
@dataclass(frozen=True)
class LlvmToBinary(ModulePass):
    """Generate code for each `gpu.module` with LLVM and ptxas, and put a `cuda.binary` with the cubin in its place.

    The module is translated to LLVM IR, which llvmlite's LLVM 22 optimises and turns into PTX; ptxas makes a cubin of
    that. Where ptxas reports spills, or that it serialised `wgmma`, up to two other sets of LLVM's options are tried,
    of very long code one, and the best by spills, serialisations and registers is kept; a remark says which. An
    operation that LLVM has no instruction for is an error before any code is generated.
    """

    name: ClassVar[str] = "llvm-to-binary"

    opt_level: int = 3
    """0 to 3, for LLVM and ptxas."""
    line_info: bool = False
    """Have ptxas keep the source lines that the PTX has."""
    fast_math: bool = False
    """Approximate division and square root of f32, and flush its denormals."""
    ptx_options: str = ""
    """Options for ptxas."""
    link_libraries: tuple[str, ...] = ()
    """Bitcode libraries to link; cutecc alone sets them."""

    def __post_init__(self) -> None:
        if not 0 <= self.opt_level <= 3:
            raise UsageError(f"opt-level is 0 to 3, not {self.opt_level}")
        checked_options(self.ptx_options)

    def run(self, module: ir.Module) -> None:
        self.generate(module)

    def prepare(self) -> None:
        """Have LLVM load while other passes run."""
        from cutecc.backend.llvm import candidates, generators

        generators.prepare(candidates.FIRST.for_process(fast_math=self.fast_math))

    def llvm_ir(self, device: ir.Operation) -> str:
        """The text that LLVM generates the code of the `gpu.module` operation `device` from."""
        from cutecc.backend.llvm import code

        return code.llvm_ir(device, fast_math=self.fast_math)

    def llvm_version(self) -> str:
        """The version of the LLVM that generates the code."""
        from cutecc.backend.llvm import candidates, generators

        return generators.version(candidates.FIRST.for_process(fast_math=self.fast_math))

    def generate(
        self,
        module: ir.Module,
        *,
        ptxas: Path | None = None,
        keep: Keep | None = None,
        keep_code: KeepCode | None = None,
        timed: bool = False,
    ) -> None:
        """As `run`, assembling with the program `ptxas`; `keep` is told each device module's number, PTX and cubin.

        It is told the PTX alone, without a cubin, before that is assembled. `keep_code` is told of each, in order, with
        the times of LLVM's passes if the run is `timed`.
        """
        from cutecc.backend.llvm import code
        from cutecc.passes.cuda_binary import device_modules, replace_by_binary
        from cutecc.passes.diagnostics import remark

        options = code.CodeOptions(
            opt_level=self.opt_level,
            fast_math=self.fast_math,
            line_info=self.line_info,
            ptxas_options=tuple(checked_options(self.ptx_options)),
            ptxas=ptxas,
            libraries=self.link_libraries,
            timed=timed,
        )
        for number, device in enumerate(device_modules(module)):
            keep_ptx = functools.partial(_keep_ptx, keep, number)
            made = code.generate(device, options, keep_ptx)
            if len(made.tried) > 1:
                tried = "; ".join(f"{name}: {quality}" for name, quality in made.tried.items())
                left_out = ", ".join(f"'{name}'" for name in made.left_out)
                bound = f"; not tried: {left_out}" if left_out else ""
                remark(device, f"LLVM's option set '{made.option_set.name}' gave the best code ({tried}){bound}")
            if keep:
                keep(number, made.ptx, made.assembled.cubin)
            if keep_code:
                keep_code(made)
            replace_by_binary(device, made.assembled.cubin, made.assembled.log)


def _keep_ptx(keep: Keep | None, number: int, ptx: str) -> None:
    if keep:
        keep(number, ptx, None)
