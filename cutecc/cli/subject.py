"""What `cutecc run`, `sanitize` and `bench` launch, and what is known about running it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cutecc.arguments.specs import Spec
from cutecc.cli.files import hints_for
from cutecc.errors import UsageError
from cutecc.frontend.files import check_file
from cutecc.frontend.kernel_file import split_path
from cutecc.frontend.size_arithmetic import evaluate
from cutecc.kernel import Kernel
from cutecc.record import Workload
from cutecc.record.folder import MANIFEST
from cutecc.runtime.device import runs_on


@dataclass(frozen=True)
class Function:
    """A function in a file of the user's."""

    path: str
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.name}"


@dataclass(frozen=True)
class Subject:
    """A kernel to launch, and what is known about running it."""

    kernel: Kernel
    specs: dict[str, Spec]
    """By parameter, with the values to run with."""
    workload: Workload
    reference: Function | None = None
    peers: tuple[Function, ...] = ()
    record: str | None = None
    """The bundle or folder that it is out of; `None` where it was compiled here. A record's workload is the word of
    whoever made it, and no bar for it."""

    @property
    def name(self) -> str:
        """The kernel's short name."""
        return self.kernel.compilation.name

    @property
    def target(self) -> str:
        """What the kernel is compiled for."""
        return self.kernel.compilation.target

    @property
    def is_code_noted(self) -> bool | None:
        """Of a record, whether its maker notes that its cubin is of its PTX: else a GPU runs other code than the
        emulator. `None` for what was compiled here."""
        from cutecc.record.assembly import is_tied

        return None if self.record is None else is_tied(self.kernel.compilation)

    def code_dict(self) -> dict[str, bool]:
        """That, as JSON has it."""
        return {} if self.is_code_noted is None else {"cubin_of_ptx": self.is_code_noted}

    def code_lines(self) -> list[str]:
        """A sentence where it is not noted."""
        if self.is_code_noted is not False:
            return []
        return [f"{self.record} does not note that its cubin is of this PTX: a GPU may run other code"]

    def bytes_moved(self, sizes: dict[str, int]) -> float | None:
        """Bytes of one run with these sizes; `None` when the file does not say."""
        return None if self.workload.bytes is None else evaluate(self.workload.bytes, sizes)

    def operations(self, sizes: dict[str, int]) -> float | None:
        """Floating-point operations of one run with these sizes; `None` when the file does not say."""
        return None if self.workload.flops is None else evaluate(self.workload.flops, sizes)


def check_input(text: str) -> None:
    """Raise `UsageError` for what is no kernel to run, which is known before there is a GPU."""
    if text.endswith((".mlir", ".mlirbc", ".bc")):
        raise UsageError(f"{text} is a module, which does not say how to call it", hints=["name the Python file"])
    path, _ = split_path(text)
    if not Path(path).is_dir():
        check_file(path)
        if not path.endswith((".py", ".cutecc", ".ptx")):
            folder = Path(path).parent
            hints = [f"name its folder: {folder}"] if Path(path).name == MANIFEST else hints_for(path)
            raise UsageError(f"'{text}' is neither a Python file, nor a bundle (.cutecc), nor PTX (.ptx)", hints=hints)
    elif not any([*Path(path).glob(MANIFEST), *Path(path).glob(f"*/{MANIFEST}")]):
        raise UsageError(
            f"{path} is a folder without a record: it has no {MANIFEST}",
            hints=["name a Python file, a bundle, or the folder that cutecc compile wrote"],
        )


def runs_here(target: str, capability: tuple[int, int] | None) -> bool:
    """Whether code for a target runs on the device: a GPU of this compute capability, or the emulator."""
    return capability is None or runs_on(target, capability)
