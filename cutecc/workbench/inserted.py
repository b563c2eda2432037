"""What passes did that the user has put into a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cutecc.compilation.request import Edit
from cutecc.passes.pipeline import Pipeline, parse_pass
from cutecc.workbench.plan import Variant

_BESIDE = {"insert-after": -1, "insert-before": 1}
"""Where, from a pass that is put in, the one stands that the edit names."""


def inserted(variant: Variant, edits: Sequence[Edit]) -> dict[str, bool]:
    """By its selector, whether each pass that `edits` have put into the pipeline of `variant` changed the module.

    A pass that the pipeline also had is told apart by its neighbour. Empty for a variant that did not compile.
    """
    return dict(_inserted(variant, edits)) if variant.passes else {}


def _inserted(variant: Variant, edits: Sequence[Edit]) -> Iterator[tuple[str, bool]]:
    pipeline = Pipeline.parse(variant.passes)
    selectors = pipeline.selectors()
    names = [pass_.name for pass_ in pipeline]
    for edit in edits:
        if edit.kind == "without":
            continue
        name = parse_pass(edit.pass_text).name
        found = [index for index, each in enumerate(names) if each == name]
        if step := _BESIDE.get(edit.kind):
            found = [each for each in found if _means(edit.selector, each + step, names, selectors)] or found
        yield from ((selectors[index], index in variant.changing) for index in found)


def _means(selector: str, index: int, names: Sequence[str], selectors: Sequence[str]) -> bool:
    return 0 <= index < len(names) and selector in (names[index], selectors[index])
