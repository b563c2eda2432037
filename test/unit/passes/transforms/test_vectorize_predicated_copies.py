"""The rewritten copies do what the plain ones do: interpreted for random layouts, and in a kernel on the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attacks import attacks
from copy_interpreter import Interpreter
from hypothesis import given, settings
from hypothesis import strategies as st

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.emulator.options import EmulatorOptions
from cutecc.frontend.header import read_header
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.harness.arguments import make_arguments
from cutecc.harness.on_device import DeviceArguments, HostMemory, compare_outputs
from cutecc.ir.casters import plain_values
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import run_pipeline, walk
from cutecc.passes.pipeline import parse_pass
from cutecc.passes.pipelines import named_pipeline
from cutecc.record import Workload
from cutecc.support.isolation import Worker
from cutecc.target import Target

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[4] / "examples" / "elementwise_add.py"
PASS = "vectorize-predicated-copies"
PLACES = {"nvidia": "cute-remove-static-args", "open": "inline-static-arguments"}

MODULE = """
!global = !cute.memref<f32, gmem, align<16>, "(1,{shape}):(0,{global})">
!registers = !cute.memref<f32, rmem, align<32>, "(1,{shape}):(0,{registers})">
!predicates = !cute.memref<i8, rmem, align<32>, "(1,{shape}):(0,{predicates})">
!atom = !cute_nvgpu.atom.universal_copy<f32>
func.func @copy(%global: !global, %registers: !registers, %predicates: !predicates) {{
  %atom = cute.make_atom() : () -> !atom
  cute.copy(%atom, {operands}, %predicates) : (!atom, {types}, !predicates)
  return
}}
"""


def tuple_text(values: list[int]) -> str:
    return f"({','.join(map(str, values))})"


def compact(shape: list[int], order: list[int]) -> list[int]:
    """Strides without gaps, the modes in `order`."""
    strides, size = [0] * len(shape), 1
    for mode in order:
        strides[mode] = size
        size *= shape[mode]
    return strides


@st.composite
def copies(draw: st.DrawFn) -> tuple[str, bool, int, list[int]]:
    """A module, whether it loads, how many elements it copies, and their predicates."""
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=3))
    modes = st.permutations(range(len(shape)))
    count = int(np.prod(shape))
    strides = st.sampled_from([0, 1, 2, 4, 8, 12, 64])
    in_global = draw(
        st.one_of(
            st.lists(strides, min_size=len(shape), max_size=len(shape)),
            modes.map(lambda order: compact(shape, list(order))),
        )
    )
    in_registers = compact(shape, list(draw(modes)))
    is_load = draw(st.booleans())
    text = MODULE.format_map(
        {
            "shape": tuple_text(shape),
            "global": tuple_text(in_global),
            "registers": tuple_text(in_registers),
            "predicates": tuple_text(compact(shape, list(draw(modes)))),
            "operands": "%global, %registers" if is_load else "%registers, %global",
            "types": "!global, !registers" if is_load else "!registers, !global",
        }
    )
    bit = st.sampled_from([0, 1, 1, 1, 1, 7])
    predicates = draw(st.one_of(st.just([1] * count), st.lists(bit, min_size=count, max_size=count)))
    return text, is_load, count, predicates


def outcome(text: str, predicates: list[int], rewritten: bool) -> tuple[list[Any], list[Any], int]:
    """What is in global memory and in registers after a copy, and how many vectors were copied."""
    with fresh_context(), plain_values():
        module = parse(text.encode())
        if rewritten:
            run_pipeline(PASS, module)
            assert module.operation.verify()
        (function,) = walk(module, "func.func")
        memory, registers = [f"g{index}" for index in range(1200)], [f"r{index}" for index in range(600)]
        interpreter = Interpreter()
        interpreter.call(function, memory, registers, list(predicates), begins=(16, 8, 0))
        return memory, registers, interpreter.wide


@settings(max_examples=attacks(50), deadline=None)
@given(copies())
def test_a_rewritten_copy_leaves_the_same_in_memory(copy: tuple[str, bool, int, list[int]]) -> None:
    text, _, _, predicates = copy
    plain, rewritten = (outcome(text, predicates, each) for each in (False, True))
    assert rewritten[:2] == plain[:2]


@pytest.mark.parametrize(
    ("predicates", "vectors"),
    [([1] * 16, 4), ([1] * 15 + [0], 3), ([0] * 16, 0), ([1, 1, 1, 0] * 4, 0), ([0] * 4 + [2] * 12, 3)],
)
def test_vectors_are_taken_where_their_predicates_hold(predicates: list[int], vectors: int) -> None:
    rows = {"shape": "(4,4)", "global": "(1,32)", "registers": "(1,4)", "predicates": "(1,4)"}
    text = MODULE.format_map({**rows, "operands": "%global, %registers", "types": "!global, !registers"})
    assert outcome(text, predicates, rewritten=True)[2] == vectors


@pytest.fixture(scope="module")
def traced() -> Iterator[TracedModule]:
    """The element-wise add of the examples."""
    header = read_header(EXAMPLE)
    request = TraceRequest(str(EXAMPLE), None, header.entry, header.args, target="sm_90a", sources=header.arg_sources)
    worker = Worker()
    yield worker.call("cutecc.frontend.trace:trace_file", request)
    worker.close()


@pytest.mark.parametrize("backend", ["nvvm", "llvm"])
@pytest.mark.parametrize("name", PLACES)
def test_the_example_adds_at_every_edge(name: str, backend: Any, traced: TracedModule) -> None:
    pipeline = named_pipeline(name, Target.parse("sm_90a"))
    if PASS not in [pass_.name for pass_ in pipeline]:
        pipeline = pipeline.insert_after(PLACES[name], parse_pass(PASS))
    options = CompileOptions(artifacts=("ptx", "host-program"), backend=backend)
    kernel = cutecc.compile_module(
        traced.bytecode, target="sm_90a", signature=traced.signature, pipeline=pipeline, options=options
    )
    ptx = kernel.ptx
    assert ptx is not None and "ld.global.v4" in ptx and "st.global.v4" in ptx
    header = read_header(EXAMPLE)
    for sizes in ({"M": 1, "N": 4}, {"M": 15, "N": 132}, {"M": 34, "N": 252}, {"M": 32, "N": 256}):
        arguments = make_arguments(header.args, header.outputs, sizes=sizes)
        arguments.randomize(1)
        values = arguments.values()
        with HostMemory() as memory:
            on_cpu = DeviceArguments(arguments, memory)
            on_cpu.upload()
            kernel.emulate(**on_cpu.by_name, emulator=EmulatorOptions(seed=1))
            stray = on_cpu.download()
        (output,) = compare_outputs(arguments, [values["a"] + values["b"]], Workload(tolerance=0.0), stray)
        assert output.ok, f"{sizes}: {'; '.join(output.problems())}"
