"""From specs and real values to the arguments that the DSL traces a function with."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast, get_origin

from cutecc.arguments.dtypes import NumericType, find_numeric_type
from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.sizes import unify_sizes
from cutecc.arguments.specs import (
    ConstSpec,
    Dynamic,
    Mode,
    NoneSpec,
    PointerSpec,
    ScalarSpec,
    Spec,
    StreamSpec,
    TensorSpec,
    TupleSpec,
)
from cutecc.errors import SourceLocation, SpecError, UsageError
from cutecc.frontend import dsl
from cutecc.frontend.annotations import (
    fits,
    is_array_view,
    is_constexpr,
    item_annotations,
    named_fields,
    numeric_type,
    suggest,
)
from cutecc.frontend.callee import Callee
from cutecc.frontend.describe import describe_known, in_constant, is_placeholder
from cutecc.record.compilation import Parameter, Signature
from cutecc.support.spelling import did_you_mean

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Arguments:
    """What to call the DSL with, and what it stands for."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    signature: Signature


def bind_values(callee: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Arguments:
    """The arguments of a library call: real arrays and numbers, DSL objects, specs and spec strings, in any mixture.

    Arrays are replaced by fakes in global memory, so that a kernel for a GPU can be traced with arrays on the CPU.
    Raises `UsageError` when they do not match the function's parameters, `SpecError` for a spec that is wrong or
    missing.
    """
    try:
        bound = callee.signature.bind_partial(*args, **kwargs)
    except TypeError as error:
        raise UsageError(f"{callee.qualified_name}: {error}", callee.location()) from None
    return _Binder(callee, bound, {}, in_shell=False).arguments()


def bind_specs(callee: Callee, specs: Mapping[str, Spec], sources: Mapping[str, SourceLocation]) -> Arguments:
    """The arguments that specs by parameter name stand for; `sources` says where each spec was written.

    Raises `SpecError` for a name that is no parameter, and for a spec that is missing or does not fit.
    """
    parameters = callee.signature.parameters
    variadic = {parameter.kind: name for name, parameter in parameters.items() if parameter.kind in _VARIADIC}
    bound = inspect.BoundArguments(callee.signature, {})  # pyright: ignore[reportArgumentType]
    for name, spec in specs.items():
        keywords = variadic.get(inspect.Parameter.VAR_KEYWORD)
        if name == variadic.get(inspect.Parameter.VAR_POSITIONAL) and isinstance(spec, TupleSpec):
            bound.arguments[name] = spec.items
        elif name in parameters and parameters[name].kind not in _VARIADIC:
            bound.arguments[name] = spec
        elif keywords is not None and name not in parameters:
            bound.arguments.setdefault(keywords, {})[name] = spec
        else:
            raise _unknown_parameter(callee, name, sources.get(name))
    return _Binder(callee, bound, sources, in_shell=True).arguments()


class _Binder:
    def __init__(
        self,
        callee: Callee,
        bound: inspect.BoundArguments,
        sources: Mapping[str, SourceLocation],
        *,
        in_shell: bool,
    ) -> None:
        self._callee = callee
        self._in_shell = in_shell
        """Whether hints are for the command line, or for a call in Python."""
        self._sources = sources
        self._bound = bound
        self._symbols: dict[tuple[str, int], Any] = {}

    def arguments(self) -> Arguments:
        missing = [
            name
            for name, parameter in self._callee.signature.parameters.items()
            if name not in self._bound.arguments
            and parameter.default is inspect.Parameter.empty
            and parameter.kind not in _VARIADIC
        ]
        if missing:
            raise _missing_specs(self._callee, missing, self._in_shell)
        given = dict(self._bound.arguments)
        self._bound.apply_defaults()
        # A variadic parameter's values are looked at one by one, under names such as `xs[0]`.
        values = {key: value for name in given for key, value in self._parts(name, given[name])}
        specs = {key: spec for key, value in values.items() if (spec := self._spec(key, value)) is not None}
        specs = unify_sizes(specs, self._sources)
        built: dict[str, Any] = {}
        for key, value in values.items():
            with self._blame(key):
                built[key] = self._build(specs[key], self._annotation(key), value) if key in specs else value
        self._put(given, built)
        return Arguments(self._bound.args, self._bound.kwargs, self._signature(specs, values))

    def _put(self, given: Mapping[str, Any], built: Mapping[str, Any]) -> None:
        """Have what was built stand for what was given, several of a variadic parameter in one."""
        for name, value in given.items():
            parts = [key for key, _ in self._parts(name, value)]
            match self._callee.signature.parameters[name].kind:
                case inspect.Parameter.VAR_POSITIONAL:
                    self._bound.arguments[name] = tuple(built[key] for key in parts)
                case inspect.Parameter.VAR_KEYWORD:
                    self._bound.arguments[name] = {key.split(".", 1)[1]: built[key] for key in parts}
                case _:
                    self._bound.arguments[name] = built[name]

    def _parts(self, name: str, value: Any) -> list[tuple[str, Any]]:
        match self._callee.signature.parameters[name].kind:
            case inspect.Parameter.VAR_POSITIONAL:
                return [(f"{name}[{index}]", item) for index, item in enumerate(value)]
            case inspect.Parameter.VAR_KEYWORD:
                return [(f"{name}.{key}", item) for key, item in value.items()]
            case _:
                return [(name, value)]

    def _annotation(self, key: str) -> Any:
        parameter = self._callee.signature.parameters.get(key)
        return inspect.Parameter.empty if parameter is None else parameter.annotation

    def _spec(self, key: str, value: Any) -> Spec | None:
        """The spec of an argument; `None` for a value that is passed on as it is."""
        annotation = self._annotation(key)
        with self._blame(key):
            if is_constexpr(annotation):
                # Any value can be a constant; a string is one too, unless it spells a constant.
                is_text = isinstance(value, str) and value.lstrip().startswith("const(")
                spec = parse_spec(value) if is_text else (value if isinstance(value, Spec) else None)
            elif type(value) in (int, float, bool) and (dtype := numeric_type(annotation)):
                spec = ScalarSpec(dtype, value)
            else:
                spec = describe_known(value)
        if spec is not None and not is_placeholder(value) and not fits(spec, annotation):
            raise self._misfit(key, spec)
        return spec

    @contextmanager
    def _blame(self, key: str) -> Generator[None]:
        """Says of an error which argument it is about."""
        try:
            yield
        except SpecError as error:
            error.message = f"argument '{key}': {error.message}"
            error.location = error.location or self._sources.get(key) or self._callee.location(key)
            raise

    def _misfit(self, key: str, spec: Spec) -> SpecError:
        text = self._callee.annotation_text(key)
        declared = self._callee.location(key)
        return SpecError(
            f"'{key}' is declared as {text}, which {spec} does not fit",
            self._sources.get(key) or declared,
            notes=[f"declared at {declared}"] if declared and key in self._sources else [],
            hints=[f"a spec that fits: {suggest(self._annotation(key))}"],
        )

    def _build(self, spec: Spec, annotation: Any, value: Any) -> Any:
        """The DSL's argument for `spec`, which was read from `value`."""
        if is_placeholder(value):
            return value
        match spec:
            case TensorSpec():
                return self._tensor(spec, is_array_view(annotation))
            case ScalarSpec():
                number = spec.value if spec.value is not None else 0
                if annotation in (int, float, bool):
                    return annotation(number)
                return dsl.numeric_class(spec.dtype)(number)
            case ConstSpec():
                return in_constant(spec.value, _dsl_type)
            case PointerSpec():
                space = dsl.cutlass().AddressSpace[spec.space]
                return dsl.cute().runtime.make_ptr(dsl.numeric_class(spec.dtype), 0, space, spec.alignment)
            case StreamSpec():
                return dsl.cute().runtime.make_fake_stream()
            case NoneSpec():
                return None
            case TupleSpec(items=items):
                inner = item_annotations(annotation, len(items))
                values = list(cast("tuple[Any]", value)) if isinstance(value, tuple | list) else [None] * len(items)
                built = [self._build(*each) for each in zip(items, inner, values, strict=True)]
                return _container(annotation, value, built)

    def _tensor(self, spec: TensorSpec, as_array: bool) -> Any:
        runtime = dsl.cutlass().runtime if as_array else dsl.cute().runtime
        compact = runtime.make_fake_compact_array if as_array else runtime.make_fake_compact_tensor
        strided = runtime.make_fake_array if as_array else runtime.make_fake_tensor
        shape = tuple(self._size(mode, spec) for mode in spec.shape)
        facts = {"memspace": dsl.cutlass().AddressSpace[spec.space], "assumed_align": spec.alignment}
        dtype = dsl.numeric_class(spec.dtype)
        if spec.stride is not None or not shape:
            return strided(dtype, shape, tuple(self._size(mode, spec) for mode in spec.stride or ()), **facts)
        order = spec.order or tuple(reversed(range(len(shape))))
        return compact(dtype, shape, stride_order=order, **facts)

    def _size(self, mode: Mode, spec: TensorSpec) -> Any:
        match mode:
            case int():
                return mode
            case Dynamic():
                symbol = dsl.cute().sym_int(mode.bits, divisibility=mode.divisibility)
                # The DSL tells sizes apart by identity.
                return symbol if mode.name is None else self._symbols.setdefault((mode.name, mode.bits), symbol)
            case _:
                raise SpecError(
                    f"{spec} has nested modes, and the DSL makes no such tensor from outside",
                    hints=["declare the flat tensor and group its modes in the kernel, with cute.group_modes"],
                )

    def _signature(self, specs: Mapping[str, Spec], values: Mapping[str, Any]) -> Signature:
        parameters: list[Parameter] = []
        for name, value in self._bound.arguments.items():
            for key, part in self._parts(name, value):
                spec = specs.get(key) or self._constant(key, values.get(key, part))
                parameters.append(Parameter(key, str(spec), self._callee.annotation_text(name)))
        return Signature(self._callee.qualified_name, parameters)

    def _constant(self, key: str, value: Any) -> Spec | str:
        """The spec of a default or a value that is passed on; `object<…>` when it has none."""
        try:
            if is_constexpr(self._annotation(key)):
                return ConstSpec.of(in_constant(value, _own_type))
            if (dtype := numeric_type(self._annotation(key))) and type(value) in (int, float, bool):
                return ScalarSpec(dtype, value)
            spec = None if isinstance(value, str) else describe_known(value)
        except SpecError:
            spec = None
        return spec or f"object<{type(value).__qualname__}>"


def _container(annotation: Any, value: Any, items: list[Any]) -> Any:
    """`items` in a container like `value`, or as the annotation asks for."""
    if isinstance(value, list) or get_origin(annotation) is list or annotation is list:
        return items
    for kind in (cast(Any, type(value)), annotation):
        if named_fields(kind) is not None:
            return kind(*items)
    return tuple(items)


def _dsl_type(value: Any) -> Any:
    """The DSL's class in the place of a numeric type."""
    return dsl.numeric_class(value) if isinstance(value, NumericType) else value


def _own_type(value: Any) -> Any:
    """The reverse of `_dsl_type`."""
    is_numeric = isinstance(value, type) and issubclass(value, dsl.cutlass().Numeric)
    return find_numeric_type(value.__name__) if is_numeric else value


def _missing_specs(callee: Callee, missing: list[str], in_shell: bool) -> SpecError:
    notes: list[str] = []
    hints: list[str] = []
    for name in missing:
        text = callee.annotation_text(name)
        place = callee.location(name)
        declared = f"'{name}' is declared as {text}" if text else f"'{name}' is declared without a type"
        notes.append(f"{declared} at {place}" if place else declared)
        fitting = suggest(callee.signature.parameters[name].annotation)
        form = f"--arg {name}=" if in_shell else ""
        hints.append(f"a spec that fits '{name}': {form}\"{fitting}\"")
    if in_shell and any("?" in hint for hint in hints):
        hints.append("a ? for each mode that the tensor has; f32[?N=1024], a vector, also says what size to run with")
    names = ", ".join(f"'{name}'" for name in missing)
    return SpecError(
        f"{callee.qualified_name}: no spec for parameter{'s' if len(missing) > 1 else ''} {names}",
        callee.location(missing[0]),
        notes=notes,
        hints=hints,
    )


def _unknown_parameter(callee: Callee, name: str, source: SourceLocation | None) -> SpecError:
    known = list(callee.signature.parameters)
    close = did_you_mean(name, known)
    return SpecError(
        f"{callee.qualified_name} has no parameter '{name}'",
        source or callee.location(),
        hints=[*close, f"parameters: {', '.join(known) or 'none'}"],
    )
