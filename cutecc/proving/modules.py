"""Proving the kernels of a traced module: it is lowered up to where loops and branches still have a structure."""

from __future__ import annotations

from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.manager import run
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import named_pipeline
from cutecc.proving.kernel import Atoms, read_kernels
from cutecc.proving.pictured import skeletons_of
from cutecc.proving.proof import Proof, prove
from cutecc.proving.skeleton import skeleton_of
from cutecc.proving.warps import program_of
from cutecc.support import isolation
from cutecc.target import Target

LAST = "core-to-llvm-prepare"
"""The pass of `nvidia` after which the kernel is looked at."""


def prove_apart(data: bytes, target: str, seconds: float, *, lir: bool = False) -> list[Proof]:
    """As `prove_module`, in a process of its own."""
    try:
        return isolation.call("cutecc.proving.modules:prove_module", data, target, seconds, lir)
    except isolation.ProcessDied as death:
        return [Proof("cannot tell", "kernel", reason=f"lowering it aborted: {death.message}")]


def prove_module(data: bytes, target: str, seconds: float, lir: bool = False) -> list[Proof]:
    """The proof of each kernel in a traced module, MLIR text or bytecode, in at most so many seconds each.

    Raises `cutecc.Error` for a module that is none, or does not lower.
    """
    with fresh_context():
        module = parse(data)
        atoms = Atoms.of(module)
        # Problems are told at lines.
        whole = named_pipeline("nvidia", Target.parse(target), WheelOptions(preserve_line_info=True), lir=lir)
        run(Pipeline(whole.passes[: whole.position(LAST) + 1]), module)
        proofs: list[Proof] = []
        for kernel in read_kernels(module, atoms):
            program = program_of(skeleton_of(kernel))
            proof = prove(program, seconds)
            proof.skeleton = skeletons_of(program)
            proofs.append(proof)
        return proofs
