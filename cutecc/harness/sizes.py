"""The sizes that a kernel is tried with: those of its specs, and others that the user names."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

from cutecc.arguments.sizes import map_sizes, named_values, size_names, unify_sizes
from cutecc.arguments.specs import Dynamic, Mode, PointerSpec, ScalarSpec, Spec, TensorSpec, TupleSpec
from cutecc.errors import UsageError
from cutecc.harness.tensors import memory_specs
from cutecc.support.spelling import did_you_mean

_NUMBER = re.compile("[0-9]{1,18}")
_NEGATIVE = re.compile("-[0-9]{1,18}")
_EXAMPLES = "for example --size M=1000,N=2048; M=N=512 sets both; N=256,512,1024 is a sweep"


def parse_sizes(texts: Sequence[str]) -> list[dict[str, int]]:
    """The sizes that `--size` options spell, one dictionary for each point of a sweep.

    `M=100,N=7` gives two sizes, `M=N=512` the same value to both, `N=256,512,1024` several values to one. Sizes with
    several values change together, so all have the same number of them; sizes with one value keep it. Without options,
    one point without sizes. Raises `UsageError`.
    """
    values: dict[str, list[int]] = {}
    for text in texts:
        current: list[str] = []
        for part in text.split(","):
            *names, last = (word.strip() for word in part.split("="))
            if names:
                current = names
                _begin(values, names)
            if current and _NEGATIVE.fullmatch(last):
                raise UsageError(f"size '{current[0]}' is {last}; sizes are 0 or more", hints=[_EXAMPLES])
            if not current or not _NUMBER.fullmatch(last) or not all(n.isidentifier() for n in names):
                raise UsageError(f"--size takes NAME=NUMBER, not '{part.strip()}'", hints=[_EXAMPLES])
            for name in current:
                values[name].append(int(last))
    points = _count(values)
    return [{name: each[min(point, len(each) - 1)] for name, each in values.items()} for point in range(points)]


def _begin(values: dict[str, list[int]], names: Sequence[str]) -> None:
    """Have `values` know these sizes. Raises `UsageError` for one that it knows."""
    for name in names:
        if name in values:
            hints = ["several values of one size: --size N=256,512,1024"]
            raise UsageError(f"--size gives '{name}' twice", hints=hints)
        values[name] = []


def _count(values: Mapping[str, Sequence[int]]) -> int:
    """Of points of the sweep. Raises `UsageError` where sizes have several numbers of values."""
    counts = {name: len(each) for name, each in values.items() if len(each) > 1}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{count} for {name}" for name, count in counts.items())
        raise UsageError(
            f"sizes of a sweep change together, but there are {told}",
            hints=["give each as many values; for all combinations, repeat them: M=1,1,2,2 and N=8,16,8,16"],
        )
    return max(counts.values(), default=1)


def with_sizes(specs: Mapping[str, Spec], sizes: Mapping[str, int]) -> dict[str, Spec]:
    """The same specs, every dynamic size and stride with its value: that in `sizes`, else its own. Numbers that are
    sizes have theirs.

    A stride without a value is the smallest that keeps the modes apart. Raises `UsageError` for a name that no spec
    mentions, a value that breaks a promised divisibility, and a size that has no value.
    """
    names = size_names(specs)
    for name in sizes:
        if name not in names:
            close = did_you_mean(name, names)
            known = f"named sizes: {', '.join(names)}" if names else "no spec names a size, as f32[?N] does"
            raise UsageError(f"no size is called '{name}'", hints=[*close, known])
    values = {**named_values(unify_sizes(specs)), **sizes}
    placed: dict[str, Spec] = {}
    for argument, spec in specs.items():
        placed[argument] = _placed(argument, map_sizes(spec, lambda size: _named(size, values)))
        # A stride that this argument has been given is that of every other with its name.
        values.update(named_values({argument: placed[argument]}))
    values |= named_values(placed)
    return unify_sizes({argument: _numbered(spec, values) for argument, spec in placed.items()})


def sizes_of_arrays(
    specs: Mapping[str, Spec], shapes: Mapping[str, Sequence[int]], sizes: Mapping[str, int]
) -> dict[str, int]:
    """`sizes`, and the named sizes that tensors of these shapes have, by name; of a tuple as `pair[0]`.

    Raises `UsageError` for shapes that contradict `sizes` or each other. A shape that fits no tensor is left out.
    """
    found: dict[str, tuple[int, str]] = {name: (value, "--size") for name, value in sizes.items()}
    for argument, spec in _tensors(specs):
        shape = shapes.get(argument, ())
        if len(shape) != len(spec.shape):
            continue
        named = [
            (mode.name, each)
            for mode, each in zip(spec.shape, shape, strict=True)
            if isinstance(mode, Dynamic) and mode.name is not None
        ]
        for name, value in named:
            known, source = found.setdefault(name, (value, f"'{argument}'"))
            if known != value:
                raise UsageError(
                    f"'{argument}' has shape {tuple(shape)}, in which size '{name}' is {value}; {source} has {known}",
                    hints=["without --size, sizes are those of the arrays"] if source == "--size" else [],
                )
    return {name: value for name, (value, _) in found.items()}


def emptied_by(sizes: Mapping[str, int], specs: Mapping[str, Spec]) -> set[str]:
    """The names of tensors that have no element because one of these sizes is 0."""
    return {
        name
        for name, spec in _tensors(specs)
        if any(isinstance(mode, Dynamic) and sizes.get(mode.name or "") == 0 for mode in spec.shape)
    }


def _tensors(specs: Mapping[str, Spec]) -> Iterator[tuple[str, TensorSpec]]:
    return ((name, spec) for name, spec in memory_specs(specs) if isinstance(spec, TensorSpec))


def _numbered(spec: Spec, values: Mapping[str, int]) -> Spec:
    if isinstance(spec, TupleSpec):
        return TupleSpec(tuple(_numbered(item, values) for item in spec.items))
    if isinstance(spec, ScalarSpec) and spec.size is not None:
        return ScalarSpec(spec.dtype, values[spec.size])
    return spec


def _named(size: Dynamic, known: Mapping[str, int]) -> Dynamic:
    if size.name is None or size.name not in known:
        return size
    value = known[size.name]
    if value % size.divisibility:
        raise UsageError(
            f"size '{size.name}' is {value}, but the kernel is compiled for multiples of {size.divisibility}"
        )
    return dataclasses.replace(size, value=value)


def _placed(argument: str, spec: Spec) -> Spec:
    if isinstance(spec, TupleSpec):
        return TupleSpec(tuple(_placed(f"{argument}[{index}]", item) for index, item in enumerate(spec.items)))
    if isinstance(spec, PointerSpec) and spec.elements is None:
        raise UsageError(
            f"argument '{argument}' is a bare pointer, and its spec does not say how many elements lie behind it",
            hints=[f"say it in the spec: --arg {argument}='{dataclasses.replace(spec, elements=1024)}'"],
        )
    if not isinstance(spec, TensorSpec):
        return spec
    shape = [_size(argument, index, mode) for index, mode in enumerate(spec.shape)]
    if spec.stride is None:
        return spec
    stride = list(spec.stride)
    for index in reversed(range(len(stride))):
        mode = stride[index]
        if isinstance(mode, Dynamic) and mode.value is None:
            stride[index] = dataclasses.replace(mode, value=_least_stride(shape, stride, mode.divisibility))
    return dataclasses.replace(spec, stride=tuple(stride))


def _size(argument: str, index: int, mode: Mode) -> int:
    if isinstance(mode, tuple):
        raise UsageError(f"argument '{argument}' has nested modes; such tensors cannot be made here")
    if isinstance(mode, int):
        return mode
    if mode.value is None:
        name = f"size '{mode.name}'" if mode.name else f"the size of mode {index}"
        hint = f"--size {mode.name}=1024" if mode.name else f"give it one in the spec: {mode}=1024"
        raise UsageError(f"{name} of argument '{argument}' has no value to run with", hints=[hint])
    return mode.value


def _least_stride(shape: Sequence[int], stride: Sequence[Mode], divisibility: int) -> int:
    """Past everything that the modes with known strides reach."""
    reach = 1
    for length, step in zip(shape, stride, strict=True):
        known = step if isinstance(step, int) else step.value if isinstance(step, Dynamic) else None
        reach += max(0, length - 1) * (known or 0)
    return -(-reach // divisibility) * divisibility
