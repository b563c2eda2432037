"""Keeping the DSL's value casters away from passes.

Once the DSL is imported, the bindings wrap each value they hand out in an object of the DSL (`ArithValue`, `_Layout`,
`_Tensor` …), and building some of these inserts operations into the module. A pass that walks IR needs plain values.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any

from cutecc.ir import bindings
from cutecc.support import forks

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


_plain: set[int] = set()
"""The threads whose values are plain."""
_originals: list[tuple[Any, Any]] = []
"""The DSL's casters, while there are such threads."""
_lock = forks.lock()
"""Held while the casters, which are the whole process's, are changed; never while somebody else's code runs."""


@contextlib.contextmanager
def plain_values() -> Generator[None]:
    """Inside, results, operands and block arguments are plain values; afterwards the DSL's casters are back.

    For this thread alone: one that uses the DSL meanwhile gets the DSL's objects.
    """
    if threading.get_ident() in _plain or not bindings.dsl_is_imported():
        yield
        return
    with _plain_in_this_thread(True):
        yield


@contextlib.contextmanager
def wrapped_values() -> Generator[None]:
    """Inside, values are the DSL's objects again for this thread: a pass may have a kernel traced."""
    if threading.get_ident() not in _plain:
        yield
        return
    with _plain_in_this_thread(False):
        yield


@contextlib.contextmanager
def _plain_in_this_thread(wanted: bool) -> Generator[None]:
    try:
        _set_plain(wanted)
        yield
    finally:
        _set_plain(not wanted)


def _set_plain(wanted: bool) -> None:
    with _lock:
        if wanted:
            if not _originals:
                _replace_casters()
            _plain.add(threading.get_ident())
        else:
            _plain.discard(threading.get_ident())
            if not _plain:
                _put_back_casters()


def _forked() -> None:
    """In a forked child: of the threads there is this one."""
    here = threading.get_ident() in _plain
    _plain.clear()
    if here:
        _plain.add(threading.get_ident())
    elif _originals:
        _put_back_casters()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _replace_casters() -> None:
    register = bindings.load_submodule("ir").register_value_caster
    for type_id, caster in _registered_casters():
        register(type_id, replace=True)(_casting(caster))
        _originals.append((type_id, caster))


def _put_back_casters() -> None:
    register = bindings.load_submodule("ir").register_value_caster
    while _originals:
        type_id, caster = _originals[-1]
        register(type_id, replace=True)(caster)
        _originals.pop()


def _casting(caster: Any) -> Any:
    """A caster that leaves values alone in threads where they are plain."""

    # Called for every value that a pass looks at: what it needs is looked up once.
    def cast(value: Any, thread: Callable[[], int] = threading.get_ident, plain: set[int] = _plain) -> Any:
        return value if thread() in plain else caster(value)

    return cast


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
