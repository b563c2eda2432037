"""Compiling a kernel, in a process of its own: a wheel whose parts do not fit may take the process with it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

_KERNEL = """\
from cutlass import cute


@cute.kernel
def kernel(x: cute.Tensor):
    x[0] = x[1]


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""
_OPTIONS = ("--target", "sm_90a", "--arg", "x=f32[8]", "--no-cache", "--quiet", "--output", "trial")
_TIMEOUT_SECONDS = 300.0


def compile_one() -> str:
    """Why a small kernel does not compile, down to machine code, through `cutecc compile`; empty where it does."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "trial_kernel.py").write_text(_KERNEL)
        # Where this process finds modules, that one does.
        program = f"import sys; sys.path[:] = {sys.path!r}; from cutecc.__main__ import main; main()"
        command = [sys.executable, "-W", "ignore", "-c", program, "compile", "trial_kernel.py:host", *_OPTIONS]
        environment = {**os.environ, "NO_COLOR": "1"}
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"a small kernel takes longer than {_TIMEOUT_SECONDS:g} s to compile"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if line]
    said = next((line for line in lines if "error: " in line), lines[-1] if lines else "")
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
    return f"compiling a kernel ends with {how}" + (f": {said.partition('error: ')[2] or said}" if said else "")
