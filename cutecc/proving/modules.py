"""Proving the kernels of a traced module: it is lowered up to where loops and branches still have a structure."""

from __future__ import annotations

from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.manager import run
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import named_pipeline, uses_lir, uses_pyir
from cutecc.proving.kernel import Atoms, read_kernels
from cutecc.proving.proof import Proof, prove
from cutecc.proving.skeleton import skeleton_of
from cutecc.proving.warps import program_of
from cutecc.support import isolation
from cutecc.target import Target

LAST = "core-to-llvm-prepare"
"""The pass of `nvidia` after which the kernel is looked at."""
_LAST_WITH_ATOMS = "convert-math-to-funcs"
"""The pass after which types say for the last time what copies move."""


def prove_apart(data: bytes, target: str, seconds: float) -> list[Proof]:
    """As `prove_module`, in a process of its own."""
    try:
        return isolation.call("cutecc.proving.modules:prove_module", data, target, seconds)
    except isolation.ProcessDied as death:
        return [Proof("cannot tell", "kernel", reason=f"lowering it aborted: {death.message}")]


def prove_module(data: bytes, target: str, seconds: float) -> list[Proof]:
    """The proof of each kernel in a traced module, MLIR text or bytecode, in at most so many seconds each.

    Raises `cutecc.Error` for a module that is none, or does not lower.
    """
    with fresh_context():
        module = parse(data)
        # Problems are told at lines.
        options = WheelOptions(preserve_line_info=True)
        lir, pyir = uses_lir(module), uses_pyir(module)
        whole = named_pipeline("nvidia", Target.parse(target), options, lir=lir, pyir=pyir)
        middle, end = whole.position(_LAST_WITH_ATOMS) + 1, whole.position(LAST) + 1
        run(Pipeline(whole.passes[:middle]), module)
        atoms = Atoms.of(module)
        run(Pipeline(whole.passes[middle:end]), module)
        proofs: list[Proof] = []
        for kernel in read_kernels(module, atoms):
            proofs.append(prove(program_of(skeleton_of(kernel)), seconds))
        return proofs
