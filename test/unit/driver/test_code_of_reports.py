"""What a report keeps changes no instruction: its code is that of a compile without it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cutecc
from cutecc.record import Compilation
from cutecc.request import CompileOptions

EXAMPLES = [path.stem for path in sorted((Path(__file__).parents[3] / "examples").glob("*.py"))]
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")


def instructions(compilation: Compilation) -> list[str]:
    sass = compilation.artifact("sass")
    assert sass is not None
    return INSTRUCTION.findall(sass.decode())


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_instructions_are_the_same(traced_kernels, name: str) -> None:
    kernel = traced_kernels[name]
    plain, reported = (
        cutecc.compile_module(kernel.bytecode, target=kernel.target, options=options).compilation
        for options in (CompileOptions(artifacts=("sass",)), CompileOptions(report=True))
    )
    assert reported.artifact("stages") is not None
    assert plain.artifact("stages") is None
    assert instructions(plain) == instructions(reported)
    assert len(instructions(plain)) > 50
