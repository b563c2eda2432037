"""What becomes of the operations on pipelines.

A pipeline is an array of mbarriers in shared memory, the full ones of all stages first and then the empty ones. A state
counts stages and holds the phase that each side waits for: the producer's begins at 1, so that its first waits pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecc.errors import PassError
from cutecc.ir.mlir import arith, ir, nvvm
from cutecc.ir.structs import member
from cutecc.passes.nvidia.reimplementations.lir_builder import (
    BARRIER,
    PIPELINE,
    POINTER,
    STATE,
    barrier_at,
    chosen,
    compare,
    constant,
    create,
    integer,
    only_if,
    pack,
)
from cutecc.passes.nvidia.reimplementations.lir_edges import PipelineKind, distinct


class Pipelines:
    """The pipelines of one function, with each one's edges once they have been named."""

    def __init__(self, *, one_thread: bool) -> None:
        self._one_thread = one_thread
        self._edges: dict[tuple[Any, bool], ir.Attribute] = {}
        self._kinds: dict[Any, PipelineKind] = {}

    def arrival_count(self, operation: Any) -> list[Any]:
        """How often a barrier of one side is arrived at in a phase; one thread of a warp may do it for all."""
        kind = kind_of(operation.attributes["pipeline_type"])
        full = "producer" in str(operation.attributes["side"])
        count = operation.operands[0]
        if "elect_one_sync" in operation.attributes:
            count = arith.shrui(count, constant(5))
        edge = ir.Attribute.parse(kind.edge(full=full))
        return [create("sync.get_arrival_count", count, *list(operation.operands)[1:], result="i32", edge=edge)]

    def create_pipeline(self, operation: Any) -> list[Any]:
        """Allocate the barriers; the first threads initialise them."""
        kind = kind_of(operation.results[0].type)
        counts = operation.operands[0], operation.operands[1]
        mask = operation.operands[2] if len(operation.operands) > 2 else constant(1, 16)
        array = f"!cute.ptr<!llvm.array<{2 * kind.stages} x i64>, smem, align<8>>"
        memory = create("lir.static_alloc_smem", result=array, num=integer(32, 1))
        barriers = create("lir.ptrcast", memory, result=POINTER)
        pipeline = pack(PIPELINE, barriers, mask)
        self._kinds[pipeline] = kind
        stages = constant(kind.stages)
        thread = nvvm.read_ptx_sreg_tid_x(ir.IntegerType.get_signless(32))
        if self._one_thread:
            self._initialise_by_thread(kind, thread, barriers, counts, stages)
        else:
            self._initialise_by_warp(kind, thread, barriers, counts, stages)
        return [pipeline]

    @staticmethod
    def _initialise_by_thread(kind: PipelineKind, thread: Any, barriers: Any, counts: Any, stages: Any) -> None:
        with only_if(compare("eq", thread, constant(0))):
            for stage in range(kind.stages):
                _initialise(barriers, constant(stage), counts, stages)

    @staticmethod
    def _initialise_by_warp(kind: PipelineKind, thread: Any, barriers: Any, counts: Any, stages: Any) -> None:
        warp = arith.shrsi(thread, constant(5))
        warp = create("cute_nvgpu.arch.make_warp_uniform", warp, result="i32")
        first = compare("eq", warp, constant(0))
        lane = nvvm.read_ptx_sreg_laneid(ir.IntegerType.get_signless(32))
        with only_if(first), only_if(compare("ult", lane, constant(kind.stages))):
            _initialise(barriers, lane, counts, stages)

    @staticmethod
    def create_state(_: Any) -> list[Any]:
        zero, one = constant(0), constant(1)
        return [pack(STATE, one, zero, zero)]

    @staticmethod
    def create_state_at(operation: Any) -> list[Any]:
        _, index, phase = operation.operands
        return [pack(STATE, phase, phase, index)]

    @staticmethod
    def produce_phase(operation: Any) -> list[Any]:
        return [member(operation.operands[0], 0)]

    @staticmethod
    def consume_phase(operation: Any) -> list[Any]:
        return [member(operation.operands[0], 1)]

    def producer_acquire(self, operation: Any) -> list[Any]:
        self._wait(*operation.operands, full=False)
        return [operation.operands[1]]

    def consumer_wait(self, operation: Any) -> list[Any]:
        self._wait(*operation.operands, full=True)
        return [operation.operands[1]]

    def producer_try_acquire(self, operation: Any) -> list[Any]:
        return [self._wait(*operation.operands, full=False, name="sync.mbarrier_try_acquire", result="i1")]

    def consumer_try_wait(self, operation: Any) -> list[Any]:
        return [self._wait(*operation.operands, full=True, name="sync.mbarrier_try_acquire", result="i1")]

    def _wait(
        self,
        pipeline: Any,
        state: Any,
        *skip: Any,
        full: bool,
        name: str = "sync.mbarrier_acquire",
        result: str | None = None,
    ) -> Any:
        """Wait at the stage's barrier for the state's phase, except where `skip` is true."""
        phase = member(state, 1 if full else 0)
        barrier, _ = self._barrier(pipeline, state, full=full)
        return create(
            name,
            barrier,
            phase,
            *skip,
            result=result,
            hyper_edge=self._edge(pipeline, full=full),
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, len(skip), 0]),
        )

    def tail(self, operation: Any) -> list[Any]:
        """Wait until the consumers have released every stage."""
        pipeline, state = operation.operands

        def wait() -> Any:
            kind = self._kind(pipeline)
            stages, current = constant(kind.stages), state
            for stage in range(kind.stages):
                if stage:
                    current = _next(current, stages)
                self._wait(pipeline, current, full=False)
            return state

        return [_as_asked(operation, state, wait)]

    def produce_stage(self, operation: Any) -> list[Any]:
        return self._stage(operation, full=True)

    def consume_stage(self, operation: Any) -> list[Any]:
        return self._stage(operation, full=False)

    def _stage(self, operation: Any, *, full: bool) -> list[Any]:
        """The barrier that the side will arrive at, and the index of the stage."""
        pipeline, state = operation.operands
        member(state, 1 if full else 0)
        barrier, index = self._barrier(pipeline, state, full=full)
        return [create("lir.ptrcast", barrier, result=BARRIER), index]

    @staticmethod
    def get_mbarrier(operation: Any) -> list[Any]:
        return [operation.operands[0]]

    def producer_commit(self, operation: Any) -> list[Any]:
        return [self._arrive(operation, full=True)]

    def consumer_release(self, operation: Any) -> list[Any]:
        return [self._arrive(operation, full=False)]

    def _arrive(self, operation: Any, *, full: bool) -> Any:
        """Arrive at the barrier, as the leader of a pair of blocks or one thread of a warp alone where asked to."""
        pipeline, state = operation.operands

        def arrive() -> Any:
            member(state, 1 if full else 0)
            barrier, _ = self._barrier(pipeline, state, full=full)
            masked = self._kind(pipeline).masked(full=full)
            create(
                "sync.mbarrier_release",
                barrier,
                *([member(pipeline, 1)] if masked else []),
                hyper_edge=self._edge(pipeline, full=full),
                operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, int(masked), 0]),
            )
            return state

        return _as_asked(operation, state, arrive)

    def advance(self, operation: Any) -> list[Any]:
        """The next stage; past the last one, the first again and the other phase."""
        pipeline, state = operation.operands
        return [_next(state, constant(self._kind(pipeline).stages))]

    def fence(self) -> None:
        """Make the initialised barriers known, to the cluster where one of its blocks arrives at another's.

        The attributes mark where `lir-static-memory-allocation` allocates tensor memory.
        """
        unit = ir.UnitAttr.get()
        create("nvvm.fence.mbarrier.init", mbarrier_nvvm_barrier_start=unit)
        if any(kind.cluster for kind in self._kinds.values()):
            create("nvvm.cluster.arrive.relaxed", aligned=unit)
            create("nvvm.cluster.wait", aligned=unit, mbarrier_nvvm_barrier_end=unit)
        else:
            create("nvvm.barrier0", mbarrier_nvvm_barrier_end=unit)

    def _barrier(self, pipeline: Any, state: Any, *, full: bool) -> tuple[Any, Any]:
        """The barrier of the state's stage, and the stage's index."""
        index = member(state, 2)
        barriers = member(pipeline, 0)
        at = index if full else arith.addi(index, constant(self._kind(pipeline).stages))
        return barrier_at(barriers, at), index

    def _kind(self, pipeline: Any) -> PipelineKind:
        kind = self._kinds.get(pipeline)
        if kind is None:
            raise PassError("a pipeline that is used comes out of control flow, and not from where it is created")
        return kind

    def _edge(self, pipeline: Any, *, full: bool) -> ir.Attribute:
        key = pipeline, full
        if key not in self._edges:
            self._edges[key] = distinct(self._kind(pipeline).edge(full=full))
        return self._edges[key]


def kind_of(pipeline_type: Any) -> PipelineKind:
    """The pipeline that a type, or an attribute that holds one, means; only for one that can be lowered."""
    kind = PipelineKind.parse(str(pipeline_type))
    assert kind is not None, pipeline_type
    return kind


def _initialise(barriers: Any, stage: Any, counts: Any, stages: Any) -> None:
    nvvm.mbarrier_init(barrier_at(barriers, stage), counts[0])
    nvvm.mbarrier_init(barrier_at(barriers, arith.addi(stages, stage)), counts[1])


def _next(state: Any, stages: Any) -> Any:
    one = constant(1)
    produce, consume, index = (member(state, position) for position in range(3))
    index = arith.addi(index, one)

    def begin_again() -> list[Any]:
        first = arith.subi(index, stages)
        return [*(arith.xori(phase, one) for phase in (produce, consume)), first]

    wrapped = compare("ule", stages, index)
    return pack(STATE, *chosen(wrapped, begin_again, [produce, consume, index]))


def _as_asked(operation: Any, state: Any, body: Callable[[], Any]) -> Any:
    """`body`, where the operation says so by one thread of a warp, or in the leader of a pair of blocks, alone."""
    if "elect_one_sync" in operation.attributes:
        body = _guarded(state, body, nvvm.elect_sync)
    if "elect_leader_cta" in operation.attributes:
        body = _guarded(state, body, _leads)
    return body()


def _guarded(state: Any, body: Callable[[], Any], condition: Callable[[], Any]) -> Callable[[], Any]:
    """`body` where the condition holds; elsewhere the state as it is."""

    def guarded() -> Any:
        return chosen(condition(), lambda: [body()], [state])[0]

    return guarded


def _leads() -> Any:
    """Whether this block is the leader of its pair."""
    rank = nvvm.read_ptx_sreg_cluster_ctarank(ir.IntegerType.get_signless(32))
    return compare("eq", arith.andi(rank, constant(1)), constant(0))
