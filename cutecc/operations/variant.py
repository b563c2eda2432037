"""An operation compiled in one form: its arguments bound to the kernel's parameters.

A description with a source C has two forms, since beta = 0 means that C is not read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, cast

from cutecc.arguments.arrays import Array
from cutecc.errors import Error
from cutecc.operations.any_description import AnyDescription
from cutecc.operations.hazards import Hazard
from cutecc.operations.kernels import build
from cutecc.operations.kernels.workspace import ALIGNMENT
from cutecc.operations.views import Table

if TYPE_CHECKING:
    from cutecc.kernel import Kernel

Arrays = dict[str, Array | Table]
"""Arguments in memory, by name."""


@dataclass(frozen=True)
class Bound:
    """A call held against the description."""

    arrays: Arrays
    """As they are given to the kernel."""
    values: dict[str, Any]
    """By parameter of the kernel, without those of the place where it runs: workspace, multiprocessors and stream."""
    sources: dict[str, str]
    """The user's argument behind each of the kernel's, by its flat name: `a`, `operands[0]`."""
    numbers: dict[str, float]
    hazards: list[Hazard]
    is_empty: bool
    """Whether there is nothing to compute."""
    workspace_bytes: int = 0
    zeroed_bytes: int = 0
    """How many of them, at the beginning, have to be zeros before the first call."""


class Variant(ABC, Generic[AnyDescription]):
    """One form of an operation."""

    array_names: tuple[str, ...]
    """The arguments in memory."""
    workspace_alignment: int = ALIGNMENT
    """Bytes that the address of a workspace is a multiple of."""
    takes_tables: bool = False
    """Whether arguments may be tables, such as addresses of matrices."""

    def __init__(self, description: AnyDescription) -> None:
        self.description = description
        """As the user sees it: D may have contiguous columns."""
        self.compiled = cast(AnyDescription, description.compiled())
        """What the kernel computes, maybe the transposed product."""
        self.number_names: tuple[str, ...] = tuple(each.name for each in description.gemm.epilogue.numbers)

    @abstractmethod
    def bind(
        self, given: Mapping[str, Any], settings: Any, /, *, copies: Callable[[Arrays], Arrays] | None = None
    ) -> Bound:
        """The arguments held against the description: `given` are arrays, arrays of matrices and numbers by name,
        `settings` those of `Given`.

        `copies` gives what the kernel is given in their place, once they are known to fit. Raises `ArgumentError`.
        """

    def in_memory(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments in memory by name, and of lists their matrices, `A[0]`."""
        return {name: given.get(name) for name in self.array_names}

    @abstractmethod
    def alignment_bytes(self, name: str) -> int:
        """The bytes that the address of an argument in memory has to be a multiple of."""

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled kernel. Raises what compiling raises."""
        from cutecc.operations.compiling import compile_descriptions

        (result,) = compile_descriptions([self.description])
        if isinstance(result, Error):
            raise result
        return result

    def take(self, kernel: Kernel) -> None:
        """Have the kernel, which was compiled elsewhere."""
        vars(self)["kernel"] = kernel

    @property
    def has_kernel(self) -> bool:
        return "kernel" in vars(self)

    @cached_property
    def takes_multiprocessors(self) -> bool:
        """Whether the kernel is told how many multiprocessors the GPU has."""
        return build.specs(self.compiled)["multiprocessors"] != "none"
