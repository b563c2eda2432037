"""`cutecc profile --timeline iket`: the profiler of the DSL's wheel, with marks that cutecc places."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.device import open_device
from cutecc.cli.files import is_record
from cutecc.errors import UsageError

if TYPE_CHECKING:
    from cutecc.compilation.request import CompileOptions

NAME = Path("iket")
"""What the user names in the place of a file."""


def record_by_iket(input_: str, values: dict[str, Any], options: CompileOptions | None) -> int:
    """Run the kernel under `run-iket`, which writes a folder beside; its exit status.

    `options` are how to compile, `None` for a record, which has to be compiled with marks already. Raises `UsageError`.
    """
    from cutecc.support.forks import TemporaryFolder
    from cutecc.watching.running import run

    if values["device"] == "cpu":
        raise UsageError("run-iket is for GPUs", hints=["--timeline FILE.pftrace --device cpu is of the emulator"])
    profiler = _profiler()
    with TemporaryFolder() as folder:
        bundle = input_ if is_record(input_) else str(Path(folder) / "marked.cutecc")
        name = Path(input_.partition(":")[0]).stem
        if options is not None:
            with open_device(values["device"]) as device:
                _compile(input_, values, options, device.compute_capability, bundle)
        output = Path(f"{name}-iket")
        if output.exists():
            raise UsageError(f"{output} is there already, and run-iket would need it")
        # What is compiled here has the specs of the command line in it.
        specs = values["args"] if options is None else ()
        status = run(_command(profiler, output, bundle, values, specs), os.environ)
    if status == 0:
        click.echo(f"{output}: what run-iket recorded")
    return status


def _compile(
    input_: str, values: dict[str, Any], options: CompileOptions, capability: tuple[int, int], bundle: str
) -> None:
    from cutecc.cli.loading import loader
    from cutecc.compilation.request import marking_timeline

    marked = marking_timeline(replace(options, report=False), values["sites"])
    loader(values, capability)(input_, entry=values["entry"], options=marked).kernel.save(bundle)


def _command(profiler: str, output: Path, bundle: str, values: dict[str, Any], specs: Sequence[str]) -> Sequence[str]:
    program = [sys.executable, "-m", "cutecc", "run", bundle, "--device", values["device"], "--quiet"]
    given = {"--arg": specs, "--size": values["sizes"], "--seed": [str(values["seed"])]}
    options = [part for option, each in given.items() for value in each for part in (option, value)]
    return [profiler, "--output-dir", str(output), "profile", "--", *program, *options]


def _profiler() -> str:
    beside = Path(sys.executable).with_name("run-iket")
    found = str(beside) if beside.is_file() else shutil.which("run-iket")
    if found is None:
        raise UsageError("run-iket is not installed here: it comes with nvidia-cutlass-dsl")
    return found
