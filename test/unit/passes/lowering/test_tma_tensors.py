"""What TMA copies in the open pipeline: tensors of many kinds on the emulator."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from emulated_runs import EmulatedKernels

from cutecc.arguments.grammar import parse_spec

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).with_name("kernels") / "tma_tensors.py"


@pytest.mark.parametrize(
    ("tile", "spec"),
    [
        ((4, 32), "[?M=16, 64]"),
        # A step of the innermost mode is as far as the tensor says, also when it runs.
        ((4, 32), "[?M=16, ?N=64]:(?S{i64}=72, ?T{i64}=1)"),
        ((4, 1, 32), "[?M=8, ?H=3, ?N=64]:(?S{i64 div=8}=72, ?R{i64 div=8}=720, ?T=1)"),
        ((1, 2, 1, 2, 32), "[?A=3, ?B=4, ?C=2, ?D=4, 64]"),
        # Six modes, two of which are one to TMA.
        ((1, 2, 1, 3, 2, 32), "[3, 4, 2, 6, 2, 64]"),
        ((1, 4, 1, 3, 2, 32), "[?A=3, 4, 2, 6, 2, 64]"),
        ((3, 4, 1, 1, 2, 32), "[3, 4, 2, 6, 2, 64]"),
        # Two that do not follow each other: one of steps that divide both.
        ((1, 2, 1, 3, 1, 32), "[3, 4, 2, 6, 2, 64]"),
    ],
)
def test_it_agrees_with_the_reference(emulated: EmulatedKernels, tile: tuple[int, ...], spec: str) -> None:
    copies(emulated, f"Copy({tile})", f"f16{spec} align=16")


def copies(emulated: EmulatedKernels, entry: str, spec: str | None = None) -> None:
    args = {} if spec is None else {name: parse_spec(spec) for name in "xy"}
    kernel = emulated.compile(KERNELS, "open", entry=entry, args=args)
    emulated.agrees(kernel, KERNELS, reference="reference", args=args)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("[?M=16, ?N=64]:(?S{i64}=68, 1) align=16", "steps along mode 0 of .*, are no multiple of 16 bytes"),
        ("[?M=16, ?N=64]:(?S{i64}=128, ?T=2) align=16", "elements along mode 1 of .*, do not lie side by side"),
        ("[?M=16, ?N=64]:(?S{i64}=128, 1)", "the address of a tensor for TMA is no multiple of 16 bytes"),
    ],
)
def test_what_tma_would_take_for_another_tensor_is_refused(cutecc, spec: str, message: str) -> None:
    kinds = [argument for name in "xy" for argument in ("--arg", f"{name}=f16{spec}")]
    options = ["--entry", "Copy((4, 32))", *kinds, "--device", "cpu", "--pipeline", "open"]
    shown = cutecc("run", KERNELS, *options, status=1).stderr
    assert re.match(rf"\S+tma_tensors\.py:\d+:\d+: error: {message}\n +load, x_tma = cpasync\.make_tiled", shown)


def test_steps_that_nothing_takes_are_no_error(emulated: EmulatedKernels) -> None:
    copies(emulated, "Copy((1, 4, 32))", "f16[?A=1, ?M=16, ?N=64]:(?R{i64}=3, ?S{i64}=128, ?T=1) align=16")


@pytest.mark.parametrize("internal", ["Int8", "Int16", "BFloat16"])
def test_elements_of_another_type_for_tma_arrive_whole(emulated: EmulatedKernels, internal: str) -> None:
    """Also of one that is narrower: then sizes count more numbers than elements."""
    copies(emulated, f"Copy((4, 32), cutlass.{internal})")
