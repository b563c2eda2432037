import os
from dataclasses import dataclass

import cutecc


@cutecc.register
@dataclass(frozen=True)
class Aborts(cutecc.passes.ModulePass):
    """Abort."""

    name = "aborts"

    def run(self, module):
        os.abort()
