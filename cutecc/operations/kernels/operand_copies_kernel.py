# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The copies of operands to lines that TMA and `wgmma` can read, in CuTe: all of a launch in one kernel.

A thread copies four vectors of 16 bytes, a block the tile that those make:

| copy | reads | writes |
|---|---|---|
| aligned only | 512 bytes of 32 lines | the same |
| transposed, 8-bit elements | 128 bytes of 128 lines | 128 bytes of 128 lines |
| transposed, 32-bit elements | 512 bytes of 32 lines | 128 bytes of 128 lines |

Transposed tiles go through shared memory as words of 32 bits, 128 lines of 32 words, a word of bytes being four along
the new line. The lines' vectors are permuted (swizzled), so that neither side has bank conflicts.
"""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.byte_permutation import transposed_bytes
from cutecc.operations.kernels.line_vectors import WORDS, LineVectors
from cutecc.operations.kernels.operand_copies import OperandCopy, operand_copies
from cutecc.operations.kernels.regions import region
from cutecc.operations.kernels.workspace import ceil_div, copy_name, log2
from cutecc.operations.operand import WIDEST_ALIGNMENT

THREADS, WARP = 256, 32
VECTORS = 4
"""Of a thread."""
TILE_LINES = 128
"""Lines that a block writes of a transposed copy."""
TILE_VECTORS = 8
"""Vectors that it writes of each: a row of 128 bytes in shared memory, all of its banks."""


class OperandCopies:
    """Copies what `operand_copies` lists of a description."""

    def __init__(self, description: GemmDescription):
        self.description, self.copies = description, operand_copies(description)

    def launch(self, problem, a, b, workspace, slices, stream):
        """Copy from `a` and `b`, (rows, K, L) each, to the workspace; returns both as they are to be read."""
        m, n, k, batches = problem
        operands = {"a": a, "b": b}
        sources, targets, tiles = [], [], []
        for copy in self.copies:
            operand = operands[copy.name]
            source = cute.make_tensor(operand.iterator, cute.select(operand.layout, mode=_lines(copy.is_k_major)))
            place = region(self.description, workspace, problem, slices, copy_name(copy.name), operand.element_type)
            vectors, (length, lines) = copy.vectors(m, n, k), copy.extents(m, n, k)
            line = cute.assume(cutlass.Int64(vectors * copy.vector), divby=copy.vector)
            layout = cute.make_layout((length, lines, batches), stride=(1, line, lines * line))
            is_k_major = copy.is_k_major != copy.is_transposed
            operands[copy.name] = cute.make_tensor(place.iterator, cute.select(layout, mode=_lines(is_k_major)))
            sources.append(source)
            targets.append(_in_words(place.iterator, vectors, lines, batches))
            tiles.append(_tiles(copy, vectors, lines))
        blocks = [across * along * batches for across, along in tiles]
        self.kernel(tuple(sources), tuple(targets), tuple(tiles), blocks[0]).launch(
            grid=(sum(blocks), 1, 1), block=(THREADS, 1, 1), stream=stream, use_pdl=True
        )
        return operands["a"], operands["b"]

    @cute.kernel
    def kernel(self, sources, targets, tiles, blocks):
        """One tile of a copy; the first copy has `blocks` of them."""
        block, _, _ = cute.arch.block_idx()
        memory = None
        if cutlass.const_expr(any(copy.is_transposed for copy in self.copies)):
            words = TILE_LINES * TILE_VECTORS * WORDS
            allocator = cutlass.utils.SmemAllocator()
            memory = allocator.allocate_array(cutlass.Uint32, words, byte_alignment=WIDEST_ALIGNMENT)
        cute.arch.griddepcontrol_launch_dependents()
        cute.arch.griddepcontrol_wait()
        if cutlass.const_expr(len(self.copies) == 1):
            self.copy_tile(0, sources, targets, tiles, block, memory)
        else:
            if block < blocks:
                self.copy_tile(0, sources, targets, tiles, block, memory)
            else:
                self.copy_tile(1, sources, targets, tiles, block - blocks, memory)

    @cute.jit
    def copy_tile(self, number: cutlass.Constexpr, sources, targets, tiles, block, memory):
        """The tile `block` of one of the copies."""
        copy, source, target = self.copies[number], sources[number], targets[number]
        across, along = tiles[number]
        tile = (block % across, block // across % along)
        batch = block // across // along
        if cutlass.const_expr(copy.is_transposed):
            self.transpose(copy, source, target, tile, batch, memory)
        else:
            self.align(copy, source, target, tile, batch)

    @cute.jit
    def align(self, copy: cutlass.Constexpr, source, target, tile, batch):
        """A tile of the same lines: of each a vector for each lane."""
        thread, _, _ = cute.arch.thread_idx()
        warps = THREADS // WARP
        vector = tile[0] * WARP + thread % WARP
        lines = [(tile[1] * VECTORS + i) * warps + thread // WARP for i in range(VECTORS)]
        words = LineVectors(copy.operand).read(source, vector * copy.vector, lines, batch)
        for i in cutlass.range_constexpr(VECTORS):
            self.write(words[None, i], target, vector, lines[i], batch)

    @cute.jit
    def transpose(self, copy: cutlass.Constexpr, source, target, tile, batch, memory):
        """A tile whose lines are columns of the source's."""
        thread, _, _ = cute.arch.thread_idx()
        staged = cute.make_tensor(memory, staged_layout(copy))
        across = TILE_LINES // copy.vector
        column, group = thread % across, thread // across
        first = tile[1] * TILE_LINES + column * copy.vector
        lines = [(tile[0] * (THREADS // across) + group) * VECTORS + i for i in range(VECTORS)]
        words = LineVectors(copy.operand).read(source, first, lines, batch)
        for i in cutlass.range_constexpr(WORDS):
            self.stage(copy, [words[i, line] for line in range(VECTORS)], staged, column * WORDS + i, group)
        cute.arch.sync_threads()
        vector = thread % TILE_VECTORS
        for i in cutlass.range_constexpr(VECTORS):
            line = i * (THREADS // TILE_VECTORS) + thread // TILE_VECTORS
            piece = cute.make_rmem_tensor((WORDS,), cutlass.Uint32)
            cute.autovec_copy(staged[line, (None, vector)], piece)
            self.write(piece, target, tile[0] * TILE_VECTORS + vector, tile[1] * TILE_LINES + line, batch)

    def stage(self, copy, words, staged, column, group) -> None:
        """Put one word of each of a group of four lines where it is read along the others."""
        if copy.operand.bits == 8:
            for i, word in enumerate(transposed_bytes(words)):
                staged[column * 4 + i, (group % WORDS, group // WORDS)] = word
        else:
            vector = cute.make_rmem_tensor((WORDS,), cutlass.Uint32)
            for i, word in enumerate(words):
                vector[i] = word
            cute.autovec_copy(vector, staged[column, (None, group)])

    @cute.jit
    def write(self, words, target, vector, line, batch):
        """Store a vector, unless it lies behind the edge."""
        _, vectors, lines, _ = target.shape
        if (vector < vectors) & (line < lines):
            cute.autovec_copy(words, target[None, vector, line, batch])


def staged_layout(copy: OperandCopy) -> cute.ComposedLayout:
    """A transposed tile in shared memory: (lines, (words, vectors)).

    Threads that write together have lines that are `copy.vector` apart: as often, the order of the vectors changes.
    """
    row = TILE_VECTORS * WORDS
    tile = cute.make_layout((TILE_LINES, (WORDS, TILE_VECTORS)), stride=(row, (1, WORDS)))
    swizzle = cute.make_swizzle(*(log2(each) for each in (TILE_VECTORS, WORDS, TILE_VECTORS * copy.vector)))
    return cute.make_composed_layout(swizzle, 0, tile)


def _tiles(copy: OperandCopy, vectors, lines):
    """How many tiles there are along a line and across lines; one at least, as a grid has no extent of 0."""
    along, across = (TILE_VECTORS, TILE_LINES) if copy.is_transposed else (WARP, THREADS // WARP * VECTORS)
    return cutlass.max(ceil_div(vectors, along), 1), cutlass.max(ceil_div(lines, across), 1)


def _in_words(place, vectors, lines, batches) -> cute.Tensor:
    """Lines of vectors: (word, vector, line, batch)."""
    line = cutlass.Int64(vectors) * WORDS
    stride = (1, WORDS, cute.assume(line, divby=WORDS), cute.assume(lines * line, divby=WORDS))
    layout = cute.make_layout((WORDS, vectors, lines, batches), stride=stride)
    return cute.make_tensor(cute.recast_ptr(place, dtype=cutlass.Uint32), layout)


def _lines(is_k_major: bool) -> list[int]:
    """The modes of (rows, K, L) as (elements of a line, lines, L), or the other way round."""
    return [1, 0, 2] if is_k_major else [0, 1, 2]
