"""The names of the special registers (PTX ISA, "Special Registers")."""

from __future__ import annotations

_VECTORS = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")

SPECIAL_REGISTERS = frozenset(
    f"%{name}"
    for name in (
        *(f"{vector}.{component}" for vector in _VECTORS for component in "xyzw"),
        *("laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid"),
        *("is_explicit_cluster", "cluster_ctarank", "cluster_nctarank"),
        *(f"lanemask_{which}" for which in ("eq", "le", "lt", "ge", "gt")),
        *("clock", "clock_hi", "clock64"),
        *(f"pm{index}" for index in range(8)),
        *(f"pm{index}_64" for index in range(8)),
        *(f"envreg{index}" for index in range(32)),
        *("globaltimer", "globaltimer_lo", "globaltimer_hi"),
        *("reserved_smem_offset_begin", "reserved_smem_offset_end", "reserved_smem_offset_cap"),
        *("reserved_smem_offset_0", "reserved_smem_offset_1"),
        *("total_smem_size", "aggr_smem_size", "dynamic_smem_size", "current_graph_exec"),
    )
)
