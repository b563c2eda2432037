"""What checks of synchronisation say of a module as MLIR's text."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.ir.casters import plain_values
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.analyses import sharing_analyses
from cutecc.passes.analysis.base import judging
from cutecc.passes.analysis.selection import select
from cutecc.passes.diagnostics import hearing_remarks
from cutecc.passes.manager import run_pass
from cutecc.record import Judged, Remark


def judged(module: str, names: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, Judged]]:
    """The messages of each analysis called so, and its verdicts."""
    messages: dict[str, list[str]] = {}
    sums: dict[str, Judged] = {}
    with fresh_context() as context, plain_values(), sharing_analyses():
        parsed = parse(module.encode())
        for analysis in select(names).passes:
            remarks: list[Remark] = []
            verdicts: list[Judged] = []
            with hearing_remarks(remarks.append, context), judging.having(verdicts.append):
                run_pass(analysis, parsed)
            messages[analysis.name] = [each.message for each in remarks]
            sums[analysis.name] = verdicts[0]
    return messages, sums
