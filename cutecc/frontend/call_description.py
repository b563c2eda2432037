"""What a program passes to a kernel that it compiles, as argument specs; without a look at the values in memory."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cutecc.arguments.arrays import is_torch_like
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.arguments.specs import ConstSpec
from cutecc.frontend.describe import describe_known, in_constant


class DescribedParameter(NamedTuple):
    """A parameter of the host function."""

    name: str
    spec: str
    """Its argument spec; `object<…>` for a value that none describes."""
    annotation: str | None


def kernel_name(function: Any, args: Sequence[Any]) -> tuple[str, str]:
    """A host function's short name, safe in file names, and its qualified name: `Gemm` and `Gemm.__call__`."""
    qualified: str = function.__qualname__
    name: str = function.__name__
    if args and next(iter(inspect.signature(function).parameters), None) == "self":
        owner = type(args[0]).__name__
        qualified = f"{owner}.{name}"
        name = owner if name == "__call__" else qualified
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name), qualified


def names_of(function: Any, name: str, qualified: str) -> list[str]:
    """Everything that a user may call a host function."""
    return list(dict.fromkeys([name, qualified, function.__name__, function.__qualname__]))


def described_parameters(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[DescribedParameter]:
    """The parameters in call order, without `self`."""
    described: list[DescribedParameter] = []
    names = list(signature.parameters)
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        if name == "self" and not described:
            continue
        parameter = signature.parameters.get(name)
        annotation = None
        if parameter is not None and parameter.annotation is not inspect.Parameter.empty:
            annotation = inspect.formatannotation(parameter.annotation)
        try:
            spec = _spec(value, annotation)
        except Exception:
            spec = None  # a value that has more to it than a spec can say
        described.append(DescribedParameter(name, spec or f"object<{type(value).__qualname__}>", annotation))
    return described


def _spec(value: Any, annotation: str | None) -> str | None:
    if annotation and "Constexpr" in annotation:
        return str(ConstSpec.of(in_constant(value, _own_type, as_plain=False)))
    if isinstance(value, str) or _asks_a_device(value):
        return None
    spec = describe_known(value)
    return None if spec is None else str(spec)


def _asks_a_device(value: Any) -> bool:
    """Whether an array can only be described by its `__dlpack__`, which may wait for a GPU."""
    known = is_torch_like(value) or hasattr(value, "__cuda_array_interface__") or hasattr(value, "__array_interface__")
    return hasattr(value, "__dlpack__") and not known and type(value).__module__.partition(".")[0] != "cutlass"


def _own_type(value: Any) -> Any:
    """cutecc's own type in the place of the DSL's numeric class."""
    is_dsls = isinstance(value, type) and value.__module__.partition(".")[0] == "cutlass"
    return find_numeric_type(value.__name__) if is_dsls else value
