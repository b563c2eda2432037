"""Running a pass with some of its rewrites. For a process of its own: it loads the MLIR bindings."""

from __future__ import annotations

from cutecc.ir.modules import BYTECODE_MAGIC, fresh_context, parse, to_text
from cutecc.ir.relocation import name_locations
from cutecc.passes import manager, plugins
from cutecc.passes.base import Pass
from cutecc.passes.debug_counter import Rewrite, counting
from cutecc.passes.pipeline import Pipeline


def located_module(module: bytes, source: str, pipeline: Pipeline) -> str:
    """The module that `pipeline` makes of `module`, as text with its locations.

    Those that the parser made up, of text without any, name the file `source`.
    """
    plugins.load_files()
    with fresh_context():
        parsed = parse(module, source)
        if not module.startswith(BYTECODE_MAGIC):
            name_locations(parsed, source)
        manager.run(pipeline, parsed)
        return to_text(parsed, locations=True)


def run_limited(module: str, pass_: Pass, limit: int | None) -> tuple[int, str, Rewrite | None]:
    """As `cutecc.workbench.pass_bisection.limited_run`, in this process."""
    plugins.load_files()
    with fresh_context():
        parsed = parse(module.encode())
        with counting(limit) as budget:
            manager.run(Pipeline((pass_,)), parsed)
        return budget.made, to_text(parsed), budget.last
