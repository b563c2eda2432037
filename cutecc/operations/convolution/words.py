"""The words that a convolution is described by, and the remedies for what is written in their place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar, cast

from cutecc.errors import UsageError
from cutecc.operations.convolution.description import KINDS, Kind
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.words import known_word, of_kind, shown, unknown_word

_Word = TypeVar("_Word", bound=str)
_OF_CALLS = {
    "padding": "padding=1",
    "dilation": "dilation=2",
    "stride": "stride=2",
    "groups": "groups=2",
} | dict.fromkeys(("slices", "split_k"), "slices=4")
"""By the parts that are taken for sizes, how a call says them."""
_PROBLEM = "problem=ConvolutionProblem(batch, image, channels, filters, filter, padding=…, stride=…, groups=…)"


def kind_word(given: object) -> Kind:
    """The kind of convolution. Raises `UsageError` for what is none."""
    try:
        return cast(Kind, known_word(cast(str, given), KINDS, "kind of convolution"))
    except UsageError as error:
        if isinstance(given, str) and "transpose" in given.lower():
            error.hints.insert(0, 'dgrad is the transposed convolution: its A is the input, its D the result: "dgrad"')
        if not isinstance(given, str):
            error.hints.append(f"known: {', '.join(KINDS)}")
        raise


def part_word(name: str, given: _Word | None, known: Sequence[_Word], what: str) -> _Word | None:
    """The known word that was given for a part, if one was. Raises `UsageError` for others."""
    if given is not None and not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        sizes = [_of_call(name)] if name in _OF_CALLS else []
        raise UsageError(f"{name} is a word, not {shown(given)}", hints=[f"known: {', '.join(known)}", *sizes])
    return None if given is None else cast(_Word, known_word(given, known, what))


def problem_of(given: object, rank: int) -> ConvolutionProblem | None:
    """The sizes that a convolution is chosen for. Raises `UsageError` for what are none, or of another rank."""
    if given is None:
        return None
    try:
        problem = of_kind(given, ConvolutionProblem, "the problem")
    except UsageError as error:
        error.hints.append(_PROBLEM)
        raise
    if problem.rank != rank:
        raise UsageError(f"the problem {problem} has {extents_text(problem.rank)}, and Conv{rank}d has {rank}")
    return problem


def refuse_parts(given: Collection[str], known: Collection[str]) -> None:
    """Raise `UsageError` for names of parts that a convolution has none of."""
    for name in given:
        if name in _OF_CALLS:
            raise UsageError(f"{name} is no part of a description, which is for all sizes", hints=[_of_call(name)])
        raise unknown_word(name, known, "part of a convolution")


def extents_text(rank: int) -> str:
    """`1 spatial extent`."""
    return f"{rank} spatial extent{'' if rank == 1 else 's'}"


def _of_call(name: str) -> str:
    either = "" if name in ("slices", "split_k") else f", or chosen for: {_PROBLEM}"
    return f"sizes are of a call: op.run(…, {_OF_CALLS[name]}){either}"
