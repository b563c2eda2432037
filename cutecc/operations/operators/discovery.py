"""Which operators fit a product and a filter on a target, and why the others do not."""

# pyright: basic

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from cutecc.arguments.specs import Dynamic, TensorSpec
from cutecc.errors import UsageError
from cutecc.frontend.describe import describe
from cutecc.operations.gemm_problem import GemmProblem, Layouts
from cutecc.operations.metadata_filter import Fact, MetadataFilter
from cutecc.operations.operators.facts import facts_of, layout_of, type_name
from cutecc.operations.operators.package import DenseTensorConstraints, GemmOperandsMetadata, TensorWrapper, ops
from cutecc.operations.operators.provider import CuteccGemmOperator, CuteccProvider, offered
from cutecc.operations.operators.session import as_target_sm
from cutecc.operations.operators.tensors import gemm_arguments
from cutecc.support.spelling import did_you_mean
from cutecc.target import Target

_NAMED = 3
"""Names that an error lists."""
_ROLES = ("A", "B", "out")


@dataclass(frozen=True)
class Found:
    """An operator and what its metadata says."""

    operator: Any
    facts: dict[str, Fact]

    @property
    def name(self) -> str:
        """The operator's name in the package."""
        return self.operator.metadata.operator_name


@dataclass(frozen=True)
class Discovery:
    """What `discover` found."""

    target: Target
    fitting: list[Found]
    rejected: Counter[str] = field(default_factory=Counter)
    """How many operators of this target do not fit, by the first reason."""
    newer: dict[str, int] = field(default_factory=dict[str, int])
    """The classes of operators that are for newer GPUs, and were not looked into: the compute capability of each."""

    @property
    def considered(self) -> int:
        """Operators that were looked at."""
        return len(self.fitting) + self.rejected.total()


def discover(
    target: str | Target,
    problem: GemmProblem | None = None,
    where: MetadataFilter = MetadataFilter(),
    *,
    arguments: Any = None,
) -> Discovery:
    """The operators of every provider that run on `target`, and fit `arguments`, or what `problem` says, and `where`.

    What a problem leaves open fits any operator; one with sizes and types takes in those operators too that providers
    make for arguments only. cutecc's own for other types of A are not counted.

    Raises `UsageError` for an unknown target and a key of `where` that no operator has.
    """
    chosen = Target.parse(target) if isinstance(target, str) else target
    fitting: list[Found] = []
    rejected: Counter[str] = Counter()
    keys: set[str] = set()
    for operator in _candidates(chosen, problem, arguments):
        facts = facts_of(operator.metadata)
        keys |= facts.keys()
        condition = where.failing(facts)
        reason = _mismatch(operator, problem, arguments) or (condition and f"not {condition}")
        if reason is None:
            fitting.append(Found(operator, facts))
        else:
            rejected[reason] += 1
    if keys:
        where.check_keys(keys)
    return Discovery(chosen, fitting, rejected, _newer_classes(chosen))


def find_operator(name: str, target: Target, problem: GemmProblem) -> tuple[Any, Any]:
    """The operator of this name, or the only one with this part in its name, and arguments of `problem` for it.

    What the problem leaves open is as the operator has it. When several have the part in their names, those count that
    have it as `GemmProblem.complete` does. Raises `UsageError` with close names.
    """
    named = operators_named(name, target, problem)
    reasons = {each.metadata.operator_name: _mismatch(each, problem, None) for each in named}
    matching = [each for each in named if reasons[each.metadata.operator_name] is None]
    if not matching:
        first = named[0].metadata.operator_name
        hints = [*rounding_hints(problem), _listing_hint(target, problem)]
        raise UsageError(f"{first} does not fit {problem}: {reasons[first]}", hints=hints)
    if len(matching) > 1:
        matching = _preferred(matching, name, problem)
    if len(matching) > 1:
        names = [each.metadata.operator_name for each in matching]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        raise UsageError(
            f"'{name}' is part of the names of {len(names)} operators for {target}: {', '.join(names[:_NAMED])}{more}",
            hints=["name more of it", _listing_hint(target, problem)],
        )
    return matching[0], arguments_for(matching[0], problem)


def _preferred(matching: list[Any], name: str, problem: GemmProblem) -> list[Any]:
    """Those of exactly this name, else those that fit the problem when what it leaves open is as usual, else all."""
    exact = [each for each in matching if each.metadata.operator_name.lower() == name.lower()]
    usual = problem.complete() if any(problem.types) else problem
    return exact or [each for each in matching if _mismatch(each, usual, None) is None] or matching


def arguments_for(operator: Any, problem: GemmProblem) -> Any:
    """Arguments of `problem` without memory, types and layouts as the operator's metadata has them."""
    operands = operator.metadata.operands
    constraints = [getattr(operands, role) for role in _ROLES]
    a, b, out = (type_name(each.dtype) for each in constraints)
    layouts = cast("Layouts", tuple(layout_of(each.stride) or "row" for each in constraints))
    accumulator = type_name(operands.accumulator_type)
    return _arguments(replace(problem, types=(a, b, out), layouts=layouts, accumulator=accumulator))


def _arguments(problem: GemmProblem) -> Any:
    return gemm_arguments(*problem.specs(), accumulator=problem.accumulator or "f32")


def reasons_against(operator: Any, problem: GemmProblem | None, where: MetadataFilter, target: Target) -> list[str]:
    """Everything that keeps an operator from a product on a target, each part on its own; empty when it fits."""
    found: list[str] = []
    metadata = operator.metadata
    if not (status := metadata.supports(None, target_sm=as_target_sm(target))):
        found.append(str(status.error))
    if problem is not None:
        found += _mismatches(operator, problem)
    return found + [f"not {each}" for each in where.conditions if not each.holds(facts_of(metadata))]


def rounding_hints(problem: GemmProblem | None) -> list[str]:
    """What to ask for instead of operands of tf32, which is what f32 is rounded to and no type in memory."""
    if problem is None or "tf32" not in problem.types:
        return []
    return ["in memory it is f32; what rounds that to tf32: cutecc operators --dtype f32 --where multiplied=tf32"]


def operators_named(name: str, target: Target, problem: GemmProblem | None = None) -> list[Any]:
    """The operators with `name` in their name, in any case; `UsageError` with close ones when there is none."""
    named = [each for each in _candidates(target, problem, None) if name.lower() in each.metadata.operator_name.lower()]
    if not named:
        raise _unknown(name, target, problem)
    return named


def _candidates(target: Target, problem: GemmProblem | None, arguments: Any) -> Iterable[Any]:
    """Every operator of a target, and those that its providers make for the arguments alone, each once.

    Of cutecc's own only those for an A of the problem's type: to list them all takes a second.
    """
    dtype = problem.types[0] if problem else None
    target_sm = as_target_sm(target)
    others = [each for each in ops.available_providers.values() if each is not CuteccProvider]
    every = [*ops.get_operators(target_sm=target_sm, providers=others), *offered(target.name, dtype)]
    found = {each.metadata.operator_name: each for each in every}
    if arguments is None and problem is not None and problem.sizes and any(problem.types):
        arguments = _arguments(problem.complete())
    if arguments is not None:
        for each in ops.get_operators(arguments, target_sm=target_sm):
            found.setdefault(each.metadata.operator_name, each)
    return found.values()


def _newer_classes(target: Target) -> dict[str, int]:
    """The classes of operators that no GPU of the target's kind runs, with the compute capability that they need."""
    classes = [
        each
        for provider in ops.available_providers.values()
        for registered in provider._operator_classes_by_argtype.values()
        for each in registered
    ]
    own = 10 * target.major + target.minor
    return {each.__name__: each.designed_for_min_cc for each in classes if each.designed_for_min_cc > own}


def _mismatch(operator: Any, problem: GemmProblem | None, arguments: Any) -> str | None:
    """Why an operator does not fit; `None` when it does."""
    if arguments is not None:
        reasons = _unsupported(operator, arguments)
    else:
        reasons = [] if problem is None else _mismatches(operator, problem)
    return next(iter(reasons), None)


def _mismatches(operator: Any, problem: GemmProblem) -> list[str]:
    operands = operator.metadata.operands
    if not isinstance(operands, GemmOperandsMetadata):
        return [f"computes no single product: takes {operator.supported_args_type.__name__}"]
    found: list[str] = []
    for role, wanted, layout in zip(_ROLES, problem.types, problem.layouts, strict=True):
        constraints = getattr(operands, role)
        if not isinstance(constraints, DenseTensorConstraints):
            found.append(f"{role} is {type(constraints).__name__.removesuffix('Constraints')}, not a plain matrix")
            continue
        dtype, has = type_name(constraints.dtype), layout_of(constraints.stride)
        if wanted is not None and dtype != wanted:
            found.append(f"{role} is {dtype}, not {wanted}")
        if layout is not None and has is not None and has != layout:
            found.append(f"{role} is {has}-major, not {layout}-major")
    accumulator = type_name(operands.accumulator_type)
    if problem.accumulator is not None and accumulator != problem.accumulator:
        found.append(f"accumulates in {accumulator}, not {problem.accumulator}")
    if found or problem.sizes is None:
        return found
    return _unsupported(operator, arguments_for(operator, problem))


def _unsupported(operator: Any, arguments: Any) -> list[str]:
    """Why an operator does not run with arguments: its own reason, else what the compiler is promised and is not so.

    The package compiles for tensors of which extents and strides are multiples of 16 bytes, whatever an operator's
    constraints ask for. cutecc's own say themselves what they rely on.
    """
    if not (status := operator.supports(arguments)):
        return [str(status.error)]
    if operator.metadata.operator_class is CuteccGemmOperator:
        return []
    operands = {role: getattr(getattr(arguments, role, None), "tensor", None) for role in _ROLES}
    broken = {role: _broken_promise(tensor) for role, tensor in operands.items() if isinstance(tensor, TensorWrapper)}
    return [f"{role}: {reason}" for role, reason in broken.items() if reason is not None]


def _broken_promise(tensor: Any) -> str | None:
    spec = describe(tensor.compile_time_tensor)
    assert isinstance(spec, TensorSpec)
    for what, modes, values in ("extent", spec.shape, tensor.shape), ("stride", spec.stride or (), tensor.stride):
        for mode, value in zip(modes, values, strict=False):
            if isinstance(mode, Dynamic) and value % mode.divisibility:
                return f"{what} {value} is no multiple of {mode.divisibility}, which the compiler would be promised"
    return None


def _unknown(name: str, target: Target, problem: GemmProblem | None) -> UsageError:
    if newer := [(each, cc) for each, cc in _newer_classes(target).items() if name.lower() in each.lower()]:
        classes = ", ".join(f"{each} is for sm_{cc} and newer" for each, cc in newer)
        return UsageError(f"no operator for {target} has '{name}' in its name: {classes}")
    words = {
        word for each in _candidates(target, problem, None) for word in re.split(r"[_.]", each.metadata.operator_name)
    }
    beginnings = {word[: len(name)].lower(): word for word in sorted(words)}
    hints = did_you_mean(name, beginnings, beginnings.__getitem__)
    return UsageError(
        f"no operator for {target} has '{name}' in its name",
        hints=[*hints, *rounding_hints(problem), _listing_hint(target, problem)],
    )


def _listing_hint(target: Target, problem: GemmProblem | None) -> str:
    dtype = problem.types[0] if problem else None
    types = f" --dtype {dtype}" if dtype and dtype != "tf32" else ""
    return f"cutecc operators --target {target}{types} lists them"
