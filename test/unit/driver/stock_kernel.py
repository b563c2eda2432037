"""A kernel for the DSL alone: what it traces, and what the stock compiler makes of it."""

import cutlass
import cutlass.compiler
from cutlass import cute


@cute.kernel
def scale_kernel(x: cute.Tensor, factor: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    index = block * 128 + thread
    if index < cute.size(x):
        x[index] = x[index] * factor


@cute.jit
def scale(x: cute.Tensor, factor: cutlass.Float32):
    scale_kernel(x, factor).launch(grid=[cute.ceil_div(cute.size(x), 128), 1, 1], block=[128, 1, 1])


def traced() -> bytes:
    """The module before all passes, as bytecode."""
    return cute.compile_to(cutlass.compiler.ArtifactType.PreCompiledMlir, scale, *_arguments()).get_bitcode()


def compiled() -> list[bytes]:
    """The module before all passes, and after them with the cubin in it."""
    return [traced(), str(cute.compile(scale, *_arguments()).ir_module).encode()]


def _arguments() -> tuple[object, ...]:
    return cute.runtime.make_fake_compact_tensor(cutlass.Float32, (cute.sym_int(),)), cutlass.Float32(2)
