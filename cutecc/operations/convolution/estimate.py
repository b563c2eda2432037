"""How long a convolution takes, estimated as its product of matrices; ranks tiles, and promises no time."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

from cutecc.operations import tile_model
from cutecc.operations.convolution import depthwise, folded
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.problem_sizes import Problem


def cycles(description: ConvolutionDescription, sizes: ConvolutionProblem) -> float:
    """Estimated cycles of a valid convolution, of one that splits K with the best number of slices."""
    if description.groups == "depthwise":
        return depthwise.cycles(description, sizes)
    if description.is_folded:
        product = multiplied(replace(description, iterator="optimized"), folded.sizes(description, sizes))
        return folded.cycles(description, sizes, product)
    return tile_model.cycles(description.gemm, multiplied(description, sizes))


def multiplied(description: ConvolutionDescription, sizes: ConvolutionProblem) -> Problem:
    """The product that is computed, with what steps along K multiply in vain, and how often what is gathered repeats.

    The channels of each tap fill steps of their own, the last one with zeros, unless several taps share a step. Of a
    strided dgrad, each tap counts for the outputs of one phase only.
    """
    product, depth = _repeating(description, sizes), description.gemm.tile.threadblock[2]
    if description.kind == "wgrad" or description.iterator in ("few_channels", "fixed_channels"):
        return product
    steps = sizes.taps * ceil(product.k / sizes.taps / depth)
    if description.kind == "dgrad" and description.iterator == "optimized":
        steps = ceil(steps / prod(sizes.stride))
    return replace(product, k=steps * depth)


def _repeating(description: ConvolutionDescription, sizes: ConvolutionProblem) -> Problem:
    product, activations = sizes.product(description), sizes.batch * prod(sizes.image) * sizes.channels_of_group
    outputs = sizes.batch * prod(sizes.output) * sizes.filters_of_group
    match description.kind:
        case "fprop":
            return replace(product, repeats=(max(1.0, product.m * product.k / max(activations, 1)), 1.0))
        case "dgrad":
            gathered = product.m * product.k / prod(sizes.stride)
            return replace(product, repeats=(max(1.0, gathered / max(outputs, 1)), 1.0))
        case "wgrad":
            return replace(product, repeats=(1.0, max(1.0, product.n * product.k / max(activations, 1))))


def usual_sizes(description: ConvolutionDescription) -> ConvolutionProblem:
    """What stands for sizes that are not known: a layer that keeps a whole GPU busy."""
    image = ({1: 1024, 2: 56, 3: 16}[description.rank],) * description.rank
    if description.iterator in ("few_channels", "fixed_channels"):
        operand = description.gemm.b if description.kind == "wgrad" else description.gemm.a
        return ConvolutionProblem(128, image, operand.alignment, 64, 7, padding=3)
    if description.iterator == "few_filters":
        return ConvolutionProblem(128, image, 64, description.gemm.a.alignment, 7, padding=3)
    groups = {"single": 1, "many": 8, "depthwise": 256}[description.groups]
    return ConvolutionProblem(128, image, 256, 256, 3, padding=1, groups=groups)
