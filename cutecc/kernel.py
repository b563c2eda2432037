"""What compiling gives: a kernel, or a set of one for each target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cutecc.errors import Error
from cutecc.record import ArtifactKind, Compilation


@dataclass(frozen=True)
class Kernel:
    """One kernel compiled for one target."""

    compilation: Compilation
    """The record: pipeline, steps, artifacts, resources."""

    @property
    def ptx(self) -> str:
        """The PTX of the first device module; `Error` when the run stopped before code generation."""
        return self._artifact("ptx").decode()

    @property
    def cubin(self) -> bytes:
        """The cubin of the first device module; `Error` when the run stopped before code generation."""
        return self._artifact("cubin")

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the device code; `Error` when it was not among the artifacts asked for."""
        return self._artifact("llvm-ir").decode()

    @property
    def sass(self) -> str:
        """The machine code as text; made from the cubin when it was not among the artifacts asked for."""
        if (sass := self.compilation.artifact("sass")) is not None:
            return sass.decode()
        from cutecc.backend.nvdisasm import disassemble

        return disassemble(self.cubin)

    def _artifact(self, kind: ArtifactKind) -> bytes:
        data = self.compilation.artifact(kind)
        if data is None:
            raise Error(
                f"kernel {self.compilation.name} has no {kind}", hints=[f"compile with artifacts=('{kind}', …)"]
            )
        return data


class KernelSet(Mapping[str, Kernel]):
    """The same kernel compiled for several targets, by target name in the order asked for."""

    def __init__(self, kernels: Mapping[str, Kernel]) -> None:
        self._kernels = dict(kernels)

    def __getitem__(self, target: str) -> Kernel:
        return self._kernels[target]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)
