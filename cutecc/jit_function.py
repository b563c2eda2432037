"""`@cutecc.jit`: calling a host function compiles it for its arguments once, and launches it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast, overload

from cutecc.arguments.arrays import Array, describe_array, read_array
from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.specs import Dynamic, Mode, ScalarSpec, Spec, StreamSpec, TensorSpec, TupleSpec
from cutecc.compilation.request import CompileOptions, check_kinds, with_line_info
from cutecc.config import Settings
from cutecc.emulator.names import CALL_NAMES, EMULATED_TARGET
from cutecc.errors import LaunchError, NoGpuError, UsageError
from cutecc.kernel import Kernel
from cutecc.passes.pipeline import Pipeline
from cutecc.runtime.checks import check_device
from cutecc.support import forks
from cutecc.target import Target, device_targets

if TYPE_CHECKING:
    from cutecc.emulator.device import Emulation

_MOST_REMEMBERED = 4096
"""Calls that are told apart without describing their arguments; shapes and streams come and go."""


@overload
def jit(
    function: Callable[..., Any],
    /,
    *,
    target: str | Target | None = ...,
    pipeline: str | Pipeline = ...,
    options: CompileOptions = ...,
    cache: bool | None = ...,
) -> JitFunction: ...
@overload
def jit(
    *,
    target: str | Target | None = ...,
    pipeline: str | Pipeline = ...,
    options: CompileOptions = ...,
    cache: bool | None = ...,
) -> Callable[[Callable[..., Any]], JitFunction]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    target: str | Target | None = None,
    pipeline: str | Pipeline = "nvidia",
    options: CompileOptions = CompileOptions(),
    cache: bool | None = None,
) -> JitFunction | Callable[[Callable[..., Any]], JitFunction]:
    """Have calls of a host function compile it when that is needed, and launch it.

    A decorator in the place of `@cute.jit`, or above it; also for a bound method, or an object with a `@cute.jit`
    `__call__`. `target` is by default that of the GPU on which the arguments are; the rest is as for `cutecc.compile`.
    """

    def decorate(function: Callable[..., Any]) -> JitFunction:
        return JitFunction(function, target=target, pipeline=pipeline, options=options, cache=cache)

    return decorate if function is None else decorate(function)


class JitFunction:
    """A host function whose calls compile and launch.

    There is one kernel for each class of arguments: element type, rank, which strides are 0 or 1, alignment (up to 16
    bytes), constants, `None`s and the target. Sizes, other strides, numbers and streams belong to the launch. What the
    function reads besides, such as globals and its object's fields, is read when it is compiled. Called from a function
    that is being traced, it is part of that trace, as a `@cute.jit` function is.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        target: str | Target | None,
        pipeline: str | Pipeline,
        options: CompileOptions,
        cache: bool | None,
    ) -> None:
        check_kinds(pipeline=pipeline, options=options, cache=cache)
        function = _host_function(function)
        self.__wrapped__ = function
        self.__cutecc_wrapped__ = function
        """Says that this is a host function, wherever one is expected."""
        functools.update_wrapper(cast("Any", self), function, updated=())
        self._target = target
        self._settings: dict[str, Any] = {"pipeline": pipeline, "options": options, "cache": cache}
        self._lock = forks.rlock()
        self._calls: dict[tuple[Any, ...], _Call] = {}
        self._kernels: dict[tuple[Any, ...], Kernel] = {}

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """The kernels compiled so far, by target and argument specs, and a number where these are the same."""
        found: dict[str, Kernel] = {}
        for kernel in list(self._kernels.values()):
            title = _title(kernel)
            alike = sum(each.partition(" #")[0] == title for each in found)
            found[f"{title} #{alike + 1}" if alike else title] = kernel
        return MappingProxyType(found)

    def cache_clear(self) -> None:
        """Forget the kernels compiled so far, also after a change of what the function reads. Files stay."""
        with self._lock:
            self._calls = {}
            self._kernels = {}

    def __get__(self, instance: object, owner: type | None = None) -> JitFunction:
        """As a method: a function of each object's own."""
        if instance is None:
            return self
        name = f"_cutecc_jit_{self.__wrapped__.__name__}"
        try:
            namespace = instance.__dict__
        except AttributeError:
            raise UsageError(
                f"{type(instance).__name__} has no room for what @cutecc.jit keeps for each object",
                hints=["leave out __slots__, or call cutecc.jit(object)"],
            ) from None
        known = namespace.get(name)
        # A copy of an object has the original's.
        if known is None or known.__wrapped__.__self__ is not instance:
            bound = self.__wrapped__.__get__(instance, owner)
            known = JitFunction(bound, target=self._target, **self._settings)
            if isinstance(instance, type):
                setattr(instance, name, known)
            else:
                namespace[name] = known
        return known

    def __repr__(self) -> str:
        count = len(self._kernels)
        compiled = f"{count or 'no'} kernel{'' if count < 2 else 's'} compiled{'' if count else ' yet'}"
        return f"<cutecc.jit function {_name(self.__wrapped__)}, {compiled}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> JitFunction:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """As of functions and methods: by name, without the kernels."""
        owner = getattr(self.__wrapped__, "__self__", None)
        name: str = self.__wrapped__.__name__
        return (getattr, (owner, name)) if owner is not None else cast("Any", self).__qualname__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compile the function for these arguments, unless that is done, and launch it; as `Kernel.__call__`.

        Compile-time constants are given, as in the function's own signature; streams may be left out, and `stream=`
        is taken in any case.
        """
        form = self._form
        if form.is_tracing():
            return form.call_in_trace(*args, **kwargs)
        stream: dict[str, Any] = {}
        if kwargs or len(args) != form.count:
            if "device" in kwargs and not form.has_parameter("device"):
                return self._call_on(kwargs.pop("device"), args, kwargs)
            args, stream = form.arrange(args, kwargs)
        key = form.key(args)
        call = self._calls.get(key) or self._remember(key, args)
        if call.runtime is None:
            return call.kernel(*args, **stream)
        return call.kernel(*[args[position] for position in call.runtime], **stream)

    def emulate(self, *args: Any, **kwargs: Any) -> Emulation:
        """Compile the function for arrays of the CPU, and call it on the emulator; as `Kernel.emulate`."""
        kernel, call = self._for_cpu(args, kwargs)
        return kernel.emulate(*call[0], **call[1])

    def _call_on(self, device: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        check_device(device)
        if device == "cuda":
            self(*args, **kwargs)
            return
        kernel, call = self._for_cpu(args, kwargs)
        kernel(*call[0], **call[1], device="cpu")

    def _for_cpu(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Kernel, tuple[tuple[Any, ...], dict[str, Any]]]:
        """The kernel that the emulator runs for a call, and what to call it with."""
        form = self._form
        options = {name: value for name, value in kwargs.items() if form.is_of_emulator(name)}
        rest = {name: value for name, value in kwargs.items() if name not in options}
        arranged, stream = form.arrange(args, rest)
        kernel = self._kernel(arranged, on_cpu=True)
        positions = form.runtime(len(arranged))
        values = arranged if positions is None else tuple(arranged[position] for position in positions)
        return kernel, (values, {**stream, **options})

    def compile(self, *args: Any, **kwargs: Any) -> Kernel:
        """The kernel that a call with these arguments launches. Argument specs stand for arguments too."""
        args, _ = self._form.arrange(args, kwargs)
        return self._kernel(args)

    @functools.cached_property
    def _form(self) -> _Form:
        return _Form(self.__wrapped__)

    def _remember(self, key: tuple[Any, ...], args: tuple[Any, ...]) -> _Call:
        try:
            kernel = self._kernel(args)
        except NoGpuError:
            name = _name(self.__wrapped__)
            raise LaunchError(
                f"{name} cannot be called here: this machine has no GPU to run it on",
                hints=[
                    f'compiling needs none: cutecc.compile({name}, …, target="sm_90a") gives the kernel, and its '
                    "save(FILE) a bundle, which cutecc.load reads where there is a GPU",
                    f'to run it on the CPU emulator: {name}(…, device="cpu"), with arrays of the CPU',
                ],
            ) from None
        call = _Call(kernel, self._form.runtime(len(args)))
        if len(self._calls) >= _MOST_REMEMBERED:
            self._calls = {}
        self._calls[key] = call
        return call

    def _kernel(self, args: tuple[Any, ...], *, on_cpu: bool = False) -> Kernel:
        from cutecc.driver import compile

        settings = self._settings
        if on_cpu:
            target = self._target or Settings.from_environment().target or EMULATED_TARGET
            settings = {**settings, "options": with_line_info(settings["options"])}
        else:
            target = self._target or _target_of(args)
        described = self._form.described(args)
        key = (str(target), settings["options"].wheel.preserve_line_info, *(kind for kind, _ in described))
        kernel = self._kernels.get(key)
        if kernel is not None:
            return kernel
        with self._lock:
            if key not in self._kernels:
                values, named = self._form.as_call([value for _, value in described])
                compiled = compile(self.__wrapped__, *values, target=target, **settings, **named)
                if not isinstance(compiled, Kernel):
                    raise UsageError(
                        "cutecc.jit compiles for one target at a time", hints=["name one: target='sm_90a'"]
                    )
                self._kernels[key] = compiled
            return self._kernels[key]


def _host_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, made a `@cute.jit` function when it is a plain one. Raises `UsageError` for what cannot be one."""
    from cutecc.frontend.dsl import cute
    from cutecc.frontend.host_functions import check_host_function, decorator_kind

    if inspect.isfunction(function) and decorator_kind(function) is None:
        if function.__name__ == "<lambda>":
            raise UsageError(
                "cutecc.jit takes a function with a name and lines of its own, not a lambda",
                hints=["write it with def"],
            )
        return cute().jit(function)
    try:
        return check_host_function(function, _name(function))
    except UsageError as error:
        error.message = f"cutecc.jit takes a host function: {error.message}"
        raise


def _name(function: Any) -> str:
    """What the user calls a function, or an object that is called as one."""
    return getattr(function, "__qualname__", None) or repr(function)


class _Call:
    """What a call with known arguments does."""

    __slots__ = ("kernel", "runtime")

    def __init__(self, kernel: Any, runtime: list[int] | None) -> None:
        self.kernel = kernel
        self.runtime = runtime
        """The positions of the arguments that are passed at run time; `None` for all."""


class _Form:
    """How a function is called: its parameters, and which of them are constants or streams."""

    def __init__(self, function: Callable[..., Any]) -> None:
        from cutecc.frontend.annotations import is_constexpr, is_stream
        from cutecc.frontend.callee import Callee
        from cutecc.frontend.decorators import is_tracing
        from cutecc.frontend.host_functions import check_host_function

        self.is_tracing = is_tracing
        self._function = function
        callee = Callee.of(check_host_function(function, getattr(function, "__qualname__", repr(function))))
        self._callee = callee
        self._parameters = list(callee.signature.parameters.values())
        kinds = {parameter.kind for parameter in self._parameters}
        if inspect.Parameter.VAR_KEYWORD in kinds:
            raise UsageError(f"{callee.qualified_name} takes any keyword, which cutecc.jit cannot", callee.location())
        self._is_variadic = inspect.Parameter.VAR_POSITIONAL in kinds
        self.count = -1 if self._is_variadic or inspect.Parameter.KEYWORD_ONLY in kinds else len(self._parameters)
        self._constants = [i for i, each in enumerate(self._parameters) if is_constexpr(each.annotation)]
        self._streams = {i for i, each in enumerate(self._parameters) if is_stream(each.annotation)}
        self._names = {parameter.name for parameter in self._parameters}

    def has_parameter(self, name: str) -> bool:
        """Whether the function has a parameter of this name."""
        return name in self._names

    def is_of_emulator(self, name: str) -> bool:
        """Whether a keyword argument of a call on the CPU is for the emulator, not the kernel."""
        return name not in self._names and name in CALL_NAMES

    def call_in_trace(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function as a `@cute.jit` function that calls it does."""
        from cutecc.frontend.decorators import own_decorators

        with own_decorators(self._callee.function.__globals__):
            return self._function(*args, **kwargs)

    def arrange(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments in the order of the parameters, with defaults, `None` for a stream that was left out; and
        `stream=`, when no parameter has that name.

        Raises `UsageError` as the function itself would raise `TypeError`.
        """
        extra = {"stream": kwargs["stream"]} if "stream" in kwargs and "stream" not in self._names else {}
        try:
            bound = self._callee.signature.bind_partial(*args, **{k: v for k, v in kwargs.items() if k not in extra})
        except TypeError as error:
            raise UsageError(f"{self._callee.qualified_name}: {error}", self._callee.location()) from None
        bound.apply_defaults()
        values: list[Any] = []
        for position, parameter in enumerate(self._parameters):
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                values += bound.arguments[parameter.name]
            elif parameter.name in bound.arguments:
                values.append(bound.arguments[parameter.name])
            elif position in self._streams:
                values.append(None)
            else:
                raise UsageError(
                    f"{self._callee.qualified_name}: missing argument '{parameter.name}'",
                    self._callee.location(parameter.name),
                )
        return tuple(values), extra

    def key(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """What tells this call from others, quickly: more than what compiling depends on."""
        readers = _readers
        values: Sequence[Any] = args
        if self._constants:  # may be of any type, also strings that are no specs
            values = [*args]
            for position in self._constants:
                values[position] = None
        try:
            key = [readers[type(value)](value) for value in values]
        except KeyError:
            key = [_read_any(value) for value in values]
        for position in self._constants:
            key[position] = _constant(args[position])
        return tuple(key)

    def runtime(self, count: int) -> list[int] | None:
        """The positions, of `count` arguments, that are passed to the kernel; `None` for all."""
        if not self._constants:
            return None
        return [position for position in range(count) if position not in self._constants]

    def described(self, args: tuple[Any, ...]) -> list[tuple[Any, Any]]:
        """For each argument, the class that a kernel is compiled for, and what to compile it with."""
        result: list[tuple[Any, Any]] = []
        for position, value in enumerate(args):
            if position in self._constants:
                result.append((_constant(value), value))
            elif position in self._streams:
                result.append(("stream", StreamSpec()))
            else:
                result.append(_describe(value))
        return result

    def as_call(self, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Arranged arguments as a call writes them: in place, and by keyword."""
        only = [each.name for each in self._parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
        split = len(values) - len(only)
        return values[:split], dict(zip(only, values[split:], strict=True))


# How to tell the arguments of one call from those of another, by their type. Scalars and streams are all alike.
_Reader = Callable[[Any], Any]
_readers: dict[type, _Reader] = {}


def _learn(value: Any) -> _Reader:
    """Find out how to tell values of this type apart."""
    kind = cast("type[Any]", type(value))
    if kind in (int, float, bool, type(None)):
        return _readers.setdefault(kind, lambda _: kind)
    if callable(getattr(value, "data_ptr", None)) and callable(getattr(value, "stride", None)):
        return _readers.setdefault(kind, _read_tensor)
    if kind in (tuple, list):
        return _readers.setdefault(kind, lambda items: (kind, *(_read_any(item) for item in items)))
    if (
        kind.__name__ in ("CUstream", "cudaStream_t")
        or hasattr(kind, "__cuda_stream__")
        or hasattr(kind, "cuda_stream")
    ):
        return _readers.setdefault(kind, lambda _: "stream")
    return _readers.setdefault(kind, _read_other)


def _read_any(value: Any) -> Any:
    reader = _readers.get(cast("type[Any]", type(value)))
    return (reader or _learn(value))(value)


def _read_tensor(tensor: Any) -> Any:
    return tensor.dtype, tensor.shape, tensor.stride(), tensor.data_ptr() & 15, tensor.device


def _read_other(value: Any) -> Any:
    array = read_array(value)
    if array is None:
        return _describe(value)[0]
    return array.dtype, array.shape, array.stride, array.address & 15, array.place


def _describe(value: Any) -> tuple[Any, Any]:
    """The class of an argument, and what to compile it with."""
    from cutecc.frontend.describe import describe_known, is_placeholder

    array = None if isinstance(value, str) else read_array(value)
    if array is not None:
        spec: Spec | None = _without_values(describe_array(array))
        return str(spec), spec
    kind = cast("type[Any]", type(value))
    if kind in (int, float, bool):
        return kind, value
    spec = parse_spec(value) if isinstance(value, str) else describe_known(value)
    if spec is None:
        return _Identity(value), value
    if isinstance(value, tuple | list):
        described = [_describe(item) for item in cast("tuple[Any, ...]", value)]
        return (kind, *(each for each, _ in described)), cast("Any", value)
    spec = _without_values(spec)
    return str(spec), value if is_placeholder(value) else spec


def _without_values(spec: Spec) -> Spec:
    """`spec` as it is for every call of its class."""
    match spec:
        case TensorSpec():
            stride = None if spec.stride is None else tuple(map(_without_value, spec.stride))
            return replace(spec, shape=tuple(map(_without_value, spec.shape)), stride=stride)
        case ScalarSpec():
            return replace(spec, value=None, size=None)
        case TupleSpec():
            return TupleSpec(tuple(map(_without_values, spec.items)))
        case _:
            return spec


def _without_value(mode: Mode) -> Mode:
    if isinstance(mode, tuple):
        return tuple(map(_without_value, mode))
    return replace(mode, value=None) if isinstance(mode, Dynamic) else mode


class _Identity:
    """An object that no spec describes: a kernel for it is for no other. Kept alive, so that no other has its `id`."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __hash__(self) -> int:
        return id(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other._value is self._value


def _constant(value: Any) -> Any:
    """What tells a compile-time constant from others: `1`, `1.0` and `True` are three."""
    kind = cast("type[Any]", type(value))
    if kind is float:
        return kind, value.hex()
    if kind in (tuple, list):
        return kind, *map(_constant, value)
    if kind is dict:
        return kind, *((_constant(key), _constant(item)) for key, item in value.items())
    if is_dataclass(kind):
        return kind, *(_constant(getattr(value, each.name)) for each in fields(kind))
    try:
        hash(value)
    except TypeError:
        return _Identity(value)
    return kind, value


def _target_of(args: tuple[Any, ...]) -> Target | None:
    """The target of the GPU on which the first of the arrays there is; `None` when none is on one."""
    for value in args:
        if isinstance(value, tuple | list):
            if found := _target_of(tuple(cast("tuple[Any, ...]", value))):
                return found
            continue
        array: Array | None = None if isinstance(value, str) else read_array(value)
        if array is not None and array.device == "cuda":
            return _targets()[array.ordinal or 0]
    return None


@functools.cache
def _targets() -> list[Target]:
    return device_targets()


def _title(kernel: Kernel) -> str:
    record = kernel.compilation
    parameters = record.signature.parameters if record.signature else []
    specs = ", ".join(f"{parameter.name}: {parameter.spec}" for parameter in parameters)
    return f"{record.name}({specs}) for {record.target}"
