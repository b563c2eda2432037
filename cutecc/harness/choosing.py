"""Values for what the specs of a kernel leave open, so that it runs all the same."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from cutecc.arguments.sizes import unify_sizes
from cutecc.arguments.specs import Dynamic, Mode, PointerSpec, ScalarSpec, Spec, TensorSpec, TupleSpec
from cutecc.harness.tensors import memory_specs
from cutecc.record import Signature

_SIZES = (132, 33, 3)
"""By mode, from the last: small enough for the emulator, and ragged for tiles of 32 and of 128."""
_UNNAMED_SIZE = 132
"""Of every mode without a name: nobody says which of them are one size, and for most kernels some are."""
_NUMBERS = {"bool": True, "float": 0.5}
"""By kind of type; `1` for integers."""
_ELEMENTS = 4096
"""Behind a bare pointer."""


@dataclass
class Chosen:
    """Specs in which everything has a value, and which values nobody has given."""

    specs: dict[str, Spec] = field(default_factory=dict[str, Spec])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    """By name."""
    others: list[str] = field(default_factory=list[str])
    """Of arguments, in words: `x of shape (132)`."""

    @property
    def text(self) -> str | None:
        """What was chosen, as a line for the user; `None` where nothing was."""
        if not self.sizes and not self.others:
            return None
        words = [*(f"{name}={value}" for name, value in self.sizes.items()), *self.others]
        it = "it" if len(words) == 1 else "them"
        why = f"no --size gives {it}" if not self.others else f"neither --size nor a spec gives {it}"
        return f"{', '.join(words)}: chosen, for {why}"


def choose_values(
    specs: Mapping[str, Spec], given: Collection[str] = (), shapes: Mapping[str, Sequence[int]] | None = None
) -> Chosen:
    """The same specs with a value for every size, number and pointer that has none.

    Sizes are small, keep what is promised of them, and have one value where they have one name. `given` are names of
    sizes that come from elsewhere; `shapes` those of the tensors that do, by name. Strides stay: `with_sizes` knows
    their least.
    """
    found = Chosen()
    unified = unify_sizes(specs)
    step = 1
    for size, base in _open_sizes(unified):
        if size.name is None:
            step = math.lcm(step, size.divisibility)
        elif size.name not in found.sizes and size.name not in given:
            found.sizes[size.name] = _above(base, size.divisibility, found.sizes.values())
    choice = _Choice(found, _above(_UNNAMED_SIZE, step), shapes or {})
    found.specs.update({argument: choice.valued(argument, spec) for argument, spec in unified.items()})
    return found


def valued_signature(signature: Signature, specs: Mapping[str, Spec]) -> Signature:
    """The same signature with these specs."""
    parameters = [
        msgspec.structs.replace(each, spec=str(specs[each.name])) if each.name in specs else each
        for each in signature.parameters
    ]
    return msgspec.structs.replace(signature, parameters=parameters)


def _open_sizes(specs: Mapping[str, Spec]) -> Iterator[tuple[Dynamic, int]]:
    """Every mention of a size that has no value, with about what it should be."""
    for _, spec in memory_specs(specs):
        if isinstance(spec, TensorSpec):
            for index, mode in enumerate(spec.shape):
                if isinstance(mode, Dynamic) and mode.value is None:
                    yield mode, _SIZES[min(len(spec.shape) - index, len(_SIZES)) - 1]


def _above(base: int, divisibility: int, taken: Collection[int] = ()) -> int:
    """The least multiple from `base` on that is not `taken`: sizes that are mixed up shall show."""
    size = -(-base // divisibility) * divisibility
    while size in taken:
        size += divisibility
    return size


@dataclass(frozen=True)
class _Choice:
    """Puts values into specs."""

    found: Chosen
    unnamed: int
    """The size of every mode without a name."""
    shapes: Mapping[str, Sequence[int]]

    def valued(self, argument: str, spec: Spec) -> Spec:
        match spec:
            case TupleSpec(items=items):
                return TupleSpec(tuple(self.valued(f"{argument}[{index}]", item) for index, item in enumerate(items)))
            case TensorSpec():
                return self._tensor(argument, spec)
            case ScalarSpec(value=None, size=None):
                value = _NUMBERS.get(spec.dtype.kind, 1)
                self.found.others.append(f"{argument}={value}")
                return dataclasses.replace(spec, value=value)
            case PointerSpec(elements=None):
                self.found.others.append(f"{argument} with {_ELEMENTS} elements")
                return dataclasses.replace(spec, elements=_ELEMENTS)
            case _:
                return spec

    def _tensor(self, argument: str, spec: TensorSpec) -> TensorSpec:
        shape = self.shapes.get(argument, ())
        modes: list[Mode] = []
        is_chosen = False
        for index, mode in enumerate(spec.shape):
            if isinstance(mode, Dynamic) and mode.value is None:
                value = self.found.sizes.get(mode.name) if mode.name else self.unnamed
                if mode.name is None and len(shape) == len(spec.shape) and shape[index] % mode.divisibility == 0:
                    value = shape[index]
                elif mode.name is None:
                    is_chosen = True
                mode = dataclasses.replace(mode, value=value)
            modes.append(mode)
        if is_chosen:
            self.found.others.append(f"{argument} of shape ({', '.join(map(_size_text, modes))})")
        return dataclasses.replace(spec, shape=tuple(modes))


def _size_text(mode: Mode) -> str:
    return str(mode.value) if isinstance(mode, Dynamic) and mode.value is not None else str(mode)
