"""Which argument of a call is for which parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cutecc.arguments.specs import ConstSpec, NoneSpec, StreamSpec
from cutecc.errors import ArgumentError, SpecError
from cutecc.runtime.parameters import CallGroup
from cutecc.runtime.streams import find_stream
from cutecc.support.spelling import did_you_mean


class _Missing:
    """The argument that was left out."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
_ON_CPU = (
    "check",
    "schedule",
    "budget",
    "seed",
    "blocks",
    "counters",
    "processes",
    "shared",
    "limits",
    "emulator",
    "extent",
)
"""What a call can say besides its arguments when it runs on the emulator."""


class CallForm:
    """How calls of one function are written."""

    def __init__(self, function: str, groups: Sequence[CallGroup]) -> None:
        self._function = function
        self._constants = {group.name: group.spec for group in groups if isinstance(group.spec, ConstSpec)}
        self._groups = [group for group in groups if not group.is_constant]
        self._names = [group.name for group in self._groups]
        self._required = sum(not group.is_optional for group in self._groups)
        # `**options` of the function comes as `options.width`, and is passed by its own name.
        self._aliases = {name.rpartition(".")[2]: name for name in self._names if "." in name}

    def has_parameter(self, name: str) -> bool:
        """Whether a parameter, a constant too, goes by this name in a call."""
        return name in self._names or name in self._aliases or name in self._constants

    def assign(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """The value of every runtime parameter by name, in order, `MISSING` for a stream or `none` that was left out;
        and what `stream=` was given apart from that, or `MISSING`.

        Raises `ArgumentError` for arguments that are too many, missing, unknown, given twice, or constants.
        """
        named, stream = self._named(kwargs)
        values: dict[str, Any] = dict.fromkeys(self._names, MISSING)
        for name, value in zip(self._positional(args, named), args, strict=True):
            if name in named:
                raise self._twice(name)
            values[name] = value
        values.update(named)
        absent = [group.name for group in self._groups if not group.is_optional and values[group.name] is MISSING]
        if absent:
            names = ", ".join(f"'{name}'" for name in absent)
            hints = [self._usage()]
            raise ArgumentError(
                f"{self._function}: missing argument{'s' if len(absent) > 1 else ''} {names}", hints=hints
            )
        return values, stream

    def names(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """The parameters of a call that `assign` takes: those of `args`, and those of `kwargs`, in their order."""
        named, _ = self._named(kwargs)
        return self._positional(args, named), [
            key if key in self._names else self._aliases.get(key, key) for key in kwargs
        ]

    def _named(self, kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        named: dict[str, Any] = {}
        stream: Any = MISSING
        for key, value in kwargs.items():
            name = key if key in self._names else self._aliases.get(key, key)
            if name in self._names:
                named[name] = value
            elif name in self._constants:
                raise _constant_given(name, self._constants[name], value)
            elif name == "stream":
                stream = value
            else:
                raise self._unknown(key)
        return named, stream

    def _positional(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[str]:
        """The parameters that `args` are for.

        Optional ones are all skipped when just the others are given, all filled when there are enough arguments, and
        else filled where the argument is a stream or `None`.
        """
        slots = [group for group in self._groups if not (group.is_optional and group.name in named)]
        if len(args) > len(slots):
            if len(args) <= len(self._groups):
                twice = [group.name for group in self._groups[: len(args)] if group not in slots]
                if twice:
                    raise self._twice(twice[0])
            raise self._too_many(len(args), len(slots))
        by_name = sum(not group.is_optional and group.name in named for group in self._groups)
        if len(args) == self._required - by_name:
            slots = [group for group in slots if not group.is_optional]
        elif len(args) < len(slots) - by_name:
            slots = _fitting(slots, args)
            if len(args) > len(slots):
                raise self._too_many(len(args), len(slots))
        return [group.name for group in slots[: len(args)]]

    def _twice(self, name: str) -> ArgumentError:
        return ArgumentError(f"{self._function}: argument '{name}' is given twice, in its place and by name")

    def _too_many(self, given: int, taken: int) -> ArgumentError:
        hints = [self._usage()]
        if self._constants:
            constants = ", ".join(f"'{name}' ({spec.literal})" for name, spec in self._constants.items())
            hints.insert(0, f"compile-time constants are left out: {constants}")
        arguments = f"{taken} argument{'' if taken == 1 else 's'}"
        return ArgumentError(f"{self._function} takes {arguments}, and {given} are given in place", hints=hints)

    def _unknown(self, name: str) -> ArgumentError:
        known = [*self._names, *self._aliases, "stream", *_ON_CPU]
        if name in _ON_CPU:
            hint = f'{name}= is for calls on the CPU emulator: pass device="cpu" too'
            return ArgumentError(f"{self._function} has no parameter '{name}'", hints=[hint, self._usage()])
        close = did_you_mean(name, known)
        return ArgumentError(f"{self._function} has no parameter '{name}'", hints=[*close, self._usage()])

    def _usage(self) -> str:
        parameters = [f"[{group.name}]" if group.is_optional else group.name for group in self._groups]
        return f"call it as {self._function}({', '.join(parameters)})"


def _constant_given(name: str, compiled: ConstSpec, value: Any) -> ArgumentError:
    """A constant passed by name: needless when it is the compiled one, and else another kernel's."""
    try:
        given = ConstSpec.of(value)
    except SpecError:  # of a type that no constant's spec can show
        given = compiled
    if given == compiled:
        return ArgumentError(f"'{name}' is a compile-time constant, {compiled.literal}: leave it out")
    return ArgumentError(
        f"'{name}' is a compile-time constant: the kernel is compiled for {compiled.literal}, not {given.literal}",
        hints=[f"compile it again for {given.literal}"],
    )


def _fitting(slots: Sequence[CallGroup], args: Sequence[Any]) -> list[CallGroup]:
    """`slots` without the optional ones that the next argument is not for."""
    fitting: list[CallGroup] = []
    for slot in slots:
        if slot.is_optional and len(fitting) < len(args):
            value = args[len(fitting)]
            is_stream = isinstance(slot.spec, StreamSpec) and find_stream(value) is not None
            is_none = isinstance(slot.spec, NoneSpec | StreamSpec) and value is None
            if not (is_stream or is_none):
                continue
        fitting.append(slot)
    return fitting
