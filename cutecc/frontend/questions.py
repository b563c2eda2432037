"""What the DSL asks this machine's GPU while it traces is answered for the target, so that no GPU is needed.

The wheel asks for one thing: how much shared memory an SM has, of a launch with `min_blocks_per_mp` above 1.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Generator
from typing import Any

from cutecc.target import Target


@contextlib.contextmanager
def answered(target: Target) -> Generator[None]:
    """Answers as a GPU of `target` would; any other question goes to the driver. Puts everything back."""
    helpers: Any = importlib.import_module("cutlass.base_dsl.runtime.cuda")
    asks = helpers.get_device_attribute
    shared = helpers.cuda.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR

    def answer(attribute: Any, *args: Any, **kwargs: Any) -> Any:
        return target.limits.shared_memory_per_sm if attribute == shared else asks(attribute, *args, **kwargs)

    helpers.get_device_attribute = answer
    try:
        yield
    finally:
        helpers.get_device_attribute = asks
