"""The blocks that stand for all of a launch: what of a grid is known, and which branches others may take."""

from __future__ import annotations

import pytest
from analysed_text import messages_of

from cutecc.ir.casters import plain_values
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.analysis.coalescing import CheckCoalescing
from cutecc.passes.analysis.operations import SEMANTICS
from cutecc.passes.analysis.program import KernelProgram
from cutecc.passes.analysis.requests import kernels_of, requests_of
from cutecc.passes.analysis.sample import Sample

MODULE = """
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    cuda.kernel @kernel(%x: !llvm.ptr<1>) attributes {{nvvm.reqntid = array<i32: 32, 1, 1>}} {{
      %c0 = arith.constant 0 : i32
      %v = arith.constant 1.0 : f32
      %thread = nvvm.read.ptx.sreg.tid.x : i32
      {body}
      return
    }}
  }}
  func.func @host(%x: !llvm.ptr<1>, %n: i32) {{
    %shared = arith.constant 0 : i64
    %stream = cuda.cast %shared : i64 -> !cuda.stream
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %c5 = arith.constant 5 : i32
    {launches}
    return
  }}
}}
"""
SCALED = """
      %blocks = nvvm.read.ptx.sreg.nctaid.{axis} : i32
      %at = arith.muli %thread, %blocks : i32
      %address = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %v, %address {{alignment = 4 : i64}} : f32, !llvm.ptr<1>
"""
BRANCH = """
      %block = nvvm.read.ptx.sreg.ctaid.x : i32
      %is_chosen = arith.cmpi {predicate}, %block, %c0 : i32
      scf.if %is_chosen {{
        %address = llvm.getelementptr %x[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2xf32>
        llvm.store %v, %address {{alignment = 4 : i64}} : f32, !llvm.ptr<1>
      }}
"""
APART = "a store of 32 bits a thread takes 8 sectors a request, 4 would do: threads are 8 bytes apart"
UNKNOWN = "the addresses of 0 of 1 accesses of global memory are known"


def launch(number: int, grid: str) -> str:
    return f"""
    %configuration{number} = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c1, %c1, %c1),
      dynamicSmemBytes = %shared, gridDim = ({grid}), stream = %stream)
      : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    %result{number} = cuda.launch_ex @kernels::@kernel<%configuration{number}> (%x)
      {{assume_kernel_attr = #cuda.assume_kernel_attr<true>}}
      : !cuda.launch_cfg<max_attrs = 17>, (!llvm.ptr<1>) -> !cuda.result
    """


def module_of(body: str, *grids: str) -> str:
    return MODULE.format(body=body, launches="".join(launch(*each) for each in enumerate(grids)))


@pytest.mark.parametrize(
    ("grids", "axis", "apart"),
    [
        (["%c5, %c1, %c1"], "x", 20),
        (["%c5, %c1, %c1", "%c5, %c3, %c1"], "x", 20),
        (["%c5, %c1, %c1", "%c5, %c3, %c1"], "y", None),
        (["%c5, %c1, %c1", "%c3, %c1, %c1"], "x", None),
        (["%c1, %n, %c1"], "y", None),
        (["%c1, %c3, %c1", "%c1, %n, %c1"], "y", None),
        ([], "x", None),
    ],
)
def test_the_size_of_a_grid_is_known_where_all_launches_agree(grids: list[str], axis: str, apart: int | None) -> None:
    (said,) = messages_of(CheckCoalescing(), module_of(SCALED.format(axis=axis), *grids))
    # 64 blocks stand for what differs.
    ending = f"{apart} bytes apart" if apart else f"256 bytes apart, with the grid's blocks along {axis} = 64"
    assert said.endswith(f"threads are {ending}")


@pytest.mark.parametrize(
    ("predicate", "blocks", "said"),
    [
        # The first block is not among those that are looked at, and may be the one that stores.
        ("eq", "%n", [APART]),
        ("eq", "%c5", [APART]),
        ("ne", "%n", [APART]),
        # Where there is one block, none has another index.
        ("eq", "%c1", [APART]),
        ("ne", "%c1", [UNKNOWN]),
    ],
)
def test_branches_that_other_blocks_may_take_are_looked_at(predicate: str, blocks: str, said: list[str]) -> None:
    module = module_of(BRANCH.format(predicate=predicate), f"{blocks}, %c1, %c1")
    assert messages_of(CheckCoalescing(), module) == said


@pytest.mark.parametrize(("block", "requests"), [(0, 1), (1, None)])
def test_of_a_launch_that_is_known_a_block_does_what_it_does(block: int, requests: int | None) -> None:
    with fresh_context(), plain_values():
        module = parse(module_of(BRANCH.format(predicate="eq")).encode())
        (kernel,) = kernels_of(module.operation)
        sample = Sample((32, 1, 1), (4, 1, 1), [(block, 0, 0)], parameters={(0,): 0})
        (access,) = requests_of(KernelProgram(kernel, SEMANTICS), sample).accesses
        found = access.spaces.get("global")
    assert (found and found.requests) == requests
