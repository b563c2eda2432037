"""From the arguments of a call to the numbers that the host program takes, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, cast

from cutecc.arguments.arrays import Array, is_torch_like, read_array
from cutecc.arguments.specs import ConstSpec, NoneSpec, PointerSpec, ScalarSpec, StreamSpec, TensorSpec, TupleSpec
from cutecc.errors import ArgumentError, SpecError
from cutecc.record.compilation import Signature
from cutecc.record.host_program import HostProgram
from cutecc.runtime.calls import MISSING, CallForm
from cutecc.runtime.checks import NamedSizes, Place, check_device, check_place, kind_text, taken_text, tensor_leaves
from cutecc.runtime.parameters import CallGroup, CallParameter, call_parameters, flat_parameters
from cutecc.runtime.reading import Reader, generate_reader
from cutecc.runtime.scalars import pointer_leaf, scalar_leaf
from cutecc.runtime.streams import current_stream, read_stream, stream_device

_LEGACY_STREAMS = (0, 1)
"""Two handles of the legacy default stream."""


@dataclass(slots=True)
class Bound:
    """The arguments of one call as numbers."""

    leaves: list[int | float]
    """The values of leaf 0, 1, …: integers as residues modulo 2**N, floats not yet rounded to their type, addresses
    and streams as integers. A stream that was not given is 0."""
    device: int | None
    """The CUDA ordinal of the device that the arrays live on; `None` when no argument says so."""
    stream: int | None
    """The `CUstream` that the caller named, by `stream=` or for a stream parameter (the first of several). Launches
    whose stream value is 0 go there. `None`: to the current stream, see `cutecc.runtime.streams.current_stream`."""
    library: str | None
    """Whose current stream it is: `torch` when an argument is torch's, `cupy` when one is cupy's, else `None`, the
    legacy default stream."""
    after: tuple[int, ...]
    """Other streams that the owners of arrays have named: the launch has to wait for their work."""
    key: tuple[object, ...]
    """All but addresses and streams, hashable: the device and the other leaves. Calls with one key differ in nothing
    but the values of `Binder.varying`, `stream`, `library` and `after`."""
    arrays: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """By flat parameter, those that are arrays: tensors, and pointers that an array was given for."""

    def values(self, positions: Sequence[int]) -> tuple[int | float, ...]:
        """The leaves at `positions`."""
        return tuple([self.leaves[position] for position in positions])


class Binder:
    """Binds calls of one kernel. Without state between calls: threads may share one.

    A call is the kernel's runtime parameters in order, positionally or by name. Constants are left out, streams and
    `none` may be. `stream=` is taken whether or not there is a parameter of that name.
    """

    def __init__(
        self, signature: Signature, program: HostProgram | None = None, *, outputs: Sequence[str] = ()
    ) -> None:
        """Raises what `call_parameters` raises. Without a `program` the signature alone says what the leaves are.

        `outputs` are the parameters that the kernel writes, where that is known: hints depend on it.
        """
        self._outputs = frozenset(outputs)
        self.groups: tuple[CallGroup, ...] = call_parameters(signature, program)
        """The function's parameters."""
        self.parameters: list[CallParameter] = flat_parameters(self.groups)
        """The same, flat."""
        kinds = [leaf.kind for parameter in self.parameters for leaf in parameter.leaves]
        self.pointer_leaves: tuple[int, ...] = tuple(i for i, kind in enumerate(kinds) if kind == "pointer")
        """The leaves that are addresses, ascending."""
        self.stream_leaves: tuple[int, ...] = tuple(i for i, kind in enumerate(kinds) if kind == "stream")
        """The leaves that are streams, ascending."""
        self.varying: tuple[int, ...] = tuple(sorted(self.pointer_leaves + self.stream_leaves))
        """Both, ascending: what differs between calls of one key, for `make_plan`."""
        self._fixed = [i for i, kind in enumerate(kinds) if kind not in ("pointer", "stream")]
        self._form = CallForm(signature.function, self.groups)

    def bind(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] = {},
        *,
        checked: bool = True,
        place: Place | None = "cuda",
    ) -> Bound:
        """The numbers of a call `kernel(*args, **kwargs)`.

        `place` is where every array has to live, all on one device; `None` is anywhere, still all on one. Raises
        `ArgumentError`, which names the argument and both sides, for arguments that are missing, unknown or of the
        wrong kind, and with `checked` for everything else that the compiled kernel does not take. Nothing is launched,
        copied or waited for; arrays that come by DLPack order their producer's work before the stream of the call.
        """
        values, stream = self._values(args, kwargs)
        call = _Call(values, stream, checked, place, self._outputs)
        leaves = [leaf for parameter in self.parameters for leaf in call.leaves(parameter)]
        if call.stream is not None and self.stream_leaves:
            for position in self.stream_leaves:
                leaves[position] = leaves[position] or call.stream
        device = call.device()
        key = (device, *[_hashable(leaves[position]) for position in self._fixed])
        return Bound(leaves, device, call.stream, call.library, call.after(), key, call.arrays)

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any] = {}, *, place: Place | None = None) -> None:
        """Does `bind`'s checks only. Needs no GPU: arrays may live on the CPU unless `place` says otherwise."""
        self.bind(args, kwargs, place=place)

    def names_device(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether `device=` of a call is where it runs, `cpu` or `cuda`, and no argument of the kernel.

        Raises `ArgumentError` for another device.
        """
        if "device" not in kwargs or self._form.has_parameter("device"):
            return False
        check_device(kwargs["device"])
        return True

    def has_parameter(self, name: str) -> bool:
        """Whether a call can pass an argument by this name."""
        return self._form.has_parameter(name)

    def positional_names(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
        """The parameters that the positional arguments of a call are for. The call has to be one that `bind` takes."""
        return self._form.names(args, kwargs)[0]

    def reader(self, args: Sequence[Any], kwargs: Mapping[str, Any] = {}) -> Reader | None:
        """A fast reader of further calls like this one, as `cutecc.runtime.reading` generates it.

        The call has to be one that `bind` takes. `None` when an argument is of a kind that only `bind` reads.
        """
        positional, named = self._form.names(args, kwargs)
        given = dict(zip((*positional, *named), (*args, *kwargs.values()), strict=True))
        return generate_reader(self.groups, self.varying, given, positional, dict(zip(kwargs, named, strict=True)))

    def _values(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """The value of every flat parameter by name, `MISSING` where it was left out; and that of `stream=`."""
        values, stream = self._form.assign(args, kwargs)
        flat: dict[str, Any] = {}
        for group in self.groups:
            if not group.is_constant:
                _flatten(group, values[group.name], flat)
        return flat, stream


class _Call:
    """The arguments of one call, arrays read and checked one after the other."""

    def __init__(
        self, values: Mapping[str, Any], stream: Any, checked: bool, place: Place | None, outputs: Set[str]
    ) -> None:
        self._values = values
        self._outputs = outputs
        self._checked = checked
        self._place: Place | None = place
        self._known: NamedSizes = {}
        self.arrays: dict[str, Array] = {}
        self._given_stream: Any = None if stream is MISSING else stream
        self.stream: int | None = None if self._given_stream is None else read_stream(self._given_stream)
        """What the caller named, first by `stream=`, then in a parameter."""
        self.library = _library(values.values())

    def leaves(self, parameter: CallParameter) -> list[int | float]:
        """The leaves of one argument."""
        value = self._values.get(parameter.name, MISSING)
        match parameter.spec:
            case TensorSpec():
                array = self._array(parameter, value)
                if array is None:
                    device = "'cpu'" if self._place == "cpu" else "'cuda'"
                    hint = f"make an array of it: torch.tensor({parameter.name}, device={device}), for one"
                    raise _wrong_kind(
                        parameter, value, "an array is needed", [hint] if isinstance(value, tuple | list) else []
                    )
                writes = parameter.name.partition("[")[0] in self._outputs if self._outputs else None
                return [*tensor_leaves(parameter, array, self._known, checked=self._checked, writes=writes)]
            case PointerSpec():
                return [pointer_leaf(parameter, value, self._array(parameter, value), checked=self._checked)]
            case ScalarSpec():
                if value is None:
                    raise _wrong_kind(parameter, value, "a number is needed")
                return [scalar_leaf(parameter, value, checked=self._checked)]
            case StreamSpec():
                return [self._read_stream(parameter, value)]
            case NoneSpec():
                if self._checked and value is not MISSING and value is not None:
                    hint = f"compile again with an argument for '{parameter.name}'"
                    raise ArgumentError(
                        f"argument '{parameter.name}': the kernel was compiled without it", hints=[hint]
                    )
                return []
            case ConstSpec():
                self._check_constant(parameter, parameter.spec, value)
                return []

    def device(self) -> int | None:
        """The CUDA ordinal of the arrays. Raises `ArgumentError` for a stream of another device."""
        on_gpu = {name: array for name, array in self.arrays.items() if array.device == "cuda"}
        found = next(((name, array) for name, array in on_gpu.items() if array.ordinal is not None), None)
        if found is None:
            return None
        name, array = found
        theirs = None if self._given_stream is None else stream_device(self._given_stream)
        if self._checked and theirs is not None and theirs != array.ordinal:
            raise ArgumentError(f"the stream belongs to cuda:{theirs}, and argument '{name}' lives on {array.place}")
        return array.ordinal

    def after(self) -> tuple[int, ...]:
        """The streams that owners of arrays have named, but for the one that the launch goes to anyway."""
        named: dict[int, None] = {}
        for array in self.arrays.values():
            # What cupy names is its current stream.
            is_current = self.stream is None and self.library == array.library == "cupy"
            if array.stream is not None and not is_current and not self._is_own(array.stream):
                named[array.stream] = None
        return tuple(named)

    def _is_own(self, stream: int) -> bool:
        own = 0 if self.stream is None and self.library is None else self.stream
        return stream == own or (own in _LEGACY_STREAMS and stream in _LEGACY_STREAMS)

    def _array(self, parameter: CallParameter, value: Any) -> Array | None:
        assert isinstance(parameter.spec, TensorSpec | PointerSpec)
        try:
            array = read_array(value, stream=self._stream_on, unpack=parameter.spec.dtype.name != "f4E2M1FNx2")
        except SpecError as error:
            raise ArgumentError(f"argument '{parameter.name}': {error.message}", hints=error.hints) from None
        if array is None:
            return None
        if self._checked:
            first = next(iter(self.arrays.items()), None)
            check_place(parameter, array, self._place, first)
        self.arrays[parameter.name] = array
        return array

    def _stream_on(self, ordinal: int) -> int:
        """The stream that the call will use on a device."""
        return current_stream(self.library, ordinal)() if self.stream is None else self.stream

    def _read_stream(self, parameter: CallParameter, value: Any) -> int:
        if value is MISSING or value is None:
            return 0
        try:
            stream = read_stream(value)
        except ArgumentError as error:
            raise ArgumentError(f"argument '{parameter.name}': {error.message}", hints=error.hints) from None
        if self.stream is None:
            self.stream, self._given_stream = stream, value
        return stream

    def _check_constant(self, parameter: CallParameter, spec: ConstSpec, value: Any) -> None:
        """Constants inside of a tuple are passed with it, at the value that the kernel was compiled for."""
        if not self._checked or value is MISSING:
            return
        try:
            same = ConstSpec.of(value) == spec
        except SpecError:
            same = False
        if not same:
            raise ArgumentError(
                f"argument '{parameter.name}' is a compile-time constant, {spec.literal}, and {value!r} is given",
                hints=["compile again for another value"],
            )


def _flatten(group: CallGroup, value: Any, flat: dict[str, Any]) -> None:
    if not isinstance(group.spec, TupleSpec):
        flat[group.name] = value
        return
    items = list(cast("Sequence[Any]", value)) if isinstance(value, tuple | list) else []
    if len(items) != len(group.items) or not isinstance(value, tuple | list):
        given = f"{len(items)} are" if isinstance(value, tuple | list) else f"{kind_text(value)} is"
        raise ArgumentError(
            f"argument '{group.name}' takes a tuple of {len(group.items)}, {group.spec}, and {given} given"
        )
    for item, inner in zip(group.items, items, strict=True):
        assert isinstance(item, CallGroup)
        _flatten(item, inner, flat)


def _library(values: Iterable[Any]) -> str | None:
    """Whose current stream a call goes to."""
    found = None
    for value in values:
        if is_torch_like(value):
            return "torch"
        if type(value).__module__.partition(".")[0] == "cupy":
            found = "cupy"
    return found


def _wrong_kind(parameter: CallParameter, value: Any, reason: str, hints: Sequence[str] = ()) -> ArgumentError:
    found = f"'{parameter.name}' is {kind_text(value)}"
    message = f"argument {found}, but the kernel takes {taken_text(parameter)}: {reason}"
    return ArgumentError(message, hints=[*hints])


def _hashable(leaf: int | float) -> int | float | str:
    """A leaf in a key: equal when the numbers are the same, also for zeros of two signs and for what is no number."""
    return leaf if isinstance(leaf, int) or (leaf and leaf == leaf) else repr(leaf)
