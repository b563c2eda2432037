"""Load matrices of 8, 6 and 4 bits an element from shared memory to registers, and store some of them again.

Exercises the forms of `ldmatrix` that came with Blackwell, by rows and by columns, which unpack to a byte each element,
and `stmatrix` of bytes.
"""

# cutecc: entry = "narrow_matrices"
# cutecc: target = "sm_120a, sm_100a"
# cutecc: args.x = "u8[?N=3, 32, 16] align=16"
# cutecc: args.loaded = "u8[?N, 6, 32, 16] align=16"
# cutecc: args.stored = "u8[?N, 32, 16] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["loaded", "stored"]
# cutecc: bytes = "N * 8 * 512"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp

ROWS, WIDTH = 32, 16  # one row a lane, of so many bytes


@cute.kernel
def matrices_kernel(x: cute.Tensor, loaded: cute.Tensor, stored: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    staged = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Uint8, cute.make_layout((WIDTH, ROWS)), 16)
    registers = cute.make_rmem_tensor(cute.make_layout((WIDTH,)), cutlass.Uint8)
    cute.autovec_copy(x[block, lane, None], staged[None, lane])
    cute.arch.sync_warp()
    forms = (
        warp.LdMatrix8x16x8bOp(num_matrices=4, unpack_bits=4),
        warp.LdMatrix8x16x8bOp(num_matrices=4, unpack_bits=6),
        warp.LdMatrix16x16x8bOp(transpose=True, num_matrices=2, unpack_bits=4),
        warp.LdMatrix16x16x8bOp(transpose=True, num_matrices=2, unpack_bits=6),
        warp.LdMatrix16x16x8bOp(transpose=True, num_matrices=2),
        warp.LdMatrix16x8x8bOp(transpose=True, num_matrices=4),
    )
    for number, form in enumerate(forms):
        cute.copy(cute.make_copy_atom(form, cutlass.Uint8), staged[None, lane], registers)
        cute.autovec_copy(registers, loaded[block, number, lane, None])
    cute.arch.sync_warp()
    store = warp.StMatrix16x8x8bOp(transpose=True, num_matrices=4)
    cute.copy(cute.make_copy_atom(store, cutlass.Uint8), registers, staged[None, lane])
    cute.arch.sync_warp()
    cute.autovec_copy(staged[None, lane], stored[block, lane, None])


@cute.jit
def narrow_matrices(x: cute.Tensor, loaded: cute.Tensor, stored: cute.Tensor):
    """The registers of each lane after each load of the rows `x`, and the rows that the last of them are stored to."""
    matrices_kernel(x, loaded, stored).launch(grid=[x.shape[0], 1, 1], block=[ROWS, 1, 1])


def reference(x, loaded, stored):
    """The expected `loaded` and `stored`, as the PTX ISA has the fragments."""
    import numpy as np

    def unpacked(bits):
        all_bits = np.unpackbits(x, axis=2, bitorder="little")[:, :, : 16 * bits].reshape(-1, ROWS, 16, bits)
        return np.packbits(all_bits, axis=3, bitorder="little")[..., 0]

    def by_rows(elements):  # (4 matrices, 8 rows, 4 lanes, 4 bytes): a register for each matrix
        return elements.reshape(-1, 4, 8, 4, 4).transpose(0, 2, 3, 1, 4).reshape(-1, 32, 16)

    def by_columns(elements):  # (2 matrices, 4 lanes, 4 bytes, 2 registers, 8 columns)
        return elements.reshape(-1, 2, 4, 4, 2, 8).transpose(0, 5, 2, 1, 4, 3).reshape(-1, 32, 16)

    # (matrix, column half, row pair, byte) of a lane becomes (matrix, row pair, column half, byte).
    halves = by_columns(x).reshape(-1, 32, 2, 2, 2, 2).swapaxes(3, 4).reshape(-1, 32, 16)
    # (8 columns, 4 lanes, 4 matrices, column half, byte): rows are lanes and bytes.
    rows = halves.reshape(-1, 8, 4, 4, 2, 2).transpose(0, 3, 2, 5, 4, 1).reshape(-1, 32, 16)
    forms = [
        by_rows(unpacked(4)),
        by_rows(unpacked(6)),
        by_columns(unpacked(4)),
        by_columns(unpacked(6)),
        by_columns(x),
    ]
    return np.stack([*forms, halves], axis=1), rows
