"""A pass that fails, so that there is a report of a failed compilation to look at."""

from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import PassError
from cutecc.ir.mlir import ir
from cutecc.passes import ModulePass, register


@register
@dataclass(frozen=True)
class AlwaysFails(ModulePass):
    """Fail."""

    name: ClassVar[str] = "always-fails"

    def run(self, module: ir.Module) -> None:
        raise PassError("a <b>bold</b> failure, as the test asks for")
