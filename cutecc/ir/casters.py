"""Keeping the DSL's value casters away from passes.

Once the DSL is imported, the bindings wrap each value they hand out in an object of the DSL (`ArithValue`, `_Layout`,
`_Tensor` …), and building some of these inserts operations into the module. A pass that walks IR needs plain values.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Generator
from typing import Any

from cutecc.ir import bindings

# Which class of the DSL is registered for which class of types, by module; read off nvidia-cutlass-dsl 4.8.1 by asking
# for a value of each type (test/unit/ir/test_casters.py does it again).
_CASTERS: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("cutlass._mlir_helpers.arith", "ArithValue"): {
        "ir": (
            "IntegerType",
            *("F64Type", "F32Type", "FloatTF32Type", "F16Type", "BF16Type"),
            *("Float8E5M2Type", "Float8E4M3Type", "Float8E4M3FNType", "Float8E4M3B11FNUZType", "Float8E8M0FNUType"),
            *("FloatNV8E5M3FNUType", "Float6E2M3FNType", "Float6E3M2FNType", "Float4E2M1FNType", "RankedTensorType"),
        )
    },
    ("cutlass._mlir_helpers.vector", "Vector"): {"ir": ("VectorType",)},
    ("cutlass.cute.core", "_Layout"): {"dialects.cute": ("LayoutType",)},
    ("cutlass.cute.core", "_ComposedLayout"): {"dialects.cute": ("ComposedLayoutType",)},
    ("cutlass.cute.core", "Swizzle"): {"dialects.cute": ("SwizzleType",)},
    ("cutlass.cute.core", "_Pointer"): {"dialects.cute": ("PtrType",)},
    ("cutlass.cute.core", "SparseElem"): {"dialects.cute": ("SparseElemType",)},
    ("cutlass.cute.tensor", "_Tensor"): {
        "dialects.cute": ("MemRefType", "CoordTensorType"),
        "dialects.cute_nvgpu": ("SmemDescViewType",),
    },
    ("cutlass.cute.experimental.core", "PipelineState"): {"dialects.lir": ("PipelineStateType",)},
    ("cutlass.cute.experimental.core", "CircularBufferPipelineState"): {
        "dialects.lir": ("CircularBufferPipelineStateType",)
    },
}


casters_lock = threading.RLock()
"""Held by a thread whose values are plain, and by one that traces: the casters are the whole process's."""
_plain = False


@contextlib.contextmanager
def plain_values() -> Generator[None]:
    """Inside, results, operands and block arguments are plain values; afterwards the DSL's casters are back.

    Nested blocks (a pass that runs a pipeline) leave them to the outermost. Other threads wait.
    """
    global _plain
    with casters_lock:
        if _plain or not bindings.dsl_is_imported():
            yield
            return
        register = bindings.load_submodule("ir").register_value_caster
        casters = _registered_casters()
        for type_id, _ in casters:
            register(type_id, replace=True)(_identity)
        _plain = True
        try:
            yield
        finally:
            _plain = False
            for type_id, caster in casters:
                register(type_id, replace=True)(caster)


def _registered_casters() -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    for (module_name, class_name), types in _CASTERS.items():
        caster = getattr(sys.modules.get(module_name), class_name, None)
        if caster is None:
            continue
        for submodule, type_names in types.items():
            namespace = bindings.load_submodule(submodule)
            found += [(_type_id(getattr(namespace, name)), caster) for name in type_names if hasattr(namespace, name)]
    return found


def _type_id(type_class: Any) -> Any:
    # Upstream's classes have an attribute, the wheel's own dialects a function.
    return type_class.static_typeid if hasattr(type_class, "static_typeid") else type_class.get_static_typeid()


def _identity(value: Any) -> Any:
    return value
