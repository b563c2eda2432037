"""The wheel's single run, for comparison only: the opaque pipeline that the stock compiler runs, as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cutecc.errors import PassError
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.wheel_pipeline import single_run_text

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


def single_run_ptx(
    module: ir.Module, target: str, options: WheelOptions, scratch: Path, *, lir: bool = False, pyir: bool = False
) -> list[str]:
    """Lower `module` in place as the stock compiler does, and return the PTX of each device module.

    `scratch` is an empty folder for files. Raises `PassError` when the wheel cannot.
    """
    from cutecc.ir.mlir import ir, passmanager

    extra = {"dump-ptx-path": str(scratch / "kernel")}
    text = single_run_text(target, options, lir=lir, pyir=pyir, extra=extra)
    manager = passmanager.PassManager.parse(text, module.context)
    manager.enable_verifier(False)
    try:
        manager.run(module.operation)
    except ir.MLIRError as failure:
        raise PassError(f"the wheel's single run fails: {str(failure)[:2000]}", pass_name="cute-to-nvvm") from None
    return [path.read_text() for path in sorted(scratch.glob("*.ptx"))]
