"""The arguments of a trial: one for each parameter, made from its spec."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.sizes import named_values
from cutecc.arguments.specs import ConstSpec, NoneSpec, PointerSpec, ScalarSpec, Spec, StreamSpec, TensorSpec, TupleSpec
from cutecc.errors import SourceLocation, UsageError
from cutecc.harness.sizes import with_sizes
from cutecc.harness.tensors import Tensor, image_bytes, memory_specs, value_bytes
from cutecc.record import Signature
from cutecc.support.capacity import check_fits

Argument: TypeAlias = "Tensor | int | float | bool | tuple[Argument, ...] | None"


@dataclass(frozen=True)
class Arguments:
    """What a kernel is called with. Constants and streams are left out, as in a call."""

    by_name: dict[str, Argument]
    outputs: list[Tensor]
    """The tensors that the kernel writes, in the order that they are named; none where nobody says."""
    sizes: dict[str, int]
    """The value of every named size."""

    @property
    def tensors(self) -> list[Tensor]:
        """Every tensor, those in tuples too."""
        return [tensor for argument in self.by_name.values() for tensor in _tensors(argument)]

    @property
    def compared(self) -> list[Tensor]:
        """What a verdict is about: the outputs, or where nobody names any, every tensor."""
        return self.outputs or self.tensors

    @property
    def bytes(self) -> int:
        """Bytes of all tensors, guards included."""
        return sum(tensor.bytes for tensor in self.tensors)

    def mapped(self, change: Callable[[Tensor], Any]) -> dict[str, Any]:
        """The arguments by name, each tensor replaced by what `change` makes of it."""
        return {name: _mapped(argument, change) for name, argument in self.by_name.items()}

    def values(self) -> dict[str, Any]:
        """The arguments as a reference takes them: numpy arrays and Python numbers."""
        return self.mapped(lambda tensor: tensor.values)

    def randomize(self, seed: int) -> None:
        """Give inputs random values and poison outputs. A tensor's values depend on the seed, its name and size."""
        for tensor in self.tensors:
            if any(tensor is output for output in self.outputs):
                tensor.poison()
            else:
                tensor.randomize(np.random.default_rng([seed, zlib.crc32(tensor.name.encode())]))

    def assign(self, values: Mapping[str, Any]) -> None:
        """Give tensors, outputs too, the elements of numpy arrays. Raises `UsageError` for one that does not fit."""
        tensors = {tensor.name: tensor for tensor in self.tensors}
        for name, value in values.items():
            if name not in tensors:
                raise UsageError(f"no tensor is called '{name}'", hints=[f"tensors: {', '.join(tensors) or 'none'}"])
            tensor = tensors[name]
            if value.dtype.kind not in "fiub":
                raise UsageError(f"the elements of '{name}' are {value.dtype}, which are no numbers of a kernel")
            if value.shape != tensor.shape:
                raise UsageError(f"'{name}' has shape {value.shape}, but the kernel's has {tensor.shape}")
            tensor.codes[...] = tensor.elements.encode(value)


def specs_of(signature: Signature) -> dict[str, Spec]:
    """The specs of a compiled kernel's parameters by name, without constants that no spec spells.

    Raises `UsageError` for one that no spec describes, an object of the program's, and `SpecError` for one that is
    no spec.
    """
    for each in signature.parameters:
        if "object<" in each.spec and not each.is_constant_object:
            raise UsageError(
                f"'{each.name}' is {each.spec}, an object of the program that compiled the kernel: there are no inputs"
                " without it"
            )
    return {
        each.name: parse_spec(each.spec, SourceLocation(f"argument '{each.name}'", column=1, text=each.spec))
        for each in signature.parameters
        if not each.is_constant_object
    }


def check_memory(specs: Mapping[str, Spec], sizes: Mapping[str, int], *, on_cpu: bool, compared: bool) -> int:
    """Bytes of all tensors at these sizes. Raises `UsageError` when this machine's memory cannot hold what a run needs.

    That is, at the same time, the tensors, what is read back, and with `on_cpu` also what the emulator works on, with
    the copy that its processes share; or the tensors, and when `compared` four copies of their values: here, with the
    reference, and two on the way.
    """
    tensors = [spec for _, spec in memory_specs(with_sizes(specs, sizes))]
    images = sum(map(image_bytes, tensors))
    values = sum(value_bytes(spec) for spec in tensors) if compared else 0
    needed = max((4 if on_cpu else 2) * images, images + 4 * values)
    check_fits(needed, f"a run with {images / 1e9:,.1f} GB of arguments takes about")
    return images


def make_arguments(
    specs: Mapping[str, Spec],
    outputs: Sequence[str],
    *,
    sizes: Mapping[str, int] | None = None,
    exact_alignment: bool = True,
) -> Arguments:
    """Arguments for parameters with these specs, all tensors poisoned: `Arguments.randomize` fills the inputs.

    `outputs` names parameters, or tensors in tuples as `pair[0]`; `sizes` wins over the specs' values. Raises
    `UsageError` for a size or number without a value, an output that is none, outputs that overlap themselves, or more
    than memory holds.
    """
    complete = with_sizes(specs, sizes or {})
    images = [image_bytes(spec) for _, spec in memory_specs(complete)]
    if len(images) > 1:  # a single one is checked by name
        # What is read back from the device comes beside what was sent.
        check_fits(2 * sum(images), "the arguments and a copy of each have")
    by_name = {
        name: _make(name, spec, exact_alignment)
        for name, spec in complete.items()
        if not isinstance(spec, ConstSpec | StreamSpec)
    }
    made = Arguments(by_name, [], named_values(complete))
    for name in outputs:
        found = [tensor for tensor in made.tensors if tensor.name == name or tensor.name.startswith(f"{name}[")]
        if not found:
            known = ", ".join(tensor.name for tensor in made.tensors) or "none"
            raise UsageError(f"output '{name}' is no tensor of the kernel", hints=[f"its tensors: {known}"])
        made.outputs.extend(found)
    for tensor in made.outputs:
        if tensor.placement.overlaps:
            shape, stride = tensor.placement.shape, tensor.placement.stride
            raise UsageError(
                f"the elements of output '{tensor.name}' overlap: shape {shape}, strides {stride}",
                hints=["a stride with a name is given with --size too: --size LD=2048"],
            )
    return made


def _make(name: str, spec: Spec, exact_alignment: bool) -> Argument:
    match spec:
        case TensorSpec() | PointerSpec():
            return Tensor(name, spec, exact_alignment=exact_alignment)
        case ScalarSpec(value=None):
            raise UsageError(
                f"argument '{name}' has no value to run with",
                hints=[f"say it in the spec: --arg {name}='{spec}=1'"],
            )
        case ScalarSpec(value=value):
            return value
        case TupleSpec(items=items):
            return tuple(_make(f"{name}[{index}]", item, exact_alignment) for index, item in enumerate(items))
        case NoneSpec():
            return None
        case _:
            raise UsageError(f"argument '{name}' is a {spec} inside a tuple; it cannot be made here")


def _tensors(argument: Argument) -> Iterator[Tensor]:
    if isinstance(argument, Tensor):
        yield argument
    elif isinstance(argument, tuple):
        for item in argument:
            yield from _tensors(item)


def _mapped(argument: Argument, change: Callable[[Tensor], Any]) -> Any:
    if isinstance(argument, Tensor):
        return change(argument)
    if isinstance(argument, tuple):
        return tuple(_mapped(item, change) for item in argument)
    return argument
