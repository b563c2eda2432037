"""An operation of memory or synchronisation on each line, and behind `#:` the instruction that it becomes."""

# cutecc: entry = "many_places"
# cutecc: target = "sm_90a"
# cutecc: args.x = "i32[256]"
# cutecc: args.f = "f32[256]"
# cutecc: args.y = "i32[256]"
# cutecc: args.rounds = "i32"

import cutlass
from cutlass import cute


@cute.kernel
def many_places_kernel(x: cute.Tensor, f: cute.Tensor, y: cute.Tensor, rounds: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(256))
    barriers = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 2)
    cell = x.iterator
    one = cutlass.Int32(1)
    cute.arch.mbarrier_init(barriers, 1)  #: mbarrier.init
    cute.arch.mbarrier_init_fence()  #: fence.mbarrier_init
    shared[thread] = y[thread]  #: st.shared
    cute.arch.sync_threads()  #: bar.sync
    cute.arch.mbarrier_arrive_and_expect_tx(barriers, 16)  #: mbarrier.arrive.expect_tx
    cute.arch.mbarrier_expect_tx(barriers, 32)  #: mbarrier.expect_tx
    cute.arch.mbarrier_arrive(barriers)  #: mbarrier.arrive
    cute.arch.mbarrier_wait(barriers, 0)  #: mbarrier.try_wait
    ready = cute.arch.mbarrier_try_wait(barriers, 1)  #: mbarrier.try_wait
    y[thread + 1] = cutlass.Int32(ready)  #: st.global
    cute.arch.fence_proxy("async.shared", space="cta")  #: fence.proxy.async
    cute.arch.fence_acq_rel_cta()  #: fence.acq_rel.cta
    cute.arch.fence_acq_rel_gpu()  #: fence.acq_rel.gpu
    cute.arch.fence_acq_rel_sys()  #: fence.acq_rel.sys
    cute.arch.atomic_add(cell, one)  #: atom
    added = cute.arch.atomic_add(cell, one, sem="acq_rel", scope="gpu")  #: atom
    cute.arch.atomic_max(cell + 1, added)  #: atom
    cute.arch.atomic_exch(cell + 2, added, sem="release", scope="gpu")  #: atom
    cute.arch.atomic_cas(cell + 3, cmp=one, val=added, sem="acquire", scope="gpu")  #: atom
    cute.arch.atomic_add(f.iterator, cutlass.Float32(1))  #: atom
    cute.arch.atomic_add(shared.iterator, one)  #: atom
    cute.arch.red(cell + 4, one, op="add", dtype="s32", sem="release", scope="gpu")  #: red
    cute.arch.cp_async_commit_group()  #: cp.async.commit_group
    cute.arch.cp_async_wait_group(0)  #: cp.async.wait_group
    cute.arch.cp_async_bulk_commit_group()  #: cp.async.bulk.commit_group
    cute.arch.cp_async_bulk_wait_group(0)  #: cp.async.bulk.wait_group
    cute.arch.cp_async_mbarrier_arrive_noinc(barriers)  #: cp.async.mbarrier
    other = cute.arch.shuffle_sync_bfly(added, offset=1)  #: shfl.sync
    voted = cute.arch.vote_ballot_sync(other > one)  #: vote.sync
    cute.arch.sync_warp()  #: bar.warp
    y[thread + 2] = voted  #: st.global
    cute.arch.griddepcontrol_wait()  #: griddepcontrol.wait
    cute.arch.cluster_arrive()  #: barrier.cluster.arrive
    cute.arch.cluster_wait()  #: barrier.cluster.wait
    cute.arch.barrier(barrier_id=1, number_of_threads=64)  #: bar
    cute.arch.setmaxregister_increase(64)  #: setmaxnreg
    seen = cute.arch.load(cell + 5, cutlass.Int32, sem="acquire", scope="gpu")  #: lost ld.acquire
    y[thread + 3] = seen  #: st.global
    cute.arch.store(cell + 6, seen, sem="release", scope="gpu")  #: lost st.release.gpu
    weak = cute.arch.load(cell + 7, cutlass.Int32)  #: lost ld.global
    cute.arch.store(cell + 8, weak)  #: lost st.global
    cute.arch.store(cell + 9, weak, sem="relaxed", scope="sys")  #: lost st.relaxed.sys
    fraction = cute.arch.load(f.iterator + 3, cutlass.Float32, cop="cg")  #: lost ld.global.cg
    f[thread] = fraction * 3.0  #: st.global
    inner = cute.arch.load(shared.iterator + 3, cutlass.Int32, sem="acquire", scope="cta")  #: lost ld.acquire.cta
    y[thread + 4] = inner  #: st.global
    cute.arch.store(shared.iterator + 4, inner, sem="release", scope="cta")  #: lost st.release.cta
    for i in cutlass.range(rounds):
        if thread == i:
            cute.arch.store(cell + 10 + i, i, sem="release", scope="gpu")  #: lost st.release.gpu
    got = cute.arch.load(cell + 11, cutlass.Int32, sem="acquire", scope="gpu")  #: lost ld.acquire.gpu
    while got < rounds:
        got = cute.arch.load(cell + 11, cutlass.Int32, sem="acquire", scope="gpu")  #: lost ld.acquire.gpu
    y[thread + 5] = got  #: st.global


@cute.jit
def many_places(x: cute.Tensor, f: cute.Tensor, y: cute.Tensor, rounds: cutlass.Int32):
    """Nothing that anybody runs."""
    many_places_kernel(x, f, y, rounds).launch(grid=[2, 1, 1], block=[128, 1, 1], cluster=[2, 1, 1])
