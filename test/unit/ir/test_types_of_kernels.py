"""Every type in the traced modules of the repository's kernels has a view, and the view leads back to it."""

from __future__ import annotations

import pytest

from cutecc.ir.casters import plain_values
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse
from cutecc.ir.types import OpaqueType, Scalar, Vector, to_type, view


def types_of(module: ir.Module) -> set[ir.Type]:
    """The types of all results and block arguments."""
    found: set[ir.Type] = set()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.update(result.type for result in operation.results)
        for region in operation.regions:
            for block in region.blocks:
                found.update(argument.type for argument in block.arguments)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


@pytest.mark.slow
def test_there_and_back(traced_kernels) -> None:
    views: dict[str, object] = {}
    for kernel in traced_kernels.values():
        with fresh_context(), plain_values():
            for type in types_of(parse(kernel.bytecode)):
                seen = view(type)
                if str(type) not in views:
                    views[str(type)] = seen
                    assert to_type(seen) == type
                assert views[str(type)] == seen
    kinds = {each.__class__.__name__ for each in views.values()}
    assert len(views) > 700
    assert {"MemRef", "CoordTensor", "TiledCopy", "TiledMma", "CopyAtom", "MmaAtom", "SmemDescriptorView"} <= kinds
    plain = {name for name, each in views.items() if isinstance(each, Scalar | Vector)}
    opaque = {name for name, each in views.items() if isinstance(each, OpaqueType)}
    assert plain >= {"f16", "f32", "i32"}
    assert not [name for name in opaque if not name.startswith(("!llvm.", "!cuda.", "!gpu."))]
