"""What the malformed inputs are made from: a kernel's module, record and bundle, made once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import KERNELS
from filelock import FileLock
from malformed_modules import RealModule

KERNEL = KERNELS / "vector_copy.py"
RUN_SIZE = "--size=M=3,N=16"


@dataclass(frozen=True)
class RealInputs:
    """What compiling and running a kernel left."""

    folder: Path

    @property
    def record(self) -> Path:
        """The folder of a record with stages and counters."""
        return self.folder / "record"

    @property
    def bundle(self) -> Path:
        """The bundle of the kernel."""
        return self.folder / "kernel.cutecc"

    def stage(self, name: str) -> str:
        """The module after the first pass of a name, or the traced one, as text."""
        (file, *_) = sorted((self.folder / "dumps").glob(f"*-{name}.mlir"))
        return file.read_text().partition("\n")[2]

    @property
    def module(self) -> RealModule:
        """The traced module, as text and as bytecode."""
        return RealModule(self.stage("traced"), (self.folder / "traced.mlirbc").read_bytes())


def make_inputs(shared: Path, cutecc_in: Callable[..., Any]) -> RealInputs:
    """The inputs in a folder below `shared`, where the first process that asks makes them."""
    folder = shared / "robustness"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            partial = folder.with_suffix(".partial")
            partial.mkdir()
            cutecc_in(partial, "run", KERNEL, "--device=cpu", RUN_SIZE, "--counters", "--keep=record", "--quiet")
            cutecc_in(
                partial, "compile", KERNEL, "-o", "dumps", "--dump-after=all", "--bundle=kernel.cutecc", "--quiet"
            )
            cutecc_in(partial, "opt", "dumps/00-traced.mlir", "--emit=bytecode", "-o", "traced.mlirbc")
            partial.rename(folder)
    return RealInputs(folder)
