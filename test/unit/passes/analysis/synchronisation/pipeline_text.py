"""A pipeline as MLIR's text, of which each number can be another one: a warp fills stages, others read them."""

from __future__ import annotations

from dataclasses import dataclass

BYTES = 512
"""That the two copies of a step bring together."""


@dataclass(frozen=True)
class Pipeline:
    """A block of a producer's warp and `consumers` others; `steps` is a number, or `%n`, an argument's."""

    consumers: int = 2
    stages: int = 2
    steps: str = "6"
    announced: int = BYTES
    copies: tuple[int, ...] = (256, 256)
    full_count: int = 1
    empty_count: int | None = None
    """As many as consumers, where it is `None`."""
    full_parity: int = 0
    empty_parity: int = 1
    elects: bool = True
    """Whether one thread of a consumer arrives, or all do."""
    fence: str = "nvvm.fence.mbarrier.init"
    sync: str = "nvvm.barrier"
    releasing: int | None = None
    """Consumers that arrive; all where it is `None`."""

    def text(self) -> str:
        """The module."""
        threads = 32 * (1 + self.consumers)
        empty = self.consumers if self.empty_count is None else self.empty_count
        inits = "".join(
            f"""
      %f{stage} = llvm.getelementptr %bars[{stage}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.init %f{stage}, %full_count : !llvm.ptr<3>, i32
      %e{stage} = llvm.getelementptr %bars[{self.stages + stage}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.init %e{stage}, %empty_count : !llvm.ptr<3>, i32"""
            for stage in range(self.stages)
        )
        copies = "".join(
            f"""
          %size{i} = arith.constant {size} : i32
          nvvm.cp.async.bulk.shared.cluster.global %tile, %x, %full, %size{i} : !llvm.ptr<3>, !llvm.ptr<1>"""
            for i, size in enumerate(self.copies)
        )
        steps = "%n" if self.steps == "%n" else "%steps"
        constant = 0 if self.steps == "%n" else int(self.steps)
        return f"""
gpu.module @kernels {{
  llvm.mlir.global external @shared() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<0 x i8>
  cuda.kernel @kernel(%x: !llvm.ptr<1>, %n: i32) attributes {{nvvm.reqntid = array<i32: {threads}, 1, 1>}} {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %stages = arith.constant {self.stages} : i32
    %steps = arith.constant {constant} : i32
    %ticks = arith.constant 10000000 : i32
    %full_count = arith.constant {self.full_count} : i32
    %empty_count = arith.constant {empty} : i32
    %announced = arith.constant {self.announced} : i32
    %first_full = arith.constant {self.full_parity} : i32
    %first_empty = arith.constant {self.empty_parity} : i32
    %releasing = arith.constant {self.consumers if self.releasing is None else self.releasing} : i32
    %bars = llvm.mlir.addressof @shared : !llvm.ptr<3>
    %tile = llvm.getelementptr %bars[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divsi %thread, %c32 : i32
    %lane = arith.remsi %thread, %c32 : i32
    %is_first = arith.cmpi eq, %thread, %c0 : i32
    scf.if %is_first {{{inits}
      {self.fence}
    }}
    {self.sync}
    %is_producer = arith.cmpi eq, %warp, %c0 : i32
    scf.if %is_producer {{
      %p:2 = scf.for %step = %c0 to {steps} step %c1
          iter_args(%stage = %c0, %parity = %first_empty) -> (i32, i32) : i32 {{
        %number = arith.addi %stage, %stages : i32
        %empty = llvm.getelementptr %bars[%number] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        nvvm.mbarrier.try_wait.parity %empty, %parity, %ticks : !llvm.ptr<3>, i32, i32
        %full = llvm.getelementptr %bars[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %elected = nvvm.elect.sync -> i1
        scf.if %elected {{
          %token = nvvm.mbarrier.arrive.expect_tx %full, %announced : !llvm.ptr<3>, i32 -> i64{copies}
        }}
{_ADVANCE}
      }}
    }} else {{
      %c:2 = scf.for %step = %c0 to {steps} step %c1
          iter_args(%stage = %c0, %parity = %first_full) -> (i32, i32) : i32 {{
        %full = llvm.getelementptr %bars[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        nvvm.mbarrier.try_wait.parity %full, %parity, %ticks : !llvm.ptr<3>, i32, i32
        %number = arith.addi %stage, %stages : i32
        %empty = llvm.getelementptr %bars[%number] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %is_lane = arith.cmpi {"eq" if self.elects else "sge"}, %lane, %c0 : i32
        %is_one = arith.cmpi sle, %warp, %releasing : i32
        %arrives = arith.andi %is_lane, %is_one : i1
        scf.if %arrives {{
          %token = nvvm.mbarrier.arrive %empty, %c1 : !llvm.ptr<3> -> i64
        }}
{_ADVANCE}
      }}
    }}
    return
  }}
}}
"""


_ADVANCE = """
        %next = arith.addi %stage, %c1 : i32
        %wraps = arith.cmpi eq, %next, %stages : i32
        %then = arith.select %wraps, %c0, %next : i32
        %flip = arith.extui %wraps : i1 to i32
        %turned = arith.xori %parity, %flip : i32
        scf.yield %then, %turned : i32, i32"""
