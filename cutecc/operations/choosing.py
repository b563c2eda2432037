"""From what a user says of a product to a description that leaves nothing open."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from cutecc.arguments.arrays import Array
from cutecc.config import Settings
from cutecc.emulator.names import emulated_target
from cutecc.errors import ArgumentError, EpilogueError, NoGpuError, UsageError
from cutecc.operations.any_description import AnyDescription, with_product
from cutecc.operations.arguments import read
from cutecc.operations.description import Mode, matched
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.named import named_epilogue
from cutecc.operations.operand import Operand
from cutecc.operations.tile_model import Problem
from cutecc.operations.views import MatrixArray
from cutecc.operations.words import shown, text_of
from cutecc.runtime.device import runs_on
from cutecc.target import Target, device_targets, parse_targets

EpilogueLike = str | Epilogue | Callable[..., Any]
"""The name of an epilogue, one, or a plain function over `accum`."""

_RESULTS = {"f8E4M3FN": "f16", "f8E5M2": "f16", "i8": "i32", "u8": "i32", "tf32": "f32"}
"""The type of D where nobody says it, by that of A; A's own for all others."""


def usual_result(a: Operand) -> Operand:
    """The D of a product that does not say what it is."""
    return Operand(_RESULTS.get(a.dtype, a.dtype), "row")


def by_name(operands: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is said of an epilogue's operands. Raises `EpilogueError` for what does not say of which."""
    if not isinstance(operands, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        kind = type(operands).__name__
        raise EpilogueError(f"operands are given by name, not as a {kind}", hints=['operands={"bias": Row("f16")}'])
    return dict(operands or {})


def usual_epilogue(d: Operand, c: Operand | None, accumulator: str) -> str:
    """The epilogue of a product that does not say which: what leaves i32 sums as they are, where D can hold them."""
    return "identity" if accumulator == d.dtype == "i32" and c is None else "linear_combination"


def problem_of(sizes: Sequence[int] | None) -> Problem | None:
    """(M, N, K), or with the batch behind, as a problem. Raises `UsageError` for other numbers of sizes."""
    if sizes is None:
        return None
    try:
        whole = [operator.index(size) for size in sizes]
    except TypeError:
        whole = []
    if len(whole) not in (3, 4) or min(whole) < 0:
        raise UsageError(f"a problem is (M, N, K), or (M, N, K, batch), not {shown(sizes)}")
    m, n, k, batches = (*whole, 1)[:4]
    return Problem(m, n, k, batches)


def epilogue_of(
    epilogue: EpilogueLike, operands: Mapping[str, Any], c: Operand | None, d: Operand, accumulator: str
) -> Epilogue:
    """The epilogue that is meant, with these C and D. Raises `EpilogueError` for what is none."""
    operands = by_name(operands)
    if operands and not callable(epilogue):
        which = f"the epilogue {epilogue}" if isinstance(epilogue, str) else "an epilogue that is traced already"
        raise EpilogueError(
            f"{which} has operands of its own, and {', '.join(operands)} would not be read",
            hints=["a plain function over accum takes operands: def f(accum, bias): …"],
        )
    if isinstance(epilogue, str):
        return named_epilogue(epilogue, d=d, c=c, accumulator=accumulator)
    if isinstance(epilogue, Epilogue):
        return epilogue
    given = dict(operands)
    try:
        parameters = inspect.signature(epilogue).parameters
    except (TypeError, ValueError):
        parameters = {}
    if "C" in parameters:
        given.setdefault("C", c or Operand(d.dtype, d.layout, d.alignment))
    given.setdefault("D", d)
    return Epilogue.trace(epilogue, accumulator=accumulator, **given)


def forms(description: AnyDescription) -> list[AnyDescription]:
    """The description, and if beta = 0 does away with its source the one that is left then."""
    gemm = description.gemm
    if gemm.epilogue.source is None or gemm.epilogue.operand("beta") is None:
        return [description]
    try:
        epilogue = gemm.epilogue.without_source()
    except EpilogueError:
        return [description]
    plain = matched(epilogue, None, gemm.d, gemm.instruction.accumulator)
    return [description, with_product(description, replace(gemm, c=None, epilogue=plain))]


def target_name(name: str | None) -> str:
    """The target of this name, else `CUTECC_TARGET`, else that of this machine's GPU.

    Raises `UsageError` for several, `NoGpuError` where there is no GPU.
    """
    if name is not None:
        text_of(name, "a target")
    (first, *others) = target_names(name or Settings.from_environment().target or "native")
    if others:
        raise UsageError(f"an operation has one target, not {first}, {', '.join(others)}")
    return first


def target_names(targets: Sequence[str] | str) -> list[str]:
    """The names of targets, given one by one or as in `sm_80,sm_90a`. Raises `UsageError` for one that is none."""
    try:
        text = targets if isinstance(targets, str) else ",".join(targets)
    except TypeError:
        raise UsageError(f"targets are names such as sm_80,sm_90a, not {shown(targets)}") from None
    return [target.name for target in parse_targets(text)]


def device_target(ordinal: int | None) -> str:
    return device_targets()[ordinal or 0].name


def fitting_target(targets: Sequence[str]) -> str:
    """Of several targets the latest that runs on this machine's first GPU; without one, that which the emulator takes.

    Raises `UsageError` when none runs there.
    """
    if len(targets) == 1:
        return targets[0]
    try:
        device = device_targets()[0]
    except NoGpuError:
        return emulated_target(targets)
    fitting = [name for name in targets if runs_on(name, (device.major, device.minor))]
    if not fitting:
        raise UsageError(f"nothing here runs on {device}", hints=[f"there is {', '.join(targets)}"])
    return str(max(map(Target.parse, fitting)))


def example(name: str, value: Any) -> Array:
    """An argument as an array of the shape that it stands for: of a list of matrices the first."""
    if isinstance(value, list | tuple):
        if not value:
            raise ArgumentError(f"argument '{name}': a batch without matrices")
        return cast(Array, read(name, cast("Sequence[Any]", value)[0]))
    array = read(name, value)
    return array.like if isinstance(array, MatrixArray) else array


def mode_of(given: Iterable[Any], arrays: Iterable[Array]) -> Mode | None:
    """The mode of a product of arguments, of which `arrays` are examples; `None` for the usual one."""
    if any(isinstance(each, list | tuple | MatrixArray) for each in given):
        return "array"
    return "batched" if any(len(each.shape) == 3 for each in arrays) else None


def sizes_of(arrays: Mapping[str, Array]) -> Problem:
    """The sizes of a product of examples. Raises `ArgumentError` when they do not fit together."""
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    if any(len(array.shape) not in (2, 3) for array in arrays.values()):
        raise ArgumentError(f"these are no matrices, nor batches of them: {shapes}")
    (m, k), (other, n) = arrays["A"].shape[-2:], arrays["B"].shape[-2:]
    batches = {array.shape[0] if len(array.shape) == 3 else 1 for array in arrays.values()}
    fits = all(array.shape[-2:] == (m, n) for name, array in arrays.items() if name not in ("A", "B"))
    if k != other or not fits or len(batches) > 1:
        raise ArgumentError(
            f"the shapes do not fit: {shapes}",
            hints=["A is (M, K), B is (K, N), C and D are (M, N), with the batch in front if there is one"],
        )
    return Problem(m, n, k, batches.pop())
