"""The sentences of findings: first what is wrong, then on a line of its own what mends it, as the DSL calls it."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Literal

from cutecc.emulator.checks.finding import Relation
from cutecc.emulator.instructions.operation import Operation

Did = Literal["read", "write", "atomic"]

_DOES: dict[Did, str] = {"read": "reads", "write": "writes", "atomic": "updates"}
_DONE: dict[Did, str] = {"read": "read", "write": "written", "atomic": "updated"}


def copy_name(operation: Operation) -> str:
    """What an asynchronous operation is called: `a bulk copy`."""
    form = operation.form
    match form.opcode:
        case "wgmma":
            return "a wgmma"
        case "tcgen05":
            return f"a tcgen05.{form.modifiers[0]}"
        case "clusterlaunchcontrol":
            return "a clusterlaunchcontrol.try_cancel"
        case "cp" if form.has("reduce"):
            return "a bulk reduction"
        case "cp" if form.has("tensor"):
            return "a tensor copy"
        case "cp" if form.has("bulk"):
            return "a bulk copy"
        case "cp":
            return "a cp.async"
        case _:
            return f"a {form.opcode}.async" if form.has("async") else f"a {form.opcode}"


def done(did: Did, by: Operation | None) -> str:
    """What was done at the other place: `written by a bulk copy`; `by` is `None` for a thread itself."""
    return _DONE[did] if by is None else f"{_DONE[did]} by {copy_name(by)}"


def race(space: str, does: Did, by: Operation | None, did: Did, others: Operation | None, near: Relation) -> str:
    """Two accesses that nothing orders."""
    subject = _DOES[does] if by is None else f"{copy_name(by)} {_DOES[does]}"
    other = "another thread has" if others is None else f"{copy_name(others)} has"
    if did == "read" and others is None and does != "read":
        what = f"{subject} {space} memory that another thread may still be reading"
    else:
        what = f"{subject} {space} memory that {other} {_DONE[did]}"
    return f"{what}: nothing orders the two\n{_order(by, did, others, near)}"


def own_copy(space: str, does: Did, by: Operation, did: Did) -> str:
    """A copy that is not over when the thread that started it goes on to the same memory."""
    return (
        f"{copy_name(by)} {_DOES[does]} {space} memory that the same thread has {_DONE[did]} since starting it: "
        f"nothing orders the two\nthe thread does not wait for the copy: {_wait(by, does)}"
        + ("" if _is_copy_of_threads(by) or by.form.has("bulk_group") else "; look at the parity that the wait takes")
    )


def update(space: str) -> str:
    """Threads that each read an element and write it back, as in `h[i] = h[i] + 1`."""
    return (
        f"reads {space} memory and writes it back, as another thread does: nothing orders the two\n"
        "several threads that update one element need cute.arch.atomic_add, or the like, or an element each"
    )


def _order(by: Operation | None, did: Did, others: Operation | None, near: Relation) -> str:
    """What orders an access behind an earlier one."""
    if others is not None:
        return _wait(others, did)
    if by is not None and not _is_copy_of_threads(by):
        return "the thread that starts it has to wait, at a barrier or an mbarrier, until the others are done"
    return _BETWEEN[near]


_BETWEEN: dict[Relation, str] = {
    "warp": "the two are threads of one warp: sync_warp() belongs between the two",
    "block": "the two are threads of one block: sync_threads() belongs between the two",
    "cluster": "the two are in blocks of one cluster: cluster_arrive() and cluster_wait() belong between the two",
    "grid": "nothing orders blocks of a launch but atomics with release and acquire; or give each memory of its own",
}


def told(message: str, why: str) -> str:
    """The message of a race of blocks that have told each other something, which does not order the two."""
    return f"{message.partition(chr(10))[0]}\n{why}"


def with_nearer(message: str, relations: Set[Relation]) -> str:
    """The message of a race with what orders those threads too that have more in common."""
    if message.endswith(_BETWEEN["grid"]) and relations & {"warp", "block"}:
        return f"{message}; threads of one block need sync_threads() between the two as well"
    return message


def _is_copy_of_threads(operation: Operation) -> bool:
    return operation.form.opcode == "cp" and not operation.form.has("bulk")


def _wait(operation: Operation, did: Did) -> str:
    """What waits for an asynchronous operation."""
    form = operation.form
    if form.opcode == "tcgen05":
        return tensor_wait(operation)
    if form.opcode == "wgmma":
        return "wait for it with warpgroup.wait_group, and tell other warps at a barrier or an mbarrier"
    if _is_copy_of_threads(operation):
        return "wait with cp_async_wait_group; then sync_threads(), where another thread has started the copy"
    if form.has("bulk_group"):
        end = "read=True will do" if did == "read" else "read=True is not enough"
        return f"wait with cp_async_bulk_wait_group, for which {end}; then sync_threads() where other threads go on"
    return "wait with mbarrier_wait for the phase of the mbarrier that the operation completes"


def late(by: Operation | None) -> str:
    """An access to the shared memory of a block that may be gone."""
    does = "accesses" if by is None else f"{copy_name(by)} may still access"
    end = "the blocks meet at the cluster's barrier before they exit" if by is None else _wait(by, "read")
    return f"{does} the shared memory of a block that exits without waiting for it\n{end}"


def tensor_wait(operation: Operation) -> str:
    """What waits for an operation on tensor memory."""
    match operation.form.modifiers[0]:
        case "ld":
            wait = "the warp that loads waits with cute.arch.fence_view_async_tmem_load"
        case "st":
            wait = "the warp that stores waits with cute.arch.fence_view_async_tmem_store"
        case _:
            return "wait with mbarrier_wait for an mbarrier that tcgen05.commit, behind the operation, arrives at"
    return f"{wait}, and tells other threads at a barrier or an mbarrier"


def tensor_race(does: Did, by: Operation, did: Did, other: Operation) -> str:
    """Two accesses to tensor memory that nothing orders; that of `by` came second."""
    subject = f"{copy_name(by)} {_DOES[does]}" if by.form.modifiers[0] != "dealloc" else "deallocates"
    may = "may still read" if did == "read" else "may still write"
    return f"{subject} tensor memory that {copy_name(other)} {may}: nothing orders the two\n{tensor_wait(other)}"


def tensor_fence(does: Did, by: Operation, did: Did, other: Operation, before: bool) -> str:
    """Two accesses to tensor memory, in order but for a fence; `before` where the first one is missing."""
    fence = "tcgen05.fence::before_thread_sync" if before else "tcgen05.fence::after_thread_sync"
    who = (
        "the threads that have waited for the first one execute it before they arrive"
        if before
        else "the thread that issues the second one executes it behind the wait"
    )
    return (
        f"{copy_name(by)} {_DOES[does]} tensor memory that {copy_name(other)} has {_DONE[did]}, and there is no "
        f"{fence} between the two\n{who}"
    )


def uninitialised_tensor(by: Operation) -> str:
    if by.form.modifiers[0] != "mma":
        return f"{copy_name(by)} reads tensor memory that nothing has written since it was allocated"
    return (
        "a tcgen05.mma reads tensor memory that nothing has written since it was allocated\n"
        "the first multiplication into an accumulator does not add: set tcgen05.Field.ACCUMULATE to False; A and scale "
        "factors in tensor memory have to be stored or copied there before"
    )


def swizzles(by: Operation, swizzle: tuple[int, int], copy: Operation, written: tuple[int, int]) -> str:
    """A matrix that is read with another swizzle than that with which it was written: bytes, those left together."""
    one, other = (
        f"a swizzle of {width} bytes{f' that leaves {atom} together' if atom != 16 else ''}" if width else "no swizzle"
        for width, atom in (swizzle, written)
    )
    return (
        f"{copy_name(by)} reads shared memory by a descriptor with {one}, where {copy_name(copy)} has written it with "
        f"{other}\nmake the descriptor and the copy's atom of one layout of shared memory"
    )


def no_scales(by: Operation, writer: Operation) -> str:
    """Scale factors are read where something else was written."""
    return (
        f"{copy_name(by)} reads scale factors from columns of tensor memory that {copy_name(writer)} has written as an "
        "accumulator\nscale factors have columns of their own, behind those of the accumulators: look at the offsets"
    )


def narrow_arrival(operation: Operation) -> str:
    """Why an arrival at another block's mbarrier does not order two accesses."""
    return (
        f"the arrival at {operation.where} is at another block's mbarrier, and tells its own block alone, by its scope "
        ".cta, of what came before: it takes the scope of the cluster, which is what it has without any"
    )


def pair_not_launched() -> str:
    return (
        "allocates tensor memory of a pair of blocks, and nothing says that the other block has been launched\n"
        "cluster_arrive() and cluster_wait() by all threads of both belong before the first allocation"
    )


def pair_still_allocates() -> str:
    return (
        "deallocates tensor memory of a pair of blocks, and nothing says that the other block has got it: it may still "
        "be at its tcgen05.alloc\ncluster_arrive() and cluster_wait() by all threads of both belong between the two"
    )


def mixed_groups(group: str, other: str) -> str:
    return (
        f"has .{group}, in a kernel with a tcgen05 instruction that has .{other}: what they do is undefined\n"
        "all tcgen05 instructions of a kernel have the same .cta_group, that of its products"
    )


def kept_columns(columns: int) -> str:
    return (
        f"allocates {columns} columns of tensor memory that its block still has when it exits: no other block gets "
        "them\none warp deallocates them, cute.arch.dealloc_tmem, once all that use them are done"
    )


_ALONE = "have one thread alone write it, or each a place of its own"


def same_line(space: str, near: Relation) -> str:
    """Threads of which several write one place by the same instruction, each by itself."""
    whose, turns = _AGAIN[near]
    return (
        f"writes {space} memory that {whose} writes here as well: nothing orders the two\n"
        f"{_ALONE}; where they take turns, {turns}"
    )


_AGAIN: dict[Relation, tuple[str, str]] = {
    "warp": ("another thread", "sync_warp() belongs between them"),
    "block": ("a thread of another warp", "sync_threads() belongs between them"),
    "cluster": ("another block of the cluster", "cluster_arrive() and cluster_wait() belong between them"),
    "grid": ("another block", "blocks need atomics with release and acquire"),
}


def one_instruction(space: str) -> str:
    """Threads of one warp that write one place together."""
    return f"two threads of one warp write different values to the same {space} memory in one instruction\n{_ALONE}"


def proxy(space: str, does: Did, by: Operation) -> str:
    arguments = '"async.shared", space="cta"' if space == "shared" else '"async"'
    return (
        f"{copy_name(by)} {_DOES[does]} {space} memory through the async proxy that was written through the generic "
        "proxy, without a fence.proxy.async between the two\n"
        f"the threads that wrote call fence_proxy({arguments}) before the barrier that orders the two"
    )


def again_at_barrier(number: int) -> str:
    """A thread that arrived at a barrier and comes there again."""
    return (
        f"comes to barrier {number} again, and nothing says that the phase which it arrived at before is over: both "
        "may count in one phase, in place of a warp that has not come\n"
        "what a thread arrives for and what it waits for, such as full and empty, need a barrier id each; or it waits "
        "for those who leave the phase before it comes again"
    )


def again_at(message: str) -> int | None:
    """The number of the barrier in a message of `again_at_barrier`; `None` for all others."""
    match = re.match(r"comes to barrier (\d+) again", message)
    return int(match[1]) if match else None


def descriptor(by: Operation) -> str:
    return (
        f"{copy_name(by)} uses a descriptor that was written through the generic proxy, without a "
        "fence.proxy.tensormap::generic.acquire between the two\n"
        "the thread that uses it calls cpasync.fence_tma_desc_acquire first"
    )


def uninitialised(space: str, by: Operation | None) -> str:
    subject = "reads" if by is None else f"{copy_name(by)} reads"
    return f"{subject} {space} memory that nothing has written"
