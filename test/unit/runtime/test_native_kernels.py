"""The host programs of real kernels as machine code make the evaluator's launches, byte by byte."""

from __future__ import annotations

import random
import struct

import pytest
from conftest import TracedKernel
from native_driver_double import NativeDriver, descriptor

from cutecc.backend.host import translate
from cutecc.compilation.planning import uses_lir
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import manager
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.record.compilation import Parameter, Signature
from cutecc.record.host_program import HostProgram, Leaf
from cutecc.runtime.launch import Launch, TensorMap
from cutecc.runtime.native import builtin
from cutecc.runtime.parameters import call_parameters
from cutecc.runtime.program.evaluation import Evaluator

pytest.importorskip("llvmlite")

NAMES = [
    "elementwise_add",
    "hopper_gemm",
    "gemm",
    "gemm_sm80",
    "tma_copy",
    "tma_multicast",
    "tma_reduce",
    "many_tensors",
    "cluster_reduce",
    "cooperative_launch",
    "programmatic_launch",
    "scalar_args",
    "pointer_args",
    "control_flow",
    "persistent_tiles",
    "tcgen05_gemm",
]
"""One of each way in which host programs differ."""


class Recorder:
    """The events of `NativeDriver`."""

    def __init__(self) -> None:
        self.events: list[tuple] = []

    def launch(self, launch: Launch) -> int:
        parts = (launch.kernel.name, launch.grid, launch.block, launch.shared_bytes, launch.stream)
        self.events.append((*parts, launch.attributes, bytes(launch.parameters)))
        return 0

    def encode_tensor_map(self, tensor_map: TensorMap) -> bytes:
        self.events.append(("map", tensor_map))
        return descriptor(tensor_map.address, tensor_map.sizes)

    def print(self, text: str) -> None:
        raise AssertionError(text)


def translated(kernel: TracedKernel) -> HostProgram:
    with fresh_context():
        module = parse(kernel.module.read_bytes())
        pipeline = nvidia_pipeline(kernel.target, WheelOptions(), lir=uses_lir(module))
        manager.run(pipeline.until("core-to-llvm-prepare"), module)
        return translate(module)


def random_leaf(chance: random.Random, leaf: Leaf) -> int | float:
    match leaf.kind:
        case "pointer":
            return chance.getrandbits(43) << 4
        case "stream":
            return chance.getrandbits(40) + 1
        case "size":
            return chance.choice((1, 7, 64, 100, 128, 1000, 4096, chance.randrange(1, 50_000)))
        case "stride":
            return chance.randrange(1, 1 << 31)
        case "scalar" if leaf.type.startswith("i"):
            return chance.getrandbits(min(63, int(leaf.type[1:])))
        case "scalar":
            return struct.unpack("e", struct.pack("e", chance.uniform(-100, 100)))[0]


def spec_of(leaf: Leaf) -> str:
    """A number of a call that becomes such a leaf."""
    if leaf.type == "i1":
        return "bool"
    return "u" + leaf.type[1:] if leaf.type.startswith("i") else leaf.type


@pytest.mark.parametrize("name", NAMES)
def test_kernels_are_launched_as_the_evaluator_does(traced_kernels: dict[str, TracedKernel], name: str) -> None:
    program = translated(traced_kernels[name])
    driver = NativeDriver(program)
    slow: list[object] = []
    common = {"functions": driver.handles, "device": 0, "driver": driver.functions, "report": lambda *a: slow.append(a)}
    groups = call_parameters(
        Signature(name, [Parameter(f"p{n}", spec_of(leaf)) for n, leaf in enumerate(program.leaves)])
    )
    chance = random.Random(name)

    def arguments(leaves: list[int | float]) -> list[object]:
        return [bool(value) if leaf.type == "i1" else value for leaf, value in zip(program.leaves, leaves, strict=True)]

    first = [random_leaf(chance, leaf) for leaf in program.leaves]
    call = builtin.build(program, groups, arguments(first), **common, slow=lambda *a: slow.append(a))
    for index in range(12):
        leaves = [random_leaf(chance, leaf) for leaf in program.leaves]
        recorder = Recorder()
        Evaluator(program)(leaves, recorder)
        assert any(event[0] != "map" for event in recorder.events)
        driver.events.clear()
        call(*arguments(leaves))
        assert not slow
        assert driver.events == recorder.events
        if index == 0:
            driver.events.clear()
            builtin.build_prepared(program, leaves, **common, slow=lambda *a: slow.append(a))()
            assert driver.events == recorder.events
