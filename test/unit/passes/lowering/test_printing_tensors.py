"""What kernels print: the same text through `open` as through `nvidia`, on the emulator."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import KERNELS

pytestmark = pytest.mark.slow

OWN = Path(__file__).with_name("kernels") / "printed_tensors.py"
ADDRESS = re.compile("0x[0-9a-f]{16}")
"""Of memory, which is elsewhere in each run."""


@pytest.mark.parametrize(("kernel", "lines"), [(KERNELS / "device_print.py", 10), (OWN, 230)])
def test_same_text_as_the_wheel(cutecc, kernel: Path, lines: int) -> None:
    printed = [
        ADDRESS.sub("0x…", cutecc("run", kernel, "--device", "cpu", "--pipeline", name, "--backend", "nvvm").stdout)
        for name in ("nvidia", "open")
    ]
    assert printed[0].count("\n") > lines
    assert printed[1] == printed[0]
