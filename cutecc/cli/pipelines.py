"""`cutecc pipelines`: the named pipelines in full."""

from __future__ import annotations

from typing import Any

import click

from cutecc.cli.compile_options import make_wheel_options
from cutecc.cli.options import backend_option, load_option, warn_of_plugins, wheel_options
from cutecc.passes.generation.choice import Backend
from cutecc.passes.named import NAMED, unknown_pipeline
from cutecc.support import isolation
from cutecc.target import Target


@click.command(epilog="Example: cutecc pipelines nvidia --target sm_90a > mine.pipeline")
@click.argument("name", required=False)
@click.option("--target", default="sm_90a", show_default=True, help="The target that the pipeline is for.")
@click.option("--lir", is_flag=True, help="The variant for the experimental API and the extension compiler.")
@click.option("--pyir", is_flag=True, help="The variant for modules that are traced through PyIR.")
@wheel_options
@backend_option
@load_option
def pipelines(name: str | None, target: str, lir: bool, pyir: bool, backend: Backend | None, **values: Any) -> None:
    """Print the named pipelines, or the one called NAME, one pass a line, as --pipeline reads them."""
    named, failures = (NAMED, ()) if name in NAMED else isolation.call("cutecc.passes.pipelines:pipelines_and_failures")
    warn_of_plugins(failures)
    if name and name not in named:
        raise unknown_pipeline(name, named)
    options = make_wheel_options(values)
    for each in [name] if name else named:
        passes: list[str] = isolation.call(
            "cutecc.passes.pipelines:pipeline_texts", each, Target.parse(target), options, lir, pyir, backend
        )
        click.echo(f"# {each}: {named[each]}; {len(passes)} passes for {target}")
        click.echo(",\n".join(passes))
