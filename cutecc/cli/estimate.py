"""`cutecc estimate`: a thin wrapper over the model of a device."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cutecc.cli.files import check_output, is_record
from cutecc.cli.options import apply_all, compiler_options, given_compile_options, subject_options
from cutecc.errors import UsageError
from cutecc.support.output_file import write_output

_EPILOG = """\b
Examples:
  cutecc estimate examples/gemm.py --size M=N=K=4096 --device h200
  cutecc estimate gemm.cutecc --size M=N=K=4096,8192 --json estimate.json

Needs no GPU. A few blocks are emulated at these sizes, which takes seconds, and timed by constants that were measured
on the device: docs/model.md.
"""
_device_option = apply_all(
    click.option("--device", default="h200", show_default=True, metavar="NAME", help="The GPU: h100 or h200."),
)


@click.command(epilog=_EPILOG)
@subject_options
@_device_option
@compiler_options
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write everything here.")
@click.pass_context
def estimate(context: click.Context, input_: str, **values: Any) -> None:
    """Estimate a kernel's time on a GPU that need not be here, and say what it is bound by.

    Loops and addresses that depend on data, and what was not measured, are refused; branches that do are named.
    """
    from cutecc.cli.console import Console
    from cutecc.cli.estimate_text import show
    from cutecc.cli.loading import loader
    from cutecc.cli.sizes import at_sizes, settle
    from cutecc.cli.subject import check_input
    from cutecc.compilation.request import CompileOptions
    from cutecc.estimating.estimate import capability_of
    from cutecc.estimating.estimate import estimate as estimate_kernel
    from cutecc.frontend.files import errors_as_given
    from cutecc.frontend.kernel_file import split_path
    from cutecc.harness.sizes import parse_sizes

    check_input(input_)
    check_output(values["json_file"])
    capability = capability_of(values["device"])
    points = parse_sizes(values["sizes"])
    options = given_compile_options(context, values)
    if not is_record(input_):
        _check_target(input_, values["target"], capability)
        # It has to be known what registers the kernel takes, and which lines its instructions are of.
        options = replace(options or CompileOptions(), observe=True, line_info=True)
    load = loader(values, capability)
    subject, points = settle(load(input_, entry=values["entry"], options=options), points)
    console = Console()
    found: list[dict[str, Any]] = []
    for number, sizes in enumerate(points):
        with at_sizes(sizes, is_sweep=len(points) > 1), errors_as_given(split_path(input_)[0]):
            estimated = estimate_kernel(subject.kernel, sizes, device=values["device"], specs=subject.specs)
        if number:
            console.say("")
        show(estimated, console)
        found.append(estimated.to_dict())
    if values["json_file"]:
        text = json.dumps(found, indent=2) + "\n"
        write_output(values["json_file"], lambda file: file.write(text.encode()))


def _check_target(input_: str, target: str | None, capability: tuple[int, int]) -> None:
    """Raise `UsageError` for a file that is compiled for newer GPUs than those of which constants are measured."""
    from cutecc.frontend.header import read_header
    from cutecc.frontend.kernel_file import split_path
    from cutecc.target import Target, parse_targets

    path, _ = split_path(input_)
    named = target or (read_header(path).target if path.endswith(".py") else None)
    if not named or "native" in named:
        return
    targets: list[Target] = parse_targets(named)
    if all((each.major, each.minor) > capability for each in targets):
        raise UsageError(
            f"{targets[0].name}: no constants are measured of GPUs that run it",
            hints=["tools/bench_model.py measures them on such a GPU, and writes the table that is missing"],
        )
