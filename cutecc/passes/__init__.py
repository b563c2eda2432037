"""Passes and pipelines, and everything that a pass is written with.

The names load what they need when they are first used.
"""

from __future__ import annotations

from cutecc.support.lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cutecc.ir.building import after, at_end, at_start, before, located
    from cutecc.ir.editing import erase, replace
    from cutecc.ir.walking import walk
    from cutecc.passes.analyses import analyse
    from cutecc.passes.base import ModulePass
    from cutecc.passes.conversion import ConversionRewriter, TypeConversion, convert, converts
    from cutecc.passes.debug_counter import limited
    from cutecc.passes.diagnostics import error, note, remark, warning
    from cutecc.passes.leaf_conversion import LeafConversion, convert_leaves, converts_leaves
    from cutecc.passes.manager import run_pipeline
    from cutecc.passes.nesting import OperationPass
    from cutecc.passes.registry import register, register_pipeline
    from cutecc.passes.rewriting import Rewriter, rewrite, rewrites

__all__ = [
    "ConversionRewriter",
    "LeafConversion",
    "ModulePass",
    "OperationPass",
    "Rewriter",
    "TypeConversion",
    "after",
    "analyse",
    "at_end",
    "at_start",
    "before",
    "convert",
    "convert_leaves",
    "converts",
    "converts_leaves",
    "erase",
    "error",
    "limited",
    "located",
    "note",
    "register",
    "register_pipeline",
    "remark",
    "replace",
    "rewrite",
    "rewrites",
    "run_pipeline",
    "walk",
    "warning",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "cutecc.ir.building": ("after", "at_end", "at_start", "before", "located"),
        "cutecc.ir.editing": ("erase", "replace"),
        "cutecc.ir.walking": ("walk",),
        "cutecc.passes.analyses": ("analyse",),
        "cutecc.passes.base": ("ModulePass",),
        "cutecc.passes.conversion": ("ConversionRewriter", "TypeConversion", "convert", "converts"),
        "cutecc.passes.diagnostics": ("error", "note", "remark", "warning"),
        "cutecc.passes.debug_counter": ("limited",),
        "cutecc.passes.leaf_conversion": ("LeafConversion", "convert_leaves", "converts_leaves"),
        "cutecc.passes.manager": ("run_pipeline",),
        "cutecc.passes.nesting": ("OperationPass",),
        "cutecc.passes.registry": ("register", "register_pipeline"),
        "cutecc.passes.rewriting": ("Rewriter", "rewrite", "rewrites"),
    },
)
