"""Which of the user's sizes give a launch the numbers of a proof: its host program says so, without a launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cutecc.arguments.sizes import divisibilities, named_values, unify_sizes
from cutecc.errors import Error
from cutecc.harness.arguments import check_memory, make_arguments
from cutecc.harness.on_device import DeviceArguments, HostMemory
from cutecc.proving.formulas import Formula, evaluate
from cutecc.runtime.launch import TENSOR_MAP_BYTES, Launch, TensorMap
from cutecc.runtime.program.evaluation import Evaluator

if TYPE_CHECKING:
    from cutecc.arguments.specs import Spec
    from cutecc.kernel import Kernel

Sizes = dict[str, int]
"""By the names that the specs have."""
_LARGEST = 1 << 16
_MOST_BYTES = 64 << 20
"""Of all arguments: what is more takes too long to make."""


@dataclass
class _Launches:
    """Takes launches down. Implements `cutecc.runtime.launch.Host`."""

    found: list[Launch] = field(default_factory=list[Launch])

    def launch(self, launch: Launch) -> int:
        self.found.append(replace(launch, parameters=bytearray(launch.parameters)))
        return 0

    def encode_tensor_map(self, tensor_map: TensorMap) -> bytes | int:
        return bytes(TENSOR_MAP_BYTES)

    def print(self, text: str) -> None:
        pass


@dataclass(frozen=True)
class Tie:
    """A number of a launch that follows one of the user's sizes."""

    size: str
    value: int
    """The largest with which the number is what was asked for."""
    number: int
    """What it is: the least one that there is from the one asked for on."""


class Launching:
    """A kernel's launches as its sizes make them."""

    def __init__(self, kernel: Kernel, specs: Mapping[str, Spec], name: str, formulas: Mapping[str, Formula]) -> None:
        """`name` is the kernel's that is proved, as launches call it; `formulas` are of the proof's numbers."""
        assert kernel.host_program is not None
        self._kernel, self._specs, self._name, self._formulas = kernel, specs, name, formulas
        self._evaluate = Evaluator(kernel.host_program)
        self._known: dict[tuple[tuple[str, int], ...], dict[str, int]] = {}
        unified = unify_sizes(specs)
        self.own: Sizes = named_values(unified)
        """The values that the specs have."""
        self._steps = divisibilities(unified)

    def numbers(self, sizes: Sizes) -> dict[str, int]:
        """The numbers of a launch with these sizes, those that can be computed; none where there is no such launch."""
        key = tuple(sorted(sizes.items()))
        if key not in self._known:
            try:
                self._known[key] = dict(self._numbers(sizes))
            except (Error, ArithmeticError):
                self._known[key] = {}
        return self._known[key]

    def _numbers(self, sizes: Sizes) -> Iterator[tuple[str, int]]:
        if check_memory(self._specs, sizes, on_cpu=True, compared=False) > _MOST_BYTES:
            return
        from cutecc.emulator.options import EmulatorOptions

        host = _Launches()
        arguments = make_arguments(self._specs, (), sizes=sizes)
        with HostMemory() as memory:
            given = DeviceArguments(arguments, memory).by_name
            call, _ = self._kernel.emulator.prepare((), given, EmulatorOptions())
            self._evaluate(call.leaves, host)
        for launch in [each for each in host.found if each.kernel.name == self._name][:1]:
            for name, formula in self._formulas.items():
                with suppress(KeyError, IndexError):
                    yield name, evaluate(formula, launch)

    def tie(self, number: str, least: int, fixed: Sizes | None = None) -> Tie | None:
        """The size that a number follows, and how large it may be where the number is `least`, or little more."""
        others = {**self._steps, **(fixed or {})}
        for size, step in self._steps.items():
            if size in (fixed or {}):
                continue
            found = self._largest(number, least, size, step, others)
            if found is not None:
                return found
        return None

    def _largest(self, number: str, least: int, size: str, step: int, others: Sizes) -> Tie | None:
        def at(count: int) -> int | None:
            return self.numbers({**others, size: count * step}).get(number)

        reached = 1
        while (value := at(reached)) is not None and value < least and reached * step <= _LARGEST:
            reached *= 2
        if value is None or value < least:
            return None
        # Of what grows with the size: the first that is enough, and the last that is the same.
        goal = at(_first(lambda count: (at(count) or 0) >= least, reached))
        assert goal is not None
        beyond = reached
        while (value := at(beyond)) is not None and value <= goal:
            beyond *= 2
            if beyond * step > _LARGEST:
                return None
        if value is None:
            return None
        last = _first(lambda count: (at(count) or 0) > goal, beyond) - 1
        return Tie(size, last * step, goal)

    def sizes_for(self, numbers: Mapping[str, int]) -> Iterator[Sizes]:
        """Sizes whose launch has these numbers, or little more: the specs' own sizes, and small ones, for the rest."""
        fixed: Sizes = {}
        for number, least in numbers.items():
            if (tie := self.tie(number, least, fixed)) is not None:
                fixed[tie.size] = tie.value
        for rest in (self.own, self._steps):
            sizes = {**rest, **fixed}
            found = self.numbers(sizes)
            if found and all(found.get(name, least) >= least for name, least in numbers.items()):
                yield sizes


def _first(holds: Callable[[int], bool], known: int) -> int:
    """The first number from 1 on of which something holds that holds of all that follow, and of `known`."""
    low, high = 0, known
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
