"""Where the tests of operations run, and what they run.

The operations come from the folder that `GPU_OPERATIONS` names, which `make_operations.py` has written; without it they
are compiled when they are needed, which needs the DSL. With `GPU_OPERATIONS_ON=cpu` the CPU emulator stands for a GPU,
at small sizes: it shows that the tests are right, not that the kernels are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from covering_set import cases
from layer_cases import layer_cases

from cutecc.operations import Gemm
from cutecc.operations import load as load_operation

ON_CPU = os.environ.get("GPU_OPERATIONS_ON") == "cpu"

Load = Callable[[str], Gemm]


@pytest.fixture(autouse=True)
def _needs_a_gpu(why_not: str | None) -> None:
    if why_not is not None and not ON_CPU:
        pytest.skip(f"not run: {why_not}")


@pytest.fixture(scope="session")
def device() -> str:
    """`cuda`, or `cpu` for the emulator."""
    torch = pytest.importorskip("torch", reason="not run: torch is not installed")
    if not ON_CPU and not torch.cuda.is_available():
        pytest.skip("not run: this torch has no CUDA")
    return "cpu" if ON_CPU else "cuda"


@pytest.fixture
def on_gpu(device: str) -> None:
    """For tests of what only a GPU has: streams, graphs, memory of its own."""
    if device != "cuda":
        pytest.skip("not run: the emulator has no streams")


@pytest.fixture(scope="session")
def load() -> Load:
    """An operation of the covering set by its name."""

    @cache
    def found(name: str) -> Gemm:
        if folder := os.environ.get("GPU_OPERATIONS"):
            path = Path(folder) / f"{name}.operation"
            if not path.exists():
                pytest.skip(f"not run: {folder} has no {name}")
            return Gemm.load(path)
        return cases()[name].describe()

    return found


@pytest.fixture(scope="session")
def load_layer() -> Callable[[str], Any]:
    """A grouped product or a convolution of `layer_cases` by its name."""

    @cache
    def found(name: str) -> Any:
        if folder := os.environ.get("GPU_OPERATIONS"):
            path = Path(folder) / f"{name}.operation"
            if not path.exists():
                pytest.skip(f"not run: {folder} has no {name}")
            return load_operation(path)
        return layer_cases()[name].make()

    return found
