"""What the GPU targets of a module may say: it may come from anybody, and code generators do as its targets say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cutecc.errors import PassError
from cutecc.ir.modules import body_of

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

# A library that the generator reads, or a flag with which it calls a tool, which may read others.
_REACHES_OUT = re.compile(r"\blink\s*=|\b[\w-]*options\b")


def check_gpu_targets(module: ir.Module, pass_name: str) -> None:
    """Refuse a module whose GPU targets name link libraries or options of a tool, `PassError`, before `pass_name`."""
    for operation in _gpu_modules(module.operation):
        if "targets" in operation.attributes and _REACHES_OUT.search(str(operation.attributes["targets"])):
            raise PassError(
                "the module's GPU target names link libraries or tool options, which a module may not",
                hints=["give them on the command line: --link-libraries, --ptxas-options"],
                pass_name=pass_name,
            )


def _gpu_modules(module: ir.Operation) -> Iterator[ir.Operation]:
    for operation in body_of(module):
        if operation.name == "gpu.module":
            yield operation
        elif operation.name == "builtin.module":
            yield from _gpu_modules(operation.operation)
