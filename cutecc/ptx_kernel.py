"""Anybody's PTX as a kernel: of Triton, numba, nvcc or by hand. The launch that a program would make is said in words.

A kernel that the wheel has compiled comes with a host program, which knows grids and parameters. Here one is made for a
single launch, with the parameters of the entry in their order; all that runs, checks and counts kernels goes by it.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from cutecc.arguments.arrays import read_array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.numba_arrays import takes_arrays_apart, values_apart
from cutecc.arguments.specs import NoneSpec, PointerSpec, ScalarSpec, Spec, TensorSpec
from cutecc.emulator.device import Emulation
from cutecc.emulator.grid import Dim3
from cutecc.emulator.limits import STRICT_LIMITS, Limits
from cutecc.emulator.machine.layout import size_of
from cutecc.emulator.names import FOREIGN
from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import ArgumentError, UsageError
from cutecc.kernel import Kernel
from cutecc.ptx.locations import PtxText
from cutecc.ptx.parse import parse_module
from cutecc.ptx.syntax import Function, Module, Variable
from cutecc.ptx.types import TYPE_BITS
from cutecc.record import Artifact, Compilation, Parameter, Signature, Versions
from cutecc.record.host_program import (
    Block,
    HostArgument,
    HostProgram,
    Instruction,
    KernelEntry,
    KernelParameter,
    LaunchAttribute,
    LaunchSite,
    Leaf,
    ParameterWrite,
    ValueType,
    encode,
)
from cutecc.record.naming import file_name
from cutecc.support.spelling import did_you_mean
from cutecc.target import Target

_WORD = 8
"""Bytes of an address, and of what a struct is written in."""
_MOST_THREADS = 1024
_SCRATCH = 2
"""Parameters that Triton adds."""
Argument = Any
"""An array, a number, `None` for a null pointer, or the bytes of a struct."""


@dataclass(frozen=True)
class PtxLaunch:
    """How a kernel is launched: what CUDA C++ writes between `<<<` and `>>>`, and attributes."""

    grid: Dim3
    block: Dim3
    shared_bytes: int = 0
    """Dynamic shared memory."""
    cluster: Dim3 | None = None
    """`None` is what the kernel was compiled for, if it was for clusters of some size."""
    cooperative: bool = False

    def cluster_of(self, entry: Function) -> Dim3:
        """The blocks of a cluster."""
        return self.cluster or _padded(entry.directives.get("reqnctapercluster", ()))


def emulate_ptx(
    text: str,
    kernel: str | None = None,
    *,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Argument] | Mapping[str, Argument],
    shared_bytes: int = 0,
    cluster: int | Sequence[int] | None = None,
    cooperative: bool = False,
    options: EmulatorOptions = EmulatorOptions(),
    untrusted: bool = False,
) -> Emulation:
    """Launch a kernel of a PTX text on the CPU, in place: what was found, counted and printed.

    `kernel` is the entry's name or a part of it, where the text has several; `args` are its parameters in order, by
    names of the caller's if they are a mapping: arrays of the CPU for pointers, numbers, `None` for a null pointer, and
    bytes for what is passed by value. `shared_bytes` is dynamic shared memory; without `cluster` the kernel's own
    counts. `untrusted` is for PTX of unknown origin: it runs in a process that can do nothing else, within strict
    limits, on the emulator alone, as `cutecc.load(path, untrusted=True)` has it.

    Raises `UsageError` and `ArgumentError` for what does not fit the entry, `ParseError` for what is no PTX, and as
    `Kernel.emulate`.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"PTX is text, not {type(text).__name__}", hints=["Path('kernel.ptx').read_text()"])
    module = read_module(text, options.limits or (STRICT_LIMITS if untrusted else Limits()))
    entry = entry_of(module, kernel)
    given = _named(entry, args)
    specs = {
        name: _spec_of(name, value, each) for (name, value), each in zip(given.items(), entry.parameters, strict=True)
    }
    clusters = None if cluster is None else _dim3("cluster", cluster)
    launch = PtxLaunch(_dim3("grid", grid), _dim3("block", block), shared_bytes, clusters, cooperative)
    structs = {name: bytes(value) for name, value in given.items() if isinstance(value, (bytes, bytearray))}
    made = replace(ptx_kernel(text, entry, module.target, launch, specs, structs), untrusted=untrusted)
    values = [_value(given[name]) for name, spec in specs.items() if not isinstance(spec, NoneSpec)]
    return made.emulator.emulate(values, {}, options)


def read_module(text: str, limits: Limits, name: str = "the PTX") -> Module:
    """The PTX text `name`. Raises `LimitError` for what takes more than `limits`, and `ParseError`."""
    limits.check("ptx", len(text.encode()), f"{name} has")
    return parse_module(PtxText(text), most_registers=limits.registers)


def entry_of(module: Module, name: str | None) -> Function:
    """The entry of this name, or the only one that has it in its own, as `saxpy` is in `_Z5saxpyfPfS_`; without a name
    the only one. Raises `UsageError`."""
    entries = {each.name: each for each in module.functions.values() if each.is_entry and not each.is_declaration}
    if name in entries:
        return entries[name]
    fitting = [each for each in entries.values() if name is None or name in each.name]
    if len(fitting) == 1:
        return fitting[0]
    known = f"its kernels: {', '.join(entries) or 'none'}"
    if fitting and name is not None:
        known = ", ".join(each.name for each in fitting)
        raise UsageError(f"the PTX has {len(fitting)} kernels with '{name}' in their names", hints=[known])
    if name is None:
        raise UsageError(f"the PTX has {len(entries)} kernels, and nothing says which one", hints=[known])
    raise UsageError(f"the PTX has no kernel '{name}'", hints=[*did_you_mean(name, entries), known])


def ptx_kernel(
    text: str,
    entry: Function,
    target: str,
    launch: PtxLaunch,
    specs: Mapping[str, Spec],
    structs: Mapping[str, bytes] = {},
    source: str | None = None,
) -> Kernel:
    """A kernel of a single launch; `specs` are of its parameters, in order, `structs` what is passed by value.

    Raises `UsageError` for an unknown target and for a launch, and `ArgumentError` for specs, that the entry does not
    take.
    """
    Target.of_ptx(target)
    _check_launch(entry, launch)
    _check_count(entry, len(specs))
    for (name, spec), parameter in zip(specs.items(), entry.parameters, strict=True):
        _check_fits(name, spec, parameter, structs.get(name))
    program = _program(entry, launch, specs, structs)
    name = file_name(entry.name)
    taken = [Parameter(each, str(spec)) for each, spec in specs.items() if not isinstance(spec, NoneSpec)]
    made = Compilation(name, target, FOREIGN, _versions(), "ok", source=source, signature=Signature(entry.name, taken))
    made.artifacts = [Artifact("ptx", f"{name}.ptx"), Artifact("host-program", f"{name}.host.json")]
    made.files = {f"{name}.ptx": text.encode(), f"{name}.host.json": encode(program)}
    return Kernel(made)


def _versions() -> Versions:
    from cutecc import __version__

    return Versions(__version__, platform.python_version(), nvidia_cutlass_dsl="none", ptxas="none")


def _check_launch(entry: Function, launch: PtxLaunch) -> None:
    cluster = launch.cluster_of(entry)
    for name, extent in (("grid", launch.grid), ("block", launch.block), ("cluster", cluster)):
        if min(extent) < 1:
            raise UsageError(f"a {name} of {extent} has nothing in it")
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    if threads > _MOST_THREADS:
        raise UsageError(f"a block of {launch.block} has {threads} threads: {_MOST_THREADS} is the most")
    required = entry.directives.get("reqntid")
    if required is not None and _padded(required) != launch.block:
        raise UsageError(
            f"{entry.name} is compiled for blocks of {_padded(required)} threads, and these have {launch.block}",
            hints=["its directive .reqntid says so"],
        )
    most = entry.directives.get("maxntid")
    if most is not None and threads > math.prod(most):
        raise UsageError(
            f"{entry.name} is compiled for blocks of up to {math.prod(most):,} threads, and these have {threads:,}",
            hints=["its directive .maxntid says so, which is what __launch_bounds__ becomes"],
        )
    required = entry.directives.get("reqnctapercluster")
    if required is not None and _padded(required) != cluster:
        raise UsageError(
            f"{entry.name} is compiled for clusters of {_padded(required)} blocks, and these have {cluster}",
            hints=["its directive .reqnctapercluster says so"],
        )
    if any(size % part for size, part in zip(launch.grid, cluster, strict=True)):
        raise UsageError(f"a grid of {launch.grid} is not made of clusters of {cluster}")


def _padded(extent: Sequence[int]) -> Dim3:
    x, y, z = (*extent, 1, 1, 1)[:3]
    return x, y, z


def _dim3(name: str, given: int | Sequence[int]) -> Dim3:
    extent = list(given) if isinstance(given, Sequence) else [given]
    if not 1 <= len(extent) <= 3:
        raise UsageError(f"a {name} has up to three extents, and {given!r} has {len(extent)}")
    return _padded([int(each) for each in extent])


# Parameters.


def _named(entry: Function, args: Sequence[Argument] | Mapping[str, Argument]) -> dict[str, Argument]:
    given = dict(args) if isinstance(args, Mapping) else {f"arg{n}": value for n, value in enumerate(args)}
    if takes_arrays_apart(entry, len(given)):
        given = values_apart(given)
    _check_count(entry, len(given))
    return given


def _check_count(entry: Function, given: int) -> None:
    """Raise `ArgumentError` unless there are as many arguments as parameters."""
    taken = len(entry.parameters)
    if taken == given:
        return
    hints = [f"they are {', '.join(map(_declared, entry.parameters)) or 'none'}, in this order"]
    if taken == given + _SCRATCH and all(each.type == "u64" for each in entry.parameters[-_SCRATCH:]):
        hints.append("Triton's kernels take two more pointers, to scratch memory: none where metadata says 0 bytes")
    parameters = f"{taken} parameter{'' if taken == 1 else 's'}"
    raise ArgumentError(
        f"{entry.name} has {parameters}, and {given or 'none'} {'is' if given == 1 else 'are'} given", hints=hints
    )


def _declared(parameter: Variable) -> str:
    """As messages name a parameter: `.u64 x`."""
    return f".{parameter.type} {parameter.name}{f'[{parameter.count}]' if (parameter.count or 1) > 1 else ''}"


def _spec_of(name: str, value: Argument, parameter: Variable) -> Spec:
    """What an argument is, for a parameter. Raises `ArgumentError` for what is none."""
    if value is None:
        return NoneSpec()
    if isinstance(value, (bytes, bytearray)):
        return NoneSpec()
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return parse_spec(_scalar_type(cast(object, value), parameter))
    array = read_array(value)
    if array is None:
        kind = type(value).__name__
        raise ArgumentError(f"argument '{name}' is {kind}: neither an array, a number, bytes nor None")
    dtype = find_numeric_type(array.dtype)
    if dtype is None:
        raise ArgumentError(f"argument '{name}' is an array of {array.dtype}, which there is no type of")
    shape, strides = array.shape or (1,), array.stride or (1,)
    return parse_spec(f"{dtype}[{','.join(map(str, shape))}]:({','.join(map(str, strides))})")


def _scalar_type(value: object, parameter: Variable) -> str:
    """The type that a parameter of the PTX has for a number: those of bits alone take what the number is."""
    bits, kind = TYPE_BITS[parameter.type], parameter.type[0]
    if kind == "f" or (kind == "b" and isinstance(value, (float, np.floating))):
        return f"f{bits}"
    return f"{'u' if kind == 'u' else 'i'}{bits}"


def _value(value: Argument) -> Argument:
    return cast(Argument, value.item()) if isinstance(value, np.number | np.bool_) else value


def _check_fits(name: str, spec: Spec, parameter: Variable, struct: bytes | None) -> None:
    """Raise `ArgumentError` unless an argument has the size of the parameter."""
    size = size_of(parameter)
    if struct is not None:
        taken = len(struct)
    elif isinstance(spec, ScalarSpec):
        taken = -(-spec.dtype.width // 8)
    else:
        taken = _WORD
    if taken != size:
        raise ArgumentError(
            f"argument '{name}', {'bytes' if struct is not None else spec}, takes {taken} bytes, and the parameter "
            f"{_declared(parameter)} has {size}"
        )


# The launch, as a program.


class _Values:
    """Value numbers of a program: leaves first, then constants."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.types: list[ValueType] = [leaf.type for leaf in leaves]
        self.instructions: list[Instruction] = []

    def add(self, type_: ValueType) -> int:
        self.types.append(type_)
        return len(self.types) - 1

    def constant(self, value: int, type_: ValueType) -> int:
        number = self.add(type_)
        self.instructions.append(Instruction("constant", results=[number], immediate=value))
        return number


def _program(
    entry: Function, launch: PtxLaunch, specs: Mapping[str, Spec], structs: Mapping[str, bytes]
) -> HostProgram:
    arguments: list[HostArgument] = []
    offsets: list[int] = []
    end = 0
    for parameter in entry.parameters:
        end = -(-end // parameter.align) * parameter.align
        offsets.append(end)
        end += size_of(parameter)
    taken: list[tuple[int, Leaf]] = []
    for spec, offset in zip(specs.values(), offsets, strict=True):
        if isinstance(spec, NoneSpec):
            continue
        leaves = _leaves(spec)
        arguments.append(HostArgument(leaves))
        taken += [(offset, leaf) for leaf in leaves]
    values = _Values([leaf for _, leaf in taken])
    writes = [ParameterWrite(offset, number) for number, (offset, _) in enumerate(taken)]
    for (name, spec), offset in zip(specs.items(), offsets, strict=True):
        data = structs.get(name, bytes(_WORD)) if isinstance(spec, NoneSpec) else b""
        for at in range(0, len(data), _WORD):
            part = data[at : at + _WORD]
            for place, width in _pieces(len(part)):
                piece = int.from_bytes(part[place : place + width], "little")
                type_ = cast(ValueType, f"i{8 * width}")
                writes.append(ParameterWrite(offset + at + place, values.constant(piece, type_)))
    site = LaunchSite(
        0,
        _constants(values, launch.grid),
        _constants(values, launch.block),
        values.constant(launch.shared_bytes, "i32"),
        values.constant(0, "i64"),
        _attributes(values, launch.cluster_of(entry), launch.cooperative),
        writes,
    )
    status = values.add("i32")
    values.instructions.append(Instruction("launch", results=[status], launch=site))
    kernel = KernelEntry(
        entry.name,
        [KernelParameter(at, size_of(each), each.align) for at, each in zip(offsets, entry.parameters, strict=True)],
        end,
    )
    body = Block(values.instructions, [], [status])
    return HostProgram(entry.name, arguments, values.types, [kernel], body)


def _pieces(size: int) -> list[tuple[int, int]]:
    """Where up to eight bytes are cut into parts that have a type, and how long each is."""
    found: list[tuple[int, int]] = []
    at = 0
    for width in (8, 4, 2, 1):
        while size - at >= width:
            found.append((at, width))
            at += width
    return found


def _constants(values: _Values, extent: Dim3) -> tuple[int, int, int]:
    x, y, z = (values.constant(each, "i32") for each in extent)
    return x, y, z


def _attributes(values: _Values, cluster: Dim3, cooperative: bool) -> list[LaunchAttribute]:
    found: list[LaunchAttribute] = []
    if cluster != (1, 1, 1):
        found.append(LaunchAttribute("cluster", [*_constants(values, cluster)]))
    if cooperative:
        found.append(LaunchAttribute("cooperative", [values.constant(1, "i32")]))
    return found


def _leaves(spec: Spec) -> list[Leaf]:
    match spec:
        case ScalarSpec():
            return [Leaf("scalar", _leaf_type(spec))]
        case TensorSpec() | PointerSpec():
            return [Leaf("pointer", "i64")]
        case _:
            raise ArgumentError(f"'{spec}' is no argument of a kernel by itself")


def _leaf_type(spec: ScalarSpec) -> ValueType:
    return cast(ValueType, str(spec.dtype).replace("u", "i").replace("bool", "i8"))
