"""What a pass is."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutecc.passes.options import Option, option_text, print_options
from cutecc.record import Provider

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


@dataclass(frozen=True)
class Pass(ABC):
    """One step of a pipeline. Passes derive from `ModulePass`, or from `OperationPass`.

    A pass is a frozen dataclass: its fields are its options, each with a docstring below it, and its text form
    `my-pass{option=1}` is derived from them. Equal passes do the same.
    """

    name: ClassVar[str]
    """Kebab-case; unique among all passes."""
    provider: ClassVar[Provider] = "cutecc"
    """`plugin` for passes defined outside of cutecc."""
    anchors: ClassVar[tuple[str, ...]] = ()
    """Operations that pipeline text nests the pass in, below the module: `gpu.module(my-pass)`. An `OperationPass`
    leaves them to the pipeline; of a `ModulePass`, which gets the module all the same, they are only how it is written.
    """
    preserves: ClassVar[tuple[type, ...]] = ()
    """The analyses (`cutecc.passes.analyses`) that are as true after the pass as before: classes, with all that derive
    from them."""
    lowers: ClassVar[tuple[str, ...]] = ()
    """Operations that the pass takes away; those of CuTe's dialects are all that it looks for. `cutecc coverage` lists
    them."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__module__.startswith("cutecc."):
            cls.provider = "plugin"

    @abstractmethod
    def run_in(self, module: ir.Module) -> None:
        """Rewrite what the pass runs on in `module`, in place, in its context; errors as `run`, which it calls."""

    @property
    def options(self) -> list[Option]:
        """The options that differ from their defaults, by their names in text."""
        changed: list[Option] = []
        for field in dataclasses.fields(self):
            value: Any = getattr(self, field.name)
            if value != field.default:
                changed.append((field.name.replace("_", "-"), option_text(value)))
        return changed

    @property
    def definition(self) -> type[Pass]:
        """The class that says what the pass does."""
        return type(self)

    def __str__(self) -> str:
        text = self.name + print_options(self.options)
        for anchor in reversed(self.anchors):
            text = f"{anchor}({text})"
        return text

    @classmethod
    def summary(cls) -> str:
        """The first line of the pass's docstring."""
        return (cls.__doc__ or "").strip().partition("\n")[0]


@dataclass(frozen=True)
class ModulePass(Pass):
    """A pass that runs on the module, once."""

    @abstractmethod
    def run(self, module: ir.Module) -> None:
        """Rewrite `module`. Values are plain, the DSL's casters are out of the way.

        Raises `PassError` with a location of the user's (`cutecc.passes.error` makes one) when the module cannot be
        rewritten.
        """

    def run_in(self, module: ir.Module) -> None:
        self.run(module)


@dataclass(frozen=True)
class PassWrapper(Pass):
    """A pass in which another one runs in some special way. To everybody else it is that one."""

    pass_: Pass

    def __post_init__(self) -> None:
        for attribute in ("name", "provider", "preserves"):
            object.__setattr__(self, attribute, getattr(self.pass_, attribute))

    @property
    def options(self) -> list[Option]:
        return self.pass_.options

    @property
    def definition(self) -> type[Pass]:
        return self.pass_.definition
