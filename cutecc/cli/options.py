"""Options that several subcommands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from cutecc.config import Settings
from cutecc.errors import Error, UsageError
from cutecc.passes.generation.choice import PASSES
from cutecc.support.distributions import needed_by
from cutecc.support.harmless import message_text, one_line

if TYPE_CHECKING:
    from cutecc.compilation.request import CompileOptions

Function = TypeVar("Function", bound=Callable[..., Any])


def apply_all(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """One decorator of several."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


LOADED = "cutecc.load"
"""Where a context keeps the files of `--load`."""


def _load(context: click.Context, parameter: click.Parameter, files: tuple[Path, ...]) -> None:
    """Have this process and its workers know the passes in `files`."""
    for file in files:
        if not file.is_file():
            raise UsageError(f"--load: there is no file {file}")
    context.meta[LOADED] = files
    known = Settings.from_environment().load
    os.environ["CUTECC_LOAD"] = os.pathsep.join(str(file.resolve()) for file in (*known, *files))


load_option = click.option(
    "--load",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE.py",
    callback=_load,
    expose_value=False,
    help="Know the passes and pipelines that this Python file registers.",
)


def warn_of_plugins(failures: Iterable[Error]) -> None:
    """Say on standard error which installed plugins cannot be used."""
    for failure in failures:
        place = f"{one_line(str(failure.location))}: " if failure.location else ""
        click.echo(f"{place}warning: {message_text(failure.message)}", err=True)


change_options = apply_all(
    click.option("--insert-after", multiple=True, metavar="PASS=NEW", help="Run NEW after PASS (cse#2: the second)."),
    click.option("--insert-before", multiple=True, metavar="PASS=NEW", help="Run NEW before PASS."),
    click.option("--replace", multiple=True, metavar="PASS=NEW", help="Run NEW in the place of PASS."),
    click.option("--without", multiple=True, metavar="PASS", help="Leave PASS out."),
)


stop_after_option = click.option("--stop-after", metavar="PASS", help="Stop after PASS.")
ptxas_option = click.option(
    "--ptxas", type=click.Path(path_type=Path), help="Assemble with this ptxas instead of the wheel's own."
)


def refuse_empty(context: click.Context, parameter: click.Parameter, choice: str | None) -> str | None:
    """What an option says that names pipelines. Raises `UsageError` for nothing, as of a variable that is not set."""
    if choice is not None and not choice.strip():
        name = parameter.opts[0]
        hints = [f"name a pipeline, or leave out {name}; cutecc pipelines lists them"]
        raise UsageError(f"{name} is empty", hints=hints)
    return choice


edit_options = apply_all(
    click.option(
        "--pipeline",
        metavar="NAME|TEXT|FILE",
        callback=refuse_empty,
        help="A named pipeline, its text, or a file that holds it.",
    ),
    change_options,
)

pipeline_options = apply_all(
    edit_options,
    click.option("--start-after", metavar="PASS", help="The input is a dump made after PASS: run the rest."),
    stop_after_option,
)

wheel_options = apply_all(
    click.option(
        "--opt-level", type=click.IntRange(0, 3), default=3, show_default=True, help="For libNVVM or LLVM, and ptxas."
    ),
    click.option(
        "--line-info",
        "--preserve-line-info",
        "--generate-line-info",
        "preserve_line_info",
        is_flag=True,
        help="Keep the source lines in PTX, cubin and SASS.",
    ),
    click.option("--enable-assertions", is_flag=True, help="Keep device asserts."),
    click.option("--fast-math", is_flag=True, help="Let libNVVM or LLVM approximate, and flush denormals."),
    click.option("--ptxas-options", metavar="TEXT", default="", help="Options for the assembler."),
    click.option("--nvvm-options", metavar="TEXT", default="", help="Options for libNVVM."),
    click.option("--link-libraries", metavar="FILES", default="", help="Bitcode libraries to link, comma-separated."),
)

backend_option = click.option(
    "--backend",
    type=click.Choice(sorted(PASSES)),
    help="Generate code with LLVM, or the wheel's libNVVM; by default as the pipeline says.",
)

dump_options = apply_all(
    click.option(
        "--dump-after", multiple=True, metavar="all|PASS,…", help="Write the IR after passes that changed it."
    ),
    click.option("--dump-before", multiple=True, metavar="all|PASS,…", help="Write the IR before passes."),
    click.option("--dump-unchanged", is_flag=True, help="Write dumps also where a pass changed nothing."),
    click.option("--dump-locations", is_flag=True, help="Print source locations in dumps (on with --line-info)."),
)

outcome_options = apply_all(
    click.option("--timing", is_flag=True, help="Show where the time went, longest first."),
    click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON (a list for several)."),
    click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
    click.option("-v", "--verbose", is_flag=True, help="Print the table also into a pipe, with every unchanged pass."),
)
"""What to say of a compilation."""

subject_options = apply_all(
    click.argument("input_", metavar="FILE.py[:FUNCTION]|FILE.cutecc"),
    click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="An argument spec: alpha='f32=0.5'."),
    click.option("--entry", metavar="EXPR", help="What to compile, in the file's namespace: 'Gemm(tile=(128, 128))'."),
    click.option("--target", metavar="NAME", help="The target to compile for; by default the file's, or the device's."),
    click.option(
        "--size", "sizes", multiple=True, metavar="NAME=N,…", help="Named sizes: M=100,N=7; N=1,31,32 in turn."
    ),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is random."),
)
"""What to launch, and with which arguments."""

compiler_options = apply_all(
    edit_options,
    load_option,
    wheel_options,
    backend_option,
    click.option("--no-cache", is_flag=True, help="Compile anew, and keep nothing in the cache."),
)
"""How a kernel that is launched is compiled."""


@click.command()
@edit_options
@wheel_options
@backend_option
def _compiling(**values: Any) -> None: ...


_OF_COMPILING = tuple(each.name for each in _compiling.params if each.name)


def given_compile_options(context: click.Context, values: dict[str, Any]) -> CompileOptions | None:
    """How to compile, from the values of `compiler_options`; `None` where the command line says nothing about it.

    That needs no compiler: a record is launched where there is none.
    """
    if all(context.get_parameter_source(name) is ParameterSource.DEFAULT for name in _OF_COMPILING):
        return None
    with needed_by("an option of the compiler", extra="run"):
        from cutecc.cli.compile_options import compile_options

    return compile_options(values)


_TAKEN = {
    **{name: name for name in ("opt_level", "preserve_line_info", "enable_assertions", "fast_math", "backend")},
    "ptx_options": "ptxas_options",
    "nvvm_options": "nvvm_options",
}
"""By an option of the wheel's pipeline: the parameter that sets it."""


def take_options(context: click.Context, values: dict[str, Any], recorded: Mapping[str, Any]) -> None:
    """Have `values` compile as an earlier run did that `recorded` its options, where the command line is silent.

    Tools and libraries come from the command line alone.
    """
    parameters = {each.name: each for each in context.command.params}
    for option, value in recorded.items():
        name = _TAKEN.get(option.replace("-", "_"))
        if name in parameters and context.get_parameter_source(name) is ParameterSource.DEFAULT:
            values[name] = parameters[name].type_cast_value(context, value)


def chosen_ptxas(values: dict[str, Any], settings: Settings) -> Path | None:
    """The assembler of the user's choice. Raises `UsageError` for one that is not there."""
    ptxas: Path | None = values["ptxas"] or settings.ptxas
    if ptxas and not ptxas.is_file():
        raise UsageError(f"--ptxas: there is no program {ptxas}")
    return ptxas
