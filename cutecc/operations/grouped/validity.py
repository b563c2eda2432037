"""Whether there is a kernel for grouped products; if not, why, and which are nearest to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from cutecc.operations import validity
from cutecc.operations.description import GemmDescription
from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.grouped.rules import RULES, Rule
from cutecc.operations.kernels.family import Refusal, TilePart
from cutecc.operations.nearest import nearest
from cutecc.operations.validity import Verdict


def refusal(description: GroupedDescription) -> Refusal | None:
    """Why there is no kernel for grouped products, `None` if there is one. Looks for no others."""
    compiled = description.compiled()
    if (found := unscaled(description)) is not None:
        return found
    for rule in RULES:
        if (found := rule(compiled)) is not None:
            return found
    for rule in (*validity.RULES, *validity.FAMILY_RULES):
        if (found := rule(compiled.gemm)) is not None:
            return found
    return None


def unscaled(description: GroupedDescription) -> Refusal | None:
    """Why there are no scales of blocks for groups that lie so, as the user sees them; `None` where none are asked for.

    Of the transposed products the scales would have changed their places.
    """
    packing = description.packing
    if description.scales == "none":
        return None
    if packing == "columns":
        return Refusal("scales are of lists and of groups packed as rows or depth, not of columns", ())
    if description.gemm.is_compiled_transposed:
        return Refusal("products with scales have contiguous rows of D, not columns", ())
    return None


def check(description: GroupedDescription, free: frozenset[TilePart] = frozenset()) -> Verdict[GroupedDescription]:
    """Whether there is a kernel for grouped products, with the reason and the nearest that there is if not.

    What is nearest has another product of a group, which `cutecc.operations.validity.check` says more of. The `free`
    parts of the tile are not asked for.
    """
    refused = refusal(description)
    if refused is None:
        return Verdict(True, nearest=description)
    if description.scales == "blocks" and not refused.parts:
        return Verdict(False, refused.reason)
    turned = description.gemm.is_compiled_transposed
    compiled = description.compiled()
    rules = (*(partial(_of_product, each, compiled) for each in RULES), *validity.RULES)
    answer = nearest(compiled.gemm, rules, validity.FAMILY_RULES, free)
    if answer is None:
        return Verdict(False, refused.reason)
    gemm, distance = answer
    if free:
        compiled = replace(compiled, gemm=validity.with_free(compiled.gemm, gemm, free))
        refused = refusal(compiled) or refused
    found = replace(compiled, gemm=gemm)
    asked = compiled.transposed() if turned else compiled
    found = found.transposed() if turned else found
    reason = validity.as_asked(refused.reason, description.gemm)
    return Verdict(False, reason, found, tuple(_differences(asked, found)), distance)


def _of_product(rule: Rule, description: GroupedDescription, gemm: GemmDescription) -> Refusal | None:
    """What a rule says of groups with another product."""
    return rule(replace(description, gemm=gemm))


def _differences(before: GroupedDescription, after: GroupedDescription) -> Iterator[str]:
    yield from validity.differences(before.gemm, after.gemm)
