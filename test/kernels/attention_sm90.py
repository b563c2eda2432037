"""Attention for Hopper: the scores of a tile of keys at a time, which never leave the registers.

Exercises chained wgmmas, the second of which takes its first operand from registers and its second MN-major; two rings
of stages; warpgroups that take turns by named barriers; a warp-specialised producer; and vector arithmetic in between.
"""

# cutecc: entry = "Attention()"
# cutecc: target = "sm_90a"
# cutecc: args.q = "f16[?H=1, ?S=200, 128] align=16"
# cutecc: args.k = "f16[?H, ?S, 128] align=16"
# cutecc: args.v = "f16[?H, ?S, 128] align=16"
# cutecc: args.out = "f16[?H, ?S, 128] align=16"
# cutecc: args.scale = "f32=0.088388346"
# cutecc: reference = "reference"
# cutecc: outputs = ["out"]
# cutecc: tolerance = 2e-3
# cutecc: bytes = "2 * 4 * H * S * 128"
# cutecc: flops = "4 * H * S * S * 128"

import math
import operator

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup

WARPGROUP = 128  # threads
HEAD_DIM = 128
CONSUMERS = 2  # warpgroups that compute
ROWS = 64  # queries of a consumer: the rows of a wgmma
QUERIES = CONSUMERS * ROWS  # of a block
KEYS = 128  # of a step; as many as queries, so that the diagonal of a causal mask crosses one step only
STAGES = 2  # of keys, and as many of values
TILE_BYTES = KEYS * HEAD_DIM * 2  # also of a block's queries
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 24, 240
STORE_BARRIER, TURN_BARRIER = 1, 1 + CONSUMERS  # the first of those that each consumer has
QUAD = 4  # lanes that share the rows of a product
LOG2_E = math.log2(math.e)


class Attention:
    """out = softmax(q @ k.T * scale) @ v for each head of (heads, sequence, 128) tensors, f16 or bf16; scale > 0.

    With `causal`, a query sees the keys up to its own position. Scores, and sums over the keys, are kept in f32.
    """

    def __init__(self, causal: bool = False):
        self.causal = causal

    @cute.jit
    def __call__(self, q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, out: cute.Tensor, scale: cutlass.Float32):
        """Launch the kernel on sequences of any length."""
        dtype = self.dtype = q.element_type
        for tensor in (q, k, v, out):
            assert tensor.element_type is dtype and tensor.shape[2] == HEAD_DIM

        q_layout, k_layout, v_layout = self.layouts()
        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        self.kernel(
            *self.tma(load, q, [1, 2, 0], q_layout),
            *self.tma(load, k, [1, 2, 0], k_layout),
            *self.tma(load, v, [2, 1, 0], v_layout),
            *self.tma(store, out, [1, 2, 0], q_layout),
            scale * LOG2_E,  # for powers of two, which are faster than exponentials
        ).launch(grid=[cute.ceil_div(q.shape[1], QUERIES), q.shape[0], 1], block=[WARPGROUP * (CONSUMERS + 1), 1, 1])

    def layouts(self):
        """Of the queries, keys and values in shared memory, where in the end a consumer's outputs replace its queries.

        They repeat an atom, swizzled against bank conflicts: 8 rows of 128 bytes, for the values 8 columns.
        """
        rows = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, self.dtype)
        columns = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.MN_SW128, self.dtype)
        return (
            cute.tile_to_shape(rows, (ROWS, HEAD_DIM, CONSUMERS), order=(0, 1, 2)),
            cute.tile_to_shape(rows, (KEYS, HEAD_DIM, STAGES), order=(0, 1, 2)),
            cute.tile_to_shape(columns, (HEAD_DIM, KEYS, STAGES), order=(1, 0, 2)),
        )

    def tma(self, operation, tensor, modes, layout):
        """A TMA copy of what one stage of `layout` holds, and the coordinates of `tensor` with its modes reordered."""
        reordered = cute.make_tensor(tensor.iterator, cute.select(tensor.layout, mode=modes))
        stage = cute.slice_(layout, (None, None, 0))
        return cpasync.make_tiled_tma_atom(operation, reordered, stage, cute.product_each(stage.shape))

    @cute.kernel
    def kernel(
        self,
        tma_q: cute.CopyAtom,
        q: cute.Tensor,
        tma_k: cute.CopyAtom,
        k: cute.Tensor,
        tma_v: cute.CopyAtom,
        v: cute.Tensor,
        tma_out: cute.CopyAtom,
        out: cute.Tensor,
        scale: cutlass.Float32,
    ):
        """`q`, `k` and `out` come as (position, column, head), `v` as (column, position, head)."""
        thread, _, _ = cute.arch.thread_idx()
        warp_index = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        group = warp_index // 4
        block, head, _ = cute.arch.block_idx()
        length = q.shape[0]
        steps = cute.ceil_div(length, KEYS)
        if cutlass.const_expr(self.causal):
            # The blocks that take the longest start first.
            blocks, _, _ = cute.arch.grid_dim()
            block = blocks - 1 - block
            steps = block + 1

        # A stage is full when TMA has written all its bytes, and empty when every consumer warp has arrived.
        allocator = cutlass.utils.SmemAllocator()
        q_full = allocator.allocate_array(cutlass.Int64)
        k_full, k_empty, v_full, v_empty = (allocator.allocate_array(cutlass.Int64, STAGES) for _ in range(4))
        staged_q, staged_k, staged_v = (
            allocator.allocate_tensor(self.dtype, layout.outer, 1024, swizzle=layout.inner) for layout in self.layouts()
        )
        if thread == 0:
            cute.arch.mbarrier_init(q_full, 1)
            for stage in cutlass.range_constexpr(STAGES):
                for full, empty in ((k_full, k_empty), (v_full, v_empty)):
                    cute.arch.mbarrier_init(full + stage, 1)
                    cute.arch.mbarrier_init(empty + stage, CONSUMERS * 4)
            cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()

        tiles_q = cute.local_tile(q[None, None, head], (ROWS, HEAD_DIM), (None, 0))
        tiles_k = cute.local_tile(k[None, None, head], (KEYS, HEAD_DIM), (None, 0))
        tiles_v = cute.local_tile(v[None, None, head], (HEAD_DIM, KEYS), (0, None))
        tiles_out = cute.local_tile(out[None, None, head], (ROWS, HEAD_DIM), (None, 0))

        if group == CONSUMERS:
            cute.arch.setmaxregister_decrease(PRODUCER_REGISTERS)
            if warp_index == CONSUMERS * 4:
                to_q, from_q = self.partition(tma_q, staged_q, tiles_q)
                to_k, from_k = self.partition(tma_k, staged_k, tiles_k)
                to_v, from_v = self.partition(tma_v, staged_v, tiles_v)
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(q_full, TILE_BYTES)
                for consumer in cutlass.range_constexpr(CONSUMERS):
                    tile = block * CONSUMERS + consumer
                    cute.copy(tma_q, from_q[None, tile], to_q[None, consumer], tma_bar_ptr=q_full)
                for step in range(steps):
                    # The last keys come first: only they are masked. A fresh barrier counts as just past phase 1, so
                    # the first round does not wait.
                    tile, stage, phase = steps - 1 - step, step % STAGES, step // STAGES % 2
                    cute.arch.mbarrier_wait(k_empty + stage, phase ^ 1)
                    self.fetch(tma_k, from_k[None, tile], to_k[None, stage], k_full + stage)
                    cute.arch.mbarrier_wait(v_empty + stage, phase ^ 1)
                    self.fetch(tma_v, from_v[None, tile], to_v[None, stage], v_full + stage)
        else:
            cute.arch.setmaxregister_increase(CONSUMER_REGISTERS)
            tile = block * CONSUMERS + group
            own_q = staged_q[None, None, group]
            cute.arch.mbarrier_wait(q_full, 0)
            keys, values = (staged_k, k_full, k_empty), (staged_v, v_full, v_empty)
            outputs = self.attend(own_q, keys, values, group, thread % WARPGROUP, tile * ROWS, steps, length, scale)
            self.store(outputs, own_q, tma_out, tiles_out[None, None, tile], group, thread % WARPGROUP)

    def partition(self, tma, staged, tiles):
        """The tiles of shared memory, then those of a tensor, each as one mode that a TMA copy takes."""
        alone = cute.make_layout(1)
        return cpasync.tma_partition(tma, 0, alone, cute.group_modes(staged, 0, 2), cute.group_modes(tiles, 0, 2))

    @cute.jit
    def fetch(self, tma, source, target, full):
        """Load keys or values; what lies beyond the sequence arrives as zeros and counts as transferred."""
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, TILE_BYTES)
        cute.copy(tma, source, target, tma_bar_ptr=full)

    @cute.jit
    def attend(self, staged_q, keys, values, group, thread, first_query, steps, length, scale):
        """One consumer's way through the keys; returns this thread's part of its outputs."""
        (staged_k, k_full, k_empty), (staged_v, v_full, v_empty) = keys, values
        # Scores replace those of the step before; outputs are added to.
        score_mmas = self.score_mma(accumulate=False), self.score_mma(accumulate=True)
        output_mmas = (self.output_mma(),) * 2
        score_mma, output_mma = score_mmas[0], output_mmas[0]
        fragment_q = score_mma.make_fragment_A(score_mma.get_slice(0).partition_A(staged_q))
        fragment_k = score_mma.make_fragment_B(score_mma.get_slice(0).partition_B(staged_k))
        fragment_v = output_mma.make_fragment_B(output_mma.get_slice(0).partition_B(staged_v))
        scores = cute.make_rmem_tensor(score_mma.partition_shape_C((ROWS, KEYS)), cutlass.Float32)
        outputs = cute.make_rmem_tensor(output_mma.partition_shape_C((ROWS, HEAD_DIM)), cutlass.Float32)
        outputs.fill(0)
        # The weights of the values: as an operand they have the order that the scores have as a result.
        weights = cute.make_rmem_tensor(output_mma.partition_shape_A((ROWS, KEYS)), self.dtype)
        weights_as_scores = cute.make_tensor(weights.iterator, scores.layout)

        # Of this thread's two queries: the largest score so far, this thread's sum of weights relative to it, and what
        # the latest step multiplies earlier sums by.
        largest, total, correction = (cute.make_rmem_tensor(2, cutlass.Float32) for _ in range(3))
        largest.fill(-cutlass.Float32.inf)
        total.fill(0)

        if group == CONSUMERS - 1:
            self.pass_turn(group)
        self.await_turn(group)
        cute.arch.mbarrier_wait(k_full, 0)
        self.multiply(score_mmas, scores, fragment_q, fragment_k[None, None, None, 0])
        self.pass_turn(group)
        warpgroup.wait_group(0)
        self.release(k_empty)
        self.mask(scores, score_mma, thread, first_query, (steps - 1) * KEYS, length)
        self.weigh(scores, largest, total, correction, scale)
        weights_as_scores.store(scores.load().to(self.dtype))
        cute.arch.mbarrier_wait(v_full, 0)

        for step in range(1, steps):
            # The products with the values of the step before run on while this step's scores become weights.
            stage, before, phase = step % STAGES, (step - 1) % STAGES, step // STAGES % 2
            self.await_turn(group)
            cute.arch.mbarrier_wait(k_full + stage, phase)
            self.multiply(score_mmas, scores, fragment_q, fragment_k[None, None, None, stage])
            self.multiply(output_mmas, outputs, weights, fragment_v[None, None, None, before])
            self.pass_turn(group)
            warpgroup.wait_group(1)
            self.release(k_empty + stage)
            self.weigh(scores, largest, total, correction, scale)
            # Waiting here for what the next products take keeps ptxas from waiting for the last ones any earlier.
            cute.arch.mbarrier_wait(v_full + stage, phase)
            warpgroup.wait_group(0)
            self.release(v_empty + before)
            self.scale_rows(outputs, correction)
            weights_as_scores.store(scores.load().to(self.dtype))

        if group == 0:
            self.await_turn(group)  # the turn that the other consumer passed last
        last = (steps - 1) % STAGES
        self.multiply(output_mmas, outputs, weights, fragment_v[None, None, None, last])
        for row in cutlass.range_constexpr(2):
            correction[row] = 1.0 / cute.arch.warp_reduction(total[row], operator.add, threads_in_group=QUAD)
        warpgroup.wait_group(0)
        self.scale_rows(outputs, correction)
        return outputs

    def score_mma(self, accumulate):
        """Scores: products of queries and keys along the head, which is contiguous in both."""
        return self.mma(KEYS, warpgroup.OperandSource.SMEM, OperandMajorMode.K, accumulate)

    def output_mma(self):
        """Outputs: products of weights in registers and values, of which neighbouring columns are contiguous."""
        return self.mma(HEAD_DIM, warpgroup.OperandSource.RMEM, OperandMajorMode.MN, True)

    def mma(self, n, source_of_a, major_of_b, accumulate):
        """wgmmas of one warpgroup, which add to their sums or replace them."""
        shape = (ROWS, n, 16)
        majors = OperandMajorMode.K, major_of_b
        operation = warpgroup.MmaF16BF16Op(self.dtype, cutlass.Float32, shape, source_of_a, *majors)
        tiled_mma = cute.make_tiled_mma(operation)
        tiled_mma.set(warpgroup.Field.ACCUMULATE, accumulate)
        return tiled_mma

    def multiply(self, mmas, sums, a, b):
        """Issue the products of two tiles: the first slice with the first of `mmas`, the others with the second."""
        warpgroup.fence()
        for k in range(cute.size(b, mode=[2])):
            cute.gemm(mmas[k > 0], sums, a[None, None, k], b[None, None, k], sums)
        warpgroup.commit_group()

    def await_turn(self, group):
        """Wait until the other consumer has issued its products: they run during this one's softmax, and vice versa."""
        cute.arch.barrier(barrier_id=TURN_BARRIER + group, number_of_threads=CONSUMERS * WARPGROUP)

    def pass_turn(self, group):
        """Let the other consumer issue its products."""
        other = CONSUMERS - 1 - group
        cute.arch.barrier_arrive(barrier_id=TURN_BARRIER + other, number_of_threads=CONSUMERS * WARPGROUP)

    @cute.jit
    def release(self, empty):
        """Tell the producer that this warp needs a stage no more."""
        if cute.arch.lane_idx() == 0:
            cute.arch.mbarrier_arrive(empty)

    def by_row(self, sums):
        """This thread's part of a product as (row, column): two rows, and pairs of columns that are 8 apart."""
        pairs = cute.size(sums) // 4
        return cute.make_tensor(sums.iterator, cute.make_layout((2, (2, pairs)), stride=(2, (1, 4))))

    def mask(self, scores, score_mma, thread, first_query, first_key, length):
        """Leave no weight to keys beyond the sequence, or behind the query; some key is left to every query."""
        places = score_mma.get_slice(thread).partition_C(cute.make_identity_tensor((ROWS, KEYS)))
        rows = self.by_row(scores)
        for row in range(2):
            place = places[(0, row, 0), 0, 0]
            end = length
            if self.causal:
                end = cutlass.min(end, first_query + place[0] + 1)
            end -= first_key + place[1]
            for column in range(cute.size(rows, mode=[1])):
                offset = column // 2 * 8 + column % 2
                rows[row, column] = cutlass.select_(offset < end, rows[row, column], -cutlass.Float32.inf)

    def weigh(self, scores, largest, total, correction, scale):
        """Turn scores into weights relative to the largest score so far, and keep account of them."""
        rows = self.by_row(scores)
        for row in range(2):
            values = rows[row, None].load()
            highest = values.reduce(cute.ReductionOp.MAX, largest[row], 0)
            highest = cute.arch.warp_reduction(highest, cute.arch.fmax, threads_in_group=QUAD)
            values = cute.math.exp2(values * scale - highest * scale, fastmath=True)
            correction[row] = cute.math.exp2((largest[row] - highest) * scale, fastmath=True)
            total[row] = values.reduce(cute.ReductionOp.ADD, total[row] * correction[row], 0)
            largest[row] = highest
            rows[row, None].store(values)

    def scale_rows(self, sums, factors):
        """Multiply each row of a product by its factor."""
        rows = self.by_row(sums)
        for row in range(2):
            rows[row, None].store(rows[row, None].load() * factors[row])

    @cute.jit
    def store(self, outputs, staged, tma, tile, group, thread):
        """Round the outputs, gather a consumer's in shared memory, and write them with TMA, clipped at the end."""
        rounded = cute.make_fragment_like(outputs, self.dtype)
        rounded.store(outputs.load().to(self.dtype))
        # Every warp is done with the queries that the outputs replace.
        cute.arch.barrier(barrier_id=STORE_BARRIER + group, number_of_threads=WARPGROUP)
        matrices = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), self.dtype)
        tiled_copy = cute.make_tiled_copy_C(matrices, self.output_mma())
        cute.copy(tiled_copy, tiled_copy.retile(rounded), tiled_copy.get_slice(thread).partition_D(staged))

        # Ordinary writes become visible to TMA by the fence, and those of all threads by the barrier.
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier(barrier_id=STORE_BARRIER + group, number_of_threads=WARPGROUP)
        if cute.arch.make_warp_uniform(thread // 32) == 0:
            source, target = self.partition(tma, staged, tile)
            cute.copy(tma, source, target)
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)


def attention(q, k, v, scale, causal):
    """The expected output, one head after the other: all scores at once may be too many."""
    import numpy as np

    out = np.empty(q.shape, "float32")
    for head in range(len(q)):
        scores = q[head].astype("float32") @ k[head].astype("float32").T * scale
        if causal:
            scores = np.where(np.tri(len(scores), dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(1)[:, None])
        rounded = weights.astype(v.dtype).astype("float32")  # as an operand has to be: where few keys count, it shows
        out[head] = rounded @ v[head].astype("float32") / weights.sum(1)[:, None]
    return out.astype(q.dtype)


def reference(q, k, v, out, scale):
    """The expected `out` of `Attention()`."""
    return attention(q, k, v, scale, causal=False)


def causal_reference(q, k, v, out, scale):
    """The expected `out` of `Attention(causal=True)`, for `--reference`."""
    return attention(q, k, v, scale, causal=True)


# cutecc: peers = ["torch_attention"]
def torch_attention(q, k, v, out, scale):
    """The same with PyTorch, which has several kernels for it; they return a new tensor."""
    import torch

    out.copy_(torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], scale=scale)[0])
