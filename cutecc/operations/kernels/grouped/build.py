"""From the description of grouped products, as it is compiled, to the kernel object. Needs the DSL."""

from __future__ import annotations

from typing import Any

from cutecc.operations.grouped.description import GroupedDescription


def kernel(description: GroupedDescription) -> Any:
    """The kernel of a description: an object with a `@cute.jit` `__call__`."""
    match description.gemm.family:
        case "sm90" if description.scales == "blocks":
            from cutecc.operations.kernels.grouped.scaled_kernel import ScaledSm90

            return ScaledSm90(description)
        case "sm90":
            from cutecc.operations.kernels.grouped.sm90_kernel import GroupedSm90

            return GroupedSm90(description)
        case "sm80":
            from cutecc.operations.kernels.grouped.multistage_kernel import GroupedSm80

            return GroupedSm80(description)
        case "simt":
            from cutecc.operations.kernels.grouped.multistage_kernel import GroupedSimt

            return GroupedSimt(description)
