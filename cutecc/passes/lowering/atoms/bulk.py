"""Atoms of Hopper that copy consecutive bytes asynchronously: bulk copies, and stores to blocks of the cluster."""

from __future__ import annotations

from cutecc.errors import Error
from cutecc.ir import llvm_types
from cutecc.ir.mlir import ir, llvm, nvvm
from cutecc.layout import Layout, coalesce
from cutecc.passes.lowering.atoms.registers import as_registers
from cutecc.passes.lowering.atoms.registry import copies
from cutecc.passes.lowering.atoms.uses import Copy
from cutecc.passes.lowering.values.integers import constant
from cutecc.passes.lowering.values.pointers import in_cluster, in_shared
from cutecc.passes.lowering.values.tensors import known_count
from cutecc.passes.lowering.values.vector_accesses import vector_of

_UNIT = 16
"""Bytes, that a bulk copy moves several of, from and to multiples of them. Their order stays, swizzled or not."""


@copies("bulk_copy_g2s", whole="always", state=(("tma_bar", "i32"), ("mcast_mask", "i16"), ("cache_policy", "i64")))
def load_bytes(copy: Copy) -> None:
    """`cp.async.bulk`: from global memory into shared memory, of several blocks perhaps; the barrier counts bytes."""
    many = bool(copy.atom.parameters.get("mcast"))
    nvvm.cp_async_bulk_shared_cluster_global(
        in_cluster(copy.destination.pointer),
        copy.source.pointer,
        in_shared(copy.fields["tma_bar"]),
        _bytes(copy),
        multicast_mask=copy.fields["mcast_mask"] if many else None,
    )


@copies(
    "bulk_copy_s2g",
    whole="always",
    takes=lambda atom: not atom.parameters.get("mask"),
    state=(("byte_mask", "i16"), ("cache_policy", "i64")),
)
def store_bytes(copy: Copy) -> None:
    """`cp.async.bulk`: from shared memory into global memory, in the thread's bulk group."""
    nvvm.cp_async_bulk_global_shared_cta(copy.destination.pointer, copy.source.pointer, _bytes(copy))


@copies("bulk_copy_s2s", whole="always", state=(("tma_bar", "i32"), ("cta_rank", "i32")))
def send_bytes(copy: Copy) -> None:
    """`cp.async.bulk`: into shared memory of another block of the cluster, whose barrier counts the bytes."""
    here = copy.destination.pointer
    there = nvvm.mapa(llvm_types.pointer(7), here, copy.fields["cta_rank"])
    # The barrier is where the kernel says: who wants the other block's has mapped it.
    barrier = in_shared(copy.fields["tma_bar"])
    nvvm.cp_async_bulk_shared_cluster_shared_cta(there, copy.source.pointer, barrier, _bytes(copy))


def _bytes(copy: Copy) -> ir.Value:
    """How many bytes it moves, an `i32`. Raises `Error` where they do not follow each other, or cannot be moved."""
    for tensor in (copy.source, copy.destination):
        first = tensor.layout if isinstance(tensor.layout, Layout) else None
        if first is None or coalesce(first).stride not in (0, 1):
            raise Error(f"a bulk copy moves bytes that follow each other, not a tensor of the layout {tensor.layout}")
    size = known_count(copy.source.layout.size) * copy.source.element.bits // 8
    if size % _UNIT:
        raise Error(f"a bulk copy moves a multiple of {_UNIT} bytes, not {size}")
    return constant(size, 32)


@copies("dsmem_store", state=(("mbar_ptr", "i32"),))
def store_in_cluster(copy: Copy) -> None:
    """`st.async`: registers into shared memory of a block of the cluster, whose barrier counts the bytes."""
    words = as_registers(copy.source, copy.count)
    value = words[0] if len(words) == 1 else vector_of(words)
    to = copy.destination.address(0)
    nvvm.store_async(to, value, llvm.inttoptr(llvm_types.pointer(7), copy.fields["mbar_ptr"]))
