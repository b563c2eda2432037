"""Whether there is a kernel for a convolution; if not, why, and which convolution is nearest to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from cutecc.operations import rules, validity
from cutecc.operations.convolution import depthwise
from cutecc.operations.convolution.description import STRIDES, ConvolutionDescription
from cutecc.operations.convolution.rules import RULES, SPLITS, OwnPart, OwnRefusal, Rule
from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.convolution import folding
from cutecc.operations.kernels.family import Refusal, TilePart
from cutecc.operations.nearest import Distance, nearest
from cutecc.operations.validity import Verdict

_VALUES: dict[OwnPart, tuple[str, ...]] = {
    "iterator": ("optimized", "analytic", "few_channels", "fixed_channels", "few_filters"),
    "stride": STRIDES,
    "groups": ("many", "single", "depthwise"),  # of many each channel may have a filter too
}
_DEPTHWISE_RULES = (*(partial(rules.alignment, name=name) for name in "ABCD"), rules.results, rules.epilogue_fits)
"""Those of a product that say nothing of what multiplies, and of its tile."""


def refusal(description: ConvolutionDescription) -> Refusal | None:
    """Why there is no kernel for a convolution, `None` if there is one. Looks for no other."""
    for rule in RULES:
        if (found := rule(description)) is not None:
            return found
    gemm = folding.judged(description) if description.is_folded else description.gemm
    for rule in _DEPTHWISE_RULES if description.groups == "depthwise" else (*validity.RULES, *validity.FAMILY_RULES):
        if (found := rule(gemm)) is not None:
            return found
    return None


def check(
    description: ConvolutionDescription, free: frozenset[TilePart] = frozenset()
) -> Verdict[ConvolutionDescription]:
    """Whether there is a kernel for a convolution, with the reason and the nearest one if not.

    The nearest has another product, which `cutecc.operations.validity.check` says more of, or another iterator or other
    groups, where these are to blame. The `free` parts of the tile are not asked for.
    """
    refused = refusal(description)
    if refused is None:
        return Verdict(True, nearest=description)
    found = sorted(_near(description, refused, free), key=lambda each: each[1])
    if not found:
        return Verdict(False, refused.reason)
    best, distance = found[0]
    asked = replace(description, gemm=validity.with_free(description.gemm, best.gemm, free)) if free else description
    reason = (refusal(asked) or refused).reason
    return Verdict(False, reason, best, tuple(_differences(asked, best)), distance)


def _near(
    description: ConvolutionDescription, refused: Refusal, free: frozenset[TilePart]
) -> Iterator[tuple[ConvolutionDescription, Distance]]:
    """Convolutions that there are, one for each change of the parts beside the product, and how far each is."""
    own = refused.own if isinstance(refused, OwnRefusal) else ()
    starts = [(description, 0, 0)]
    for part in own:
        is_means = part == "iterator"
        others = (each for each in _VALUES[part] if each != getattr(description, part))
        starts += [(replace(description, **{part: each}), int(not is_means), int(is_means)) for each in others]
    for start, problem, means in starts:
        if refusal(start) is None:
            yield start, (problem, means, 0.0)
            continue
        if start.groups == "depthwise":
            others = depthwise.near(start)
            yield from ((each, (problem, means + more, 0.0)) for each, more in others if refusal(each) is None)
            continue
        asked = (*(partial(_of_product, each, start) for each in RULES), *validity.RULES)
        if (answer := nearest(start.gemm, asked, validity.FAMILY_RULES, free)) is not None:
            gemm, (problem_parts, means_parts, far) = answer
            yield replace(start, gemm=gemm), (problem + problem_parts, means + means_parts, far)


def _of_product(rule: Rule, description: ConvolutionDescription, gemm: GemmDescription) -> Refusal | None:
    """What a rule says of the convolution with another product."""
    return rule(replace(description, gemm=gemm))


def _differences(before: ConvolutionDescription, after: ConvolutionDescription) -> Iterator[str]:
    for part in _VALUES:
        if (new := getattr(after, part)) != (old := getattr(before, part)):
            yield f"{part} {new}, not {old}"
    old, new = before.gemm.mode, after.gemm.mode
    if old != new:
        words = {mode: word for word, mode in SPLITS.items()}
        yield f"split_k {words.get(new, new)}, not {words.get(old, old)}"
    yield from validity.differences(before.gemm, replace(after.gemm, mode=old))
