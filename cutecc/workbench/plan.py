"""What `cutecc diff-test` runs, as plain data in a folder: kernels in several variants, and what they have to write.

The folder holds `plan.json`, a bundle for each variant and a file of arrays for each point. Where it is run, neither
the DSL nor MLIR is needed.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from cutecc.errors import RecordError
from cutecc.harness.arguments import Arguments
from cutecc.record.whole_file import write_whole
from cutecc.support.malformed import MALFORMED

FILE = "plan.json"
_FORMAT = "cutecc/diff-test"
_VERSION = 1


class Code(msgspec.Struct, frozen=True):
    """What one variant of a kernel became, all its device functions together."""

    registers: int
    """Of a thread, the most of all functions."""
    spills: int
    """Bytes that one thread stores, of all functions."""
    bytes: int
    """Of machine code."""
    instructions: dict[str, int]
    """By what kind of work they do (`cutecc.report.instruction_mix`)."""


class Variant(msgspec.Struct, frozen=True):
    """A kernel through one pipeline and one code generator."""

    pipeline: str
    """As the user named it."""
    backend: Literal["llvm", "nvvm"]
    bundle: str | None = None
    """The file, from the plan's folder; `None` where it did not compile."""
    code: Code | None = None
    failure: str | None = None
    passes: str = ""
    """The pipeline in full."""
    changing: list[int] = []
    """Which of its passes changed the module, from 0."""

    @property
    def name(self) -> str:
        """`open/llvm`."""
        return f"{self.pipeline}/{self.backend}"


class Point(msgspec.Struct, frozen=True):
    """One run: sizes, and the seed of the inputs."""

    sizes: dict[str, int]
    seed: int
    inputs: int
    """The CRC-32 of all inputs: where numpy made others, nothing can be compared."""
    expected: str | None = None
    """A `.npz` with the reference's result for each output, from the plan's folder."""
    in_float64: list[bool] = []
    """For each output whether the reference computed it in float64."""


class PlannedKernel(msgspec.Struct, frozen=True):
    """A kernel for one target, in all variants."""

    name: str
    file: str
    target: str
    variants: list[Variant]
    points: list[Point] = []
    note: str | None = None
    """Why it is left out."""
    failure: str | None = None
    """Why it could not be traced, or its inputs not be made."""
    module: str | None = None
    """The traced module, from the plan's folder."""
    chosen: str | None = None
    """What nobody has given of the values to run with, in words."""


class Plan(msgspec.Struct, frozen=True):
    """Everything that is to be run."""

    kernels: list[PlannedKernel]
    versions: dict[str, str] = {}
    format: str = _FORMAT
    version: int = _VERSION


def inputs_checksum(arguments: Arguments) -> int:
    """The CRC-32 of all tensors as they are sent."""
    found = 0
    for tensor in arguments.tensors:
        found = zlib.crc32(np.ascontiguousarray(tensor.to_bytes()).data, found)
    return found


def write_plan(folder: Path, plan: Plan) -> None:
    """Write `plan` into its folder. Raises `RecordError`."""
    write_whole(folder / FILE, [msgspec.json.format(msgspec.json.encode(plan))], "the plan")


def read_plan(folder: Path) -> Plan:
    """The plan in `folder`. Raises `RecordError` for what is none."""
    try:
        plan = msgspec.json.decode((folder / FILE).read_bytes(), type=Plan)
    except OSError as failure:
        raise RecordError(
            f"{folder} holds no kernels to run: it has no {FILE}", hints=[f"cutecc diff-test KERNEL --compile {folder}"]
        ) from failure
    except MALFORMED as failure:
        raise RecordError(f"{folder / FILE} cannot be read: {failure}") from None
    if plan.format != _FORMAT or plan.version != _VERSION:
        raise RecordError(f"{folder / FILE} is of another version of cutecc", hints=["compile it again"])
    return plan
