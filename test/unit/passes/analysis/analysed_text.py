"""Analyses on kernels that are given as MLIR's text."""

from __future__ import annotations

from cutecc.ir.casters import plain_values
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.diagnostics import hearing_remarks
from cutecc.passes.manager import run_pass
from cutecc.record import Remark


def remarks_of(analysis: AnalysisPass, module: str) -> list[Remark]:
    """What `analysis` says of `module`, in order."""
    found: list[Remark] = []
    with fresh_context() as context, plain_values(), hearing_remarks(found.append, context):
        run_pass(analysis, parse(module.encode()))
    return found


def messages_of(analysis: AnalysisPass, module: str) -> list[str]:
    return [remark.message for remark in remarks_of(analysis, module)]
