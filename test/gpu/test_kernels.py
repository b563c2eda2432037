"""Every kernel of the repository that this GPU runs, against its reference.

Several sizes with ragged edges, random inputs, poisoned outputs; the bytes around the outputs are checked too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernels import FILES, points, subject

from cutecc.errors import UsageError
from cutecc.frontend.companions import call_reference
from cutecc.harness.arguments import make_arguments
from cutecc.harness.on_device import DeviceArguments, compare_outputs
from cutecc.runtime.workspace import Workspace
from cutecc.support.isolation import Worker

SEEDS = (1, 2)


@pytest.fixture(scope="module")
def device(why_not: str | None) -> Iterator[Workspace]:
    if why_not is not None:
        pytest.skip(f"not run: {why_not}")
    with Workspace() as workspace:
        yield workspace


@pytest.fixture(scope="module")
def references() -> Iterator[Worker]:
    """A process that runs kernel files for their references, and has the DSL."""
    worker = Worker()
    yield worker
    worker.close()


CALL_REFERENCE = f"{call_reference.__module__}:{call_reference.__name__}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_agrees_with_its_reference(file: Path, device: Workspace, references: Worker) -> None:
    try:
        kernel = subject(file, device.compute_capability)
    except UsageError as error:
        if "this GPU is" in error.message:
            pytest.skip(error.message)
        raise
    for sizes in points(file):
        with device.scope():
            arguments = make_arguments(kernel.specs, kernel.workload.outputs, sizes=sizes)
            on_device = DeviceArguments(arguments, device)
            names = [tensor.name for tensor in arguments.outputs]
            for seed in SEEDS:
                arguments.randomize(seed)
                expected = None
                if kernel.reference:
                    expected = references.call(
                        CALL_REFERENCE, str(file), kernel.reference.name, arguments.values(), names
                    )
                on_device.upload()
                kernel.kernel(**on_device.by_name, stream=device.stream)
                device.synchronize()
                stray = on_device.download()
                if expected is None:
                    continue
                for output in compare_outputs(arguments, expected, kernel.workload, stray):
                    _record(file, arguments.sizes, seed, output.name, output.max_relative_error, output.tolerance)
                    assert output.ok, f"{arguments.sizes}, seed {seed}: {'; '.join(output.problems())}"


def _record(file: Path, sizes: dict[str, int], seed: int, output: str, error: float, tolerance: float) -> None:
    """Add a line to the file that `GPU_RESULTS` names, from which `tools/gpu_table.py` makes a table."""
    if path := os.environ.get("GPU_RESULTS"):
        with open(path, "a", encoding="utf-8") as results:
            row = [file.stem, sizes, seed, output, error, tolerance]
            results.write(json.dumps(row) + "\n")
