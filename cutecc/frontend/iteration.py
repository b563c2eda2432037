"""Has Python refuse to iterate over tensors while a kernel is traced.

They have `__getitem__` and no `__iter__`, so Python would ask for one element after the other until there is an
`IndexError`, which never comes: `for v in tensor`, `sum(tensor)` and `a, b = tensor` would trace for ever.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Generator
from typing import Any

_CLASSES = (("cutlass.cute.typing", "Tensor"), ("cutlass.cute.tensor", "TensorSSA"))


@contextlib.contextmanager
def no_iteration() -> Generator[None]:
    """Iterating over a tensor, or over the values that are loaded from one, is a `TypeError`; puts everything back."""
    classes: list[Any] = [getattr(importlib.import_module(module), name) for module, name in _CLASSES]
    classes = [each for each in classes if not hasattr(each, "__iter__")]
    for each in classes:
        # With a method instead, they would pass for sequences.
        each.__iter__ = None
    try:
        yield
    finally:
        for each in classes:
            del each.__iter__
