"""Host programs ask of CUDA what the stock compiler's host functions ask, executed as machine code."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from conftest import KERNEL_NAMES, TracedKernels
from stock_host import PREPARED, descriptor

from cutecc.backend.host import translate
from cutecc.compilation.planning import uses_lir
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import manager
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.record.host_program import HostProgram, Leaf
from cutecc.runtime.launch import Launch, TensorMap
from cutecc.runtime.program.evaluation import Evaluator, StatusError
from cutecc.runtime.program.verification import verify

pytestmark = pytest.mark.slow

RUNS = 6
"""Random inputs for each host function."""


@dataclass
class Recording:
    """A host that keeps what it is asked for."""

    statuses: list[int] = field(default_factory=list[int])
    launches: list[Launch] = field(default_factory=list[Launch])
    tensor_maps: list[TensorMap] = field(default_factory=list[TensorMap])
    text: str = ""

    def launch(self, launch: Launch) -> int:
        self.launches.append(launch)
        number = len(self.launches) - 1
        return self.statuses[number] if number < len(self.statuses) else 0

    def encode_tensor_map(self, tensor_map: TensorMap) -> bytes:
        self.tensor_maps.append(tensor_map)
        return descriptor(*fields_of(tensor_map))

    def print(self, text: str) -> None:
        self.text += text


def fields_of(made: TensorMap) -> list[Any]:
    arrays = [list(each) for each in (made.sizes, made.strides, made.box, made.element_strides)]
    return [made.data_type, made.address, *arrays, made.interleave, made.swizzle, made.l2_promotion, made.fill]


def prepared(bytecode: bytes, target: str, *, traced: bool = True) -> HostProgram:
    with fresh_context():
        module = parse(bytecode)
        if traced:
            manager.run(nvidia_pipeline(target, WheelOptions(), lir=uses_lir(module)).until(PREPARED), module)
        return translate(module)


_SIZES = (1, 2, 7, 64, 100, 128, 1000, 4096, 100_003)


def random_leaf(random: random.Random, leaf: Leaf) -> int | float:
    """Ragged, tiny and large sizes; strides and pointers of any kind."""
    match leaf.kind:
        case "pointer" | "stream":
            return random.getrandbits(48) & ~127
        case "size":
            return random.choice((*_SIZES, random.randrange(1, 50_000)))
        case "stride":
            return random.choice((*_SIZES, random.randrange(1, 2**34))) % 2 ** int(leaf.type[1:])
        case "scalar" if leaf.type in ("f16", "f32", "f64"):
            return struct.unpack("e", struct.pack("e", random.uniform(-100, 100)))[0]
        case "scalar":
            return random.getrandbits(int(leaf.type[1:])) or 1


def random_runs(program: HostProgram) -> list[dict[str, Any]]:
    """Inputs; in the last the first launch fails, in the one before that the second."""
    generator = random.Random(program.function)
    runs: list[dict[str, Any]] = [
        {"leaves": [random_leaf(generator, leaf) for leaf in program.leaves], "statuses": []} for _ in range(RUNS)
    ]
    runs[-1]["statuses"] = [719]
    runs[-2]["statuses"] = [0, 719]
    return runs


def agrees(program: HostProgram, run: dict[str, Any], stock: dict[str, Any]) -> None:
    """Our evaluation of `program` does what the stock function did."""
    verify(program)
    host = Recording(run["statuses"])
    status = 0
    try:
        Evaluator(program)(run["leaves"], host)
    except StatusError as failure:
        status = failure.status
    assert (status, host.text, len(host.launches)) == (stock["status"], stock["printed"], len(stock["launches"]))
    assert [fields_of(each) for each in host.tensor_maps] == stock["tensor_maps"]
    for ours, theirs in zip(host.launches, stock["launches"], strict=True):
        assert ours.kernel.name == theirs["kernel"]
        assert list(ours.grid) == theirs["grid"]
        assert list(ours.block) == theirs["block"]
        assert ours.shared_bytes == theirs["shared_bytes"]
        assert ours.stream == theirs["stream"]
        assert {name: list(values) for name, values in ours.attributes.items()} == theirs["attributes"]
        assert parameter_bytes(ours, theirs, whole=bool(host.tensor_maps)) == theirs["parameters"]


def parameter_bytes(ours: Launch, theirs: dict[str, Any], *, whole: bool) -> list[Any]:
    """What we pass where the stock function passes a number."""
    found: list[Any] = []
    for parameter, numbers in zip(ours.kernel.parameters, theirs["parameters"], strict=True):
        # Of a descriptor that is computed inline, nobody writes words 8 to 15.
        inline = len(numbers) == 16 and parameter.size == 128 and not whole
        found.append(
            [
                number
                if inline and index >= 8
                else [number[0], _slice(ours, parameter.offset + number[0], len(number[1]) // 2)]
                for index, number in enumerate(numbers)
            ]
        )
    return found


def _slice(launch: Launch, start: int, size: int) -> str:
    return launch.parameters[start : start + size].hex()


Stock = Callable[[list[dict[str, Any]]], list[list[dict[str, Any]]]]


def run_stock(jobs: list[dict[str, Any]], folder: Path) -> list[list[dict[str, Any]]]:
    """The stock function's results, by job and run."""
    (folder / "jobs.json").write_text(json.dumps(jobs))
    script = Path(__file__).with_name("stock_host.py")
    command = [sys.executable, script, folder / "jobs.json", folder / "results.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    lines = (folder / "results.json").read_text().splitlines()
    assert done.returncode == 0, f"after {len(lines)} runs:\n{done.stderr}"
    results = iter(lines)
    return [[json.loads(next(results)) for _ in job["runs"]] for job in jobs]


@dataclass
class Case:
    program: HostProgram
    runs: list[dict[str, Any]]
    results: list[dict[str, Any]]


@pytest.fixture(scope="module")
def cases(traced_kernels: TracedKernels, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """Every kernel's host program, and what the stock function did with the same inputs, all in one process."""
    programs = {name: prepared(kernel.bytecode, kernel.target) for name, kernel in traced_kernels.items()}
    jobs = [
        {
            "module": str(traced_kernels[name].module),
            "target": traced_kernels[name].target,
            "traced": True,
            "runs": random_runs(program),
        }
        for name, program in programs.items()
    ]
    results = run_stock(jobs, tmp_path_factory.mktemp("stock"))
    return {
        name: Case(program, job["runs"], result)
        for (name, program), job, result in zip(programs.items(), jobs, results, strict=True)
    }


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_the_program_asks_for_what_the_stock_function_asks(cases: dict[str, Case], name: str):
    case = cases[name]
    for run, stock in zip(case.runs, case.results, strict=True):
        agrees(case.program, run, stock)
    assert any(result["launches"] for result in case.results)
