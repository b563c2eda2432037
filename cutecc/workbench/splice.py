"""Finding the pass that makes a difference: half of one pipeline, then the other.

After each pass of `open` the `nvidia` pipeline can go on: values of CuTe's types that are lowered stand behind casts,
which `join-casts` writes as the structs that the wheel makes of these types. A module that nothing of CuTe is left in
goes through the passes for CuTe unchanged. So a pipeline is the first passes of `open` and then those of `nvidia`, and
the difference is of the first pass with which it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cutecc.passes.generation.choice import CODE_GENERATION
from cutecc.passes.pipeline import Pipeline, parse_pass
from cutecc.workbench.searching import State, boundary

_CONVERSION = "convert-cute-to-core"


@dataclass(frozen=True)
class Found:
    """The stretch of a pipeline that makes a difference."""

    last_good: str | None
    """The selector of the pass after which handing over gives no difference; `None` for before the first."""
    first_bad: str
    """The selector of a later pass, after which it does; `code generation` for behind all passes."""
    unknown: tuple[str, ...] = ()
    """Passes between the two, of which it could not be told."""
    tried: int = 0

    @property
    def passes(self) -> tuple[str, ...]:
        """All that it may be."""
        return (*self.unknown, self.first_bad)


def splice(pipeline: Pipeline, count: int, rest: Pipeline) -> Pipeline:
    """The first `count` passes of `pipeline`, and then `rest`, a `nvidia` pipeline for the same target.

    Of `rest` those passes are left out that are behind the module already: those that it begins with and that have run
    in its order, and everything up to a pass behind the conversion of CuTe's types, such as `convert-scf-to-cf`, that
    has run too. All others do nothing to a module that is past them.
    """
    run = pipeline.passes[:count]
    begun = 0
    for pass_ in run:
        begun += begun < len(rest) and pass_ == rest.passes[begun]
    names = [pass_.name for pass_ in rest]
    if _CONVERSION in names:
        landmarks = {name for name in names[names.index(_CONVERSION) :] if names.count(name) == 1}
        begun = max([begun, *(names.index(pass_.name) + 1 for pass_ in run if pass_.name in landmarks)])
    joined = Pipeline(run + rest.passes[begun:])
    if any(pass_.name == _CONVERSION for pass_ in joined):
        return joined.insert_after(_CONVERSION, parse_pass("join-casts"))
    return joined


def points(pipeline: Pipeline, rest: Pipeline, changing: Sequence[int]) -> list[int]:
    """After how many passes handing over may make a difference: behind each that changed the module, before code is
    generated, and that the two pipelines do not begin with both."""
    common = 0
    while common < min(len(pipeline), len(rest)) and pipeline.passes[common] == rest.passes[common]:
        common += 1
    end = next((index for index, pass_ in enumerate(pipeline) if pass_.name in CODE_GENERATION), len(pipeline))
    return [index + 1 for index in changing if common <= index < end]


def search(pipeline: Pipeline, counts: Sequence[int], state_at: Callable[[int], State]) -> Found:
    """Between which two of `counts`, numbers of passes, the difference comes: none before the first, and behind the
    last it is there. Asks about as few as it can, and about neighbours where it cannot be told."""
    low, high, tried = boundary(counts, state_at)
    selectors = pipeline.selectors()
    return Found(
        selectors[counts[low] - 1] if low >= 0 else None,
        selectors[counts[high] - 1] if high < len(counts) else "code generation",
        tuple(selectors[counts[index] - 1] for index in range(low + 1, high)),
        tried,
    )
