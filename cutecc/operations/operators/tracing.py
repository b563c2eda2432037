"""Tracing an operator by its name, in the process that the command line starts for it."""

# pyright: basic

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from cutecc.frontend.kernel_file import run_file
from cutecc.frontend.traced import TracedModule
from cutecc.operations.gemm_problem import GemmProblem
from cutecc.operations.operators.compiling import trace
from cutecc.operations.operators.discovery import find_operator
from cutecc.target import Target


def trace_named(
    name: str,
    problem: GemmProblem,
    target: str,
    options: str = "",
    locations: bool = True,
    files: Sequence[str] = (),
) -> TracedModule:
    """Trace the operator that `find_operator` finds, under its own name, also among those that `files` register.

    Meant for a process of its own.
    """
    for path in files:
        run_file(path)
    chosen = Target.parse(target)
    operator, arguments = find_operator(name, chosen, problem)
    traced = trace(operator, arguments, target=chosen, options=options, locations=locations)
    return replace(traced, name=re.sub(r"[^A-Za-z0-9_.-]", "_", operator.metadata.operator_name))
