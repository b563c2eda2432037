"""What the two directions of a pipeline synchronise, as the `sync` dialect says it.

A pipeline has two edges. Along the full one, the consumers' reads wait for the producer's writes; along the empty one,
the producer's next writes wait for the consumers' reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cutecc.ir.mlir import ir

_PIPELINE = re.compile(
    r"!lir\.pipeline<(?P<stages>\d+), (?P<producer>\w+) -> (?P<consumer>\w+), "
    r"(?P<scope>cta|cluster)(?:<(?P<full>\w+), (?P<empty>\w+)>)?>"
)

_GENERIC = ("generic_synchronous", "cta")
_BULK = ("cp_async_bulk<SrcDstMem>", "cta")
_BULK_CLUSTER = ("cp_async_bulk<SrcDstMem>", "cluster")
_ACCESSES = {
    **dict.fromkeys(
        ("UNDEF", "SREG_CTAID", "LD_SHARED", "ST_SHARED", "LD_SHARED_MATRIX", "ST_SHARED_MATRIX"), _GENERIC
    ),
    "CP_ASYNC_G2S": ("cp_async", "cta"),
    **dict.fromkeys(
        ("SM90_TMA_LOAD", "SM90_TMA_STORE", "SM90_TMA_REDUCE", "SM90_TMA_LOAD_IM2COL", "SM90_TMA_STORE_IM2COL"), _BULK
    ),
    "SM100_TMA_LOAD_2SM_MULTICAST": _BULK_CLUSTER,
    "SM100_COPY_T2R": ("tcgen05<LD, 1>", "cta"),
    "SM100_COPY_R2T": ("tcgen05<ST, 1>", "cta"),
    "SM100_COPY_S2T": ("tcgen05<CP, 1>", "cta"),
}
_TENSOR_CORE = re.compile(r"SM10[07]_MMA_(?:SCALED_)?(?:SPARSE_)?(?P<group>[12])SM_(?:SS|TS)")


@dataclass(frozen=True)
class PipelineKind:
    """A `!lir.pipeline` type."""

    stages: int
    producer: str
    """The kind of operation that fills a stage."""
    consumer: str
    """The kind of operation that reads it."""
    cluster: bool
    """Whether its barriers are signalled by other blocks of the cluster."""
    full: str
    """Which blocks the producer signals: `all`, `cta_pair_leader`; empty for a pipeline within a block."""
    empty: str
    """Which blocks a consumer signals."""

    @classmethod
    def parse(cls, text: str) -> PipelineKind | None:
        """The pipeline whose type is `text`; `None` when its lowering is not known."""
        match = _PIPELINE.fullmatch(text)
        if not match or not _access(match["producer"]) or not _access(match["consumer"]):
            return None
        kind = cls(
            int(match["stages"]),
            match["producer"],
            match["consumer"],
            match["scope"] == "cluster",
            match["full"] or "",
            match["empty"] or "",
        )
        return kind if _known(kind) else None

    def edge(self, *, full: bool) -> str:
        """The text of one direction's attribute."""
        write, read = _access(self.producer), _access(self.consumer)
        assert write is not None and read is not None
        tensor = write[0].startswith("tcgen05") and read[0].startswith("tcgen05")
        sides = [
            f"[#sync.memory_access<{verb}, #sync.{kind}, <{'tensor' if tensor else f'shared_{place}'}>>]"
            for verb, (kind, place) in (("Write", write), ("Read", read))
        ]
        first, second = sides if full else reversed(sides)
        return (
            f"#sync.edge<{first} -> {second}, scope = #sync.scope<{'Cluster' if self.cluster else 'Cta'}>, "
            f"topology = #sync.signaling_topology<{self._topology(full=full)}>>"
        )

    def masked(self, *, full: bool) -> bool:
        """Whether an arrival along this edge says which blocks it signals."""
        return self._topology(full=full) == "RuntimeMask"

    def _topology(self, *, full: bool) -> str:
        target = self.full if full else self.empty
        if target == "all":
            return "RuntimeMask"
        # Bulk copies arrive where their data do.
        if target == "cta_pair_leader" and not (full and self.producer.find("TMA") >= 0):
            return "ConvergeCTAPairLeader"
        return "PerCta"


def distinct(edge: str) -> ir.Attribute:
    """The edge as an attribute of one pipeline's own, equal to no other's."""
    return ir.Attribute.parse(f"distinct[0]<{edge}>")


def _access(operation: str) -> tuple[str, str] | None:
    """How an operation of this kind accesses a stage, and what of shared memory it reaches."""
    if match := _TENSOR_CORE.fullmatch(operation):
        return f"tcgen05<MMA, {match['group']}>", "cta" if match["group"] == "1" else "cluster"
    return _ACCESSES.get(operation)


# The pipelines over a cluster whose lowering was observed; the ones within a block follow one rule.
_CLUSTER = {
    ("SM100_TMA_LOAD_2SM_MULTICAST", "SM100_MMA_2SM_SS", "cta_pair_leader", "all"),
    ("SM100_MMA_2SM_SS", "SM100_COPY_T2R", "all", "cta_pair_leader"),
}


def _known(kind: PipelineKind) -> bool:
    return not kind.cluster or (kind.producer, kind.consumer, kind.full, kind.empty) in _CLUSTER
