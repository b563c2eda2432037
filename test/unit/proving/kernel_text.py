"""Small kernels as MLIR's text, with their launch, and what the prover says of them."""

from __future__ import annotations

from cutecc.ir.modules import fresh_context, parse
from cutecc.proving.kernel import Atoms, read_kernels
from cutecc.proving.pictured import skeletons_of
from cutecc.proving.proof import Proof, prove
from cutecc.proving.skeleton import skeleton_of
from cutecc.proving.warps import Program, program_of
from cutecc.report.skeleton import Skeleton

_CONSTANTS = (0, 1, 2, 3, 4, 8, 16, 32, 64, 128, 512, 1024, 10000000)


def kernel_text(body: str, *, warps: int = 2, blocks: int = 1) -> str:
    """A module whose kernel has such a body, which may take values by these names.

    `%c1`, `%bar0` (an mbarrier, and so on up to 3), `%tile` (of shared memory), `%n` and `%m` (numbers of the launch),
    `%flag` (a bit that comes from global memory), `%warp` and `%lane`, `%is_warp0`, `%is_warp1`, `%is_first` (thread).
    """
    constants = "\n".join(f"    %c{each} = arith.constant {each} : i32" for each in _CONSTANTS)
    bars = "\n".join(
        f"    %bar{each} = llvm.getelementptr %shared[{8 * each}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8"
        for each in range(4)
    )
    return f"""
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
  llvm.mlir.global external @shared() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<0 x i8>
  cuda.kernel @kernel(%x: !llvm.ptr<1>, %n: i32, %m: i32) attributes {{nvvm.reqntid = array<i32: {32 * warps}, 1, 1>}} {{
{constants}
    %true = arith.constant true
    %false = arith.constant false
    %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
{bars}
    %tile = llvm.getelementptr %shared[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %word = llvm.getelementptr %shared[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %read = llvm.load %x : !llvm.ptr<1> -> i32
    %flag = arith.cmpi sgt, %read, %c0 : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divsi %thread, %c32 : i32
    %lane = arith.remsi %thread, %c32 : i32
    %is_warp0 = arith.cmpi eq, %warp, %c0 : i32
    %is_warp1 = arith.cmpi eq, %warp, %c1 : i32
    %is_first = arith.cmpi eq, %thread, %c0 : i32
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %is_leader = arith.cmpi eq, %rank, %c0 : i32
{body}
    return
  }}
}}
func.func @host(%x: !llvm.ptr<1>, %n: i32, %m: i32) -> i32 {{
  %one = arith.constant 1 : i32
  %blocks = arith.constant {blocks} : i32
  %threads = arith.constant {32 * warps} : i32
  %null = arith.constant 0 : i64
  %bytes = arith.constant 65536 : i64
  %stream = cuda.cast %null : i64 -> !cuda.stream
  %config = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%threads, %one, %one), dynamicSmemBytes = %bytes, gridDim = (%n, %one, %one), stream = %stream) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
  cuda.launch_cfg.cluster_dim[%config] (%blocks, %one, %one) : !cuda.launch_cfg<max_attrs = 17>, i32, i32, i32
  %result = cuda.launch_ex @kernels::@kernel<%config> (%x, %n, %m) {{assume_kernel_attr = #cuda.assume_kernel_attr<true>}} : !cuda.launch_cfg<max_attrs = 17>, (!llvm.ptr<1>, i32, i32) -> !cuda.result
  return %one : i32
}}
}}
"""  # noqa: E501


def proof_of(body: str, *, warps: int = 2, blocks: int = 1) -> Proof:
    """What is said of the kernel with such a body."""
    return prove(_program(body, warps, blocks), seconds=20.0)


def picture_of(body: str, *, warps: int = 2, blocks: int = 1) -> Skeleton:
    """The only picture of it."""
    (found,) = skeletons_of(_program(body, warps, blocks))
    return found


def _program(body: str, warps: int, blocks: int) -> Program:
    with fresh_context():
        module = parse(kernel_text(body, warps=warps, blocks=blocks).encode())
        (kernel,) = read_kernels(module, Atoms({}))
        return program_of(skeleton_of(kernel))


def assembly(text: str, *operands: str) -> str:
    """Inline assembly with 32-bit operands."""
    types = ", ".join("i32" for _ in operands)
    constraints = ",".join([*("r" for _ in operands), "~{memory}"])
    given = " ".join((",".join(operands), ":", f"({types})", "->", "()")) if operands else ": () -> ()"
    return f'    llvm.inline_asm has_side_effects "{text}", "{constraints}" {given}\n'


def kinds(proof: Proof) -> set[str]:
    """Of what is wrong."""
    return {each.kind for each in proof.problems}


def initialised(*counts: int, sync: str = "nvvm.barrier") -> str:
    """The first thread makes mbarriers for so many arrivals, and all wait for it."""
    inits = "\n".join(
        f"      nvvm.mbarrier.init %bar{at}, %c{count} : !llvm.ptr<3>, i32" for at, count in enumerate(counts)
    )
    return f"    scf.if %is_first {{\n{inits}\n    }}\n    {sync}\n"


def wait(bar: int, parity: str = "%c0") -> str:
    """A wait for an mbarrier's phase."""
    return f"nvvm.mbarrier.try_wait.parity %bar{bar}, {parity}, %c10000000 : !llvm.ptr<3>, i32, i32"
