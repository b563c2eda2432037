"""Whether this machine's memory holds what comparing a kernel's variants needs, found out before it is filled."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from cutecc.arguments.sizes import named_values
from cutecc.arguments.specs import PointerSpec, Spec, TensorSpec
from cutecc.harness.elements import elements_of
from cutecc.harness.sizes import with_sizes
from cutecc.harness.tensors import image_bytes, memory_specs, place, value_bytes
from cutecc.support.capacity import check_fits

_F64_BYTES = 8


@dataclass(frozen=True)
class Needs:
    """What of the work is done in this process."""

    reference: bool = False
    """Ask the reference, with floating-point inputs as float64 too."""
    variants: int = 0
    """Run so many variants, and keep what each writes."""
    on_cpu: bool = False
    """On the emulator."""


def check_memory(
    kernel: str, specs: Mapping[str, Spec], sizes: Mapping[str, int], outputs: Collection[str], needs: Needs
) -> None:
    """Raise `UsageError` when this machine's memory cannot hold what `needs` take of `kernel` at these sizes.

    `outputs` names the parameters that are compared, none for all tensors.
    """
    complete = with_sizes(specs, sizes)
    # Those in tuples by the name of the parameter.
    tensors = [(name.partition("[")[0], spec) for name, spec in memory_specs(complete)]
    compared = [spec for name, spec in tensors if not outputs or name in outputs]
    what = ", ".join(f"{name}={value}" for name, value in named_values(complete).items())
    what = what or ", ".join(f"{name} {spec}" for name, spec in tensors)
    needed = _needed([spec for _, spec in tensors], compared, needs)
    check_fits(needed, f"{kernel} with {what}: comparing its variants takes about")


def _needed(
    tensors: Sequence[TensorSpec | PointerSpec], compared: Sequence[TensorSpec | PointerSpec], needs: Needs
) -> int:
    """Bytes: the most of what is there at one time; measured with two kernels, it was 10 % less."""
    images = sum(map(image_bytes, tensors))
    values, wide = sum(map(value_bytes, tensors)), sum(map(_wide_bytes, tensors))
    wide_compared = sum(map(_wide_bytes, compared))
    # Values in float64 here, with the reference, and two copies on the way; or its two answers while they are compared.
    asking = images + values + max(4 * wide, 6 * wide_compared) if needs.reference else 0
    # The tensors and their copies on the device, with the emulator also the copies that its processes work on; of each
    # variant what it wrote, and what was expected.
    written = needs.variants * sum(map(image_bytes, compared)) + wide_compared
    running = (4 if needs.on_cpu else 2) * images + written if needs.variants else 0
    return max(2 * images, asking, running)


def _wide_bytes(spec: TensorSpec | PointerSpec) -> int:
    """Of its values, floating-point ones as float64."""
    return math.prod(place(spec).shape) * _F64_BYTES if elements_of(spec.dtype).is_float else value_bytes(spec)
