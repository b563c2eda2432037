"""With `--ptxas`, the user's program assembles, and nobody else has a say in what it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

import cutecc
from cutecc.backend.tools import find_tool
from cutecc.passes.generation.choice import Backend
from cutecc.passes.nvidia.options import WheelOptions

KERNEL = """
# cutecc: target = "sm_90a"
# cutecc: args.x = "i32[32]"
import cutlass
from cutlass import cute
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T, dsl_user_op

@dsl_user_op
def newer(x, *, loc=None, ip=None):
    value = cutlass.Int32(x).ir_value(loc=loc, ip=ip)
    asm = "newer.b32 $0, $1;"
    return cutlass.Int32(llvm.inline_asm(T.i32(), [value], asm, "=r,r", has_side_effects=False, loc=loc, ip=ip))

@cute.kernel
def device(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    x[thread] = newer(thread)

@cute.jit
def host(x: cute.Tensor):
    device(x).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""
"""It has an instruction that no released assembler knows."""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    return str(path)


@pytest.fixture
def newer_ptxas(tmp_path: Path) -> Path:
    """An assembler that knows the instruction, and the option `--newer`, which it takes the instruction away by."""
    program = tmp_path / "newer-ptxas"
    program.write_text(f"""#!/bin/sh
for word; do case $word in
  --newer) ;;
  *) case $word in *.ptx) sed -i 's/newer.b32/not.b32/' "$word" ;; esac; set -- "$@" "$word" ;;
esac; shift; done
exec {find_tool("ptxas").path} "$@"
""")
    program.chmod(0o755)
    return program


def made(kernel: str, options: cutecc.CompileOptions) -> cutecc.Kernel | cutecc.Error:
    (made,) = cutecc.compile_many([cutecc.Job(kernel, options=options)], workers=1)
    assert isinstance(made, (cutecc.Kernel, cutecc.Error))
    return made


@pytest.mark.parametrize("backend", ["nvvm", "llvm"])
def test_what_only_the_users_assembler_takes(kernel: str, newer_ptxas: Path, backend: Backend) -> None:
    options = cutecc.CompileOptions(backend=backend, ptxas=newer_ptxas, wheel=WheelOptions(ptx_options="--newer"))
    found = made(kernel, options)
    assert isinstance(found, cutecc.Kernel), found
    assert "newer.b32" in found.ptx
    assert "LOP3" in found.sass, "the instruction that the user's assembler made of it"
    assert found.compilation.artifact("host-program")


@pytest.mark.parametrize("backend", ["nvvm", "llvm"])
def test_what_no_assembler_takes_is_told_of_at_its_line(kernel: str, backend: Backend) -> None:
    found = made(kernel, cutecc.CompileOptions(backend=backend))
    assert isinstance(found, cutecc.Error)
    assert "Not a name of any known instruction: 'newer'" in found.message
    assert found.location
    assert found.location.text == "\tnewer.b32 %r1, %r2;"
