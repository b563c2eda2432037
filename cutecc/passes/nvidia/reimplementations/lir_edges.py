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
    r"(?P<scope>cta|cluster)(?:<\w+, \w+>)?>"
)

_GENERIC = ("generic_synchronous", "cta")
_BULK = ("cp_async_bulk<SrcDstMem>", "cta")
# Other kinds of operation are not known here: `ST_ASYNC_S` keeps to rules of its own.
_ACCESSES = {
    **dict.fromkeys(
        ("UNDEF", "SREG_CTAID", "LD_SHARED", "ST_SHARED", "LD_SHARED_MATRIX", "ST_SHARED_MATRIX"), _GENERIC
    ),
    "CP_ASYNC_G2S": ("cp_async", "cta"),
    **dict.fromkeys(
        ("SM90_TMA_LOAD", "SM90_TMA_STORE", "SM90_TMA_REDUCE", "SM90_TMA_LOAD_IM2COL", "SM90_TMA_STORE_IM2COL"), _BULK
    ),
    **dict.fromkeys(
        ("SM90_TMA_LOAD_MULTICAST", "SM100_TMA_LOAD_2SM", "SM100_TMA_LOAD_2SM_MULTICAST"),
        ("cp_async_bulk<SrcDstMem>", "cluster"),
    ),
    "SM100_COPY_T2R": ("tcgen05<LD, 1>", "cta"),
    "SM100_COPY_R2T": ("tcgen05<ST, 1>", "cta"),
    "SM100_COPY_S2T": ("tcgen05<CP, 1>", "cta"),
    "SM100_COPY_S2T_2SM": ("tcgen05<CP, 2>", "cluster"),
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

    @classmethod
    def parse(cls, text: str) -> PipelineKind | None:
        """The pipeline whose type is `text`; `None` when its lowering is not known."""
        match = _PIPELINE.fullmatch(text)
        if not match or not _access(match["producer"]) or not _access(match["consumer"]):
            return None
        return cls(int(match["stages"]), match["producer"], match["consumer"], match["scope"] == "cluster")

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
        """Which blocks an arrival signals."""
        access = _access(self.producer if full else self.consumer)
        assert access is not None
        if not self.cluster or (full and access[0] == _BULK[0]):
            return "PerCta"  # bulk copies arrive where their data do
        return "RuntimeMask" if access[0].startswith(("tcgen05<MMA", "tcgen05<CP")) else "ConvergeCTAPairLeader"


def distinct(edge: str) -> ir.Attribute:
    """The edge as an attribute of one pipeline's own, equal to no other's."""
    return ir.Attribute.parse(f"distinct[0]<{edge}>")


def _access(operation: str) -> tuple[str, str] | None:
    """How an operation of this kind accesses a stage, and what of shared memory it reaches."""
    if match := _TENSOR_CORE.fullmatch(operation):
        return f"tcgen05<MMA, {match['group']}>", "cta" if match["group"] == "1" else "cluster"
    return _ACCESSES.get(operation)
