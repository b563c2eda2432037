"""A pass that speaks: for the tests of what `cutecc opt` does with it."""

from dataclasses import dataclass
from typing import ClassVar

import cutecc
from cutecc.ir.modules import body_of
from cutecc.passes.base import ModulePass
from cutecc.passes.diagnostics import error, note, remark, warning


@cutecc.register
@dataclass(frozen=True)
class CountArguments(ModulePass):
    """Say how many arguments each function has."""

    name: ClassVar[str] = "count-arguments"

    most: int = 3
    """A function with more is an error."""

    def run(self, module):
        for function in body_of(module.operation):
            number = len(function.regions[0].blocks[0].arguments)
            if number > self.most:
                raise error(function, f"{number} arguments are too many", notes=[f"{self.most} are allowed"])
            remark(function, f"{number} arguments")
            if number == 0:
                warning(function, "nothing to work with")
                note(module.operation, "in this module")
