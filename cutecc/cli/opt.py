"""`cutecc opt`: a module in, passes, a module or code out."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import click

from cutecc.cli.diagnostics import show
from cutecc.cli.files import read_input
from cutecc.cli.main import report
from cutecc.cli.option_texts import split_names
from cutecc.cli.options import backend_option, load_option, refuse_empty
from cutecc.cli.streams import discard_output
from cutecc.config import Settings
from cutecc.errors import Error, UsageError
from cutecc.ir.split import MARK
from cutecc.opt.request import ChunkFinished, Form, PrintChoice, Printed, RewriteRequest, Said, Told
from cutecc.opt.worker import rewrite_in_worker
from cutecc.support import isolation
from cutecc.support.output_file import write_output
from cutecc.support.spelling import did_you_mean
from cutecc.target import Target, target_in_name

_EPILOG = """\b
Examples:
  cutecc opt kernel.mlir --pipeline='canonicalize,cse'
  cutecc opt kernel.mlir --canonicalize --cse --mlir-timing
  cutecc opt kernel.mlir --pipeline='canonicalize,cse' \\
    --print-after-all --print-after-change
  cutecc opt tests.mlir --load=my_pass.py --pipeline=my-pass \\
    --split-input-file --verify-diagnostics
  cutecc opt kernel.mlir --pipeline=nvidia --target=sm_90a --emit=ptx \\
    -o kernel.ptx
  cutecc opt kernel.mlir --emit=bytecode |
    cutecc opt --pipeline=cse --mlir-print-op-generic

\b
What is no option of its own is a pass, as in mlir-opt, with one dash or two:
  --cse --widen-copies='least=32'   is --pipeline='cse,widen-copies{least=32}'

\b
In a file for --verify-diagnostics, comments say what is expected on their
line or another:
  // expected-error {{use of undeclared}}          in this line
  // expected-remark @below {{unrolled 4 times}}   or @above, @+2, @unknown
  // expected-error-re @+1 {{op '{{.*}}' failed}}  with regular expressions

The exit status is 1 when a module does not parse, a pass fails or leaves it invalid, or a diagnostic was not as
expected, and 2 for a wrong request.
"""


PASSES = "pass_flags"
"""The parameter in which a command gets them: the text of a pass each, in order."""
_PIPELINE = ("--pipeline", "--pass-pipeline")


class CommandWithPassFlags(click.Command):
    """A command of whose flags those that are none of its own are passes.

    As in mlir-opt, one dash is as good as two before a name of several letters.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        passes, others, pipeline = self._apart(ctx, args)
        rest = super().parse_args(ctx, others)
        if passes and pipeline:
            raise UsageError(
                f"--{_name(passes[0])} and {pipeline} both say which passes run",
                hints=["say all of it with one of them"],
            )
        ctx.params[PASSES] = passes
        return rest

    def _apart(self, ctx: click.Context, args: Sequence[str]) -> tuple[list[str], list[str], str | None]:
        """The text of each pass, all other arguments, and the flag among them that names a pipeline."""
        own = _own_flags(ctx)
        with_value = {name for option in _own_options(ctx) if not option.is_flag for name in option.opts}
        passes: list[str] = []
        others: list[str] = []
        pipeline: str | None = None
        loads = _loads(args)
        left = iter(args)
        for given in left:
            if given == "--":
                others += [given, *left]
                break
            argument = _with_two_dashes(given, own, with_value)
            flag, equals, texts = argument.partition("=")
            if not flag.startswith("--") or flag in own:
                if equals and flag in own - with_value:
                    raise UsageError(f"cutecc opt has no option {argument}", hints=[f"{flag} takes no value"])
                others.append(argument)
                if argument in with_value:
                    others += itertools.islice(left, 1)
                pipeline = flag if flag in _PIPELINE else pipeline
                continue
            if not loads and (hints := _misspelled(flag, own)):
                raise _no_option(flag, hints, [])
            passes.append(f"{flag[2:]}{{{texts}}}" if equals else flag[2:])
        return passes, others, pipeline


def _loads(args: Sequence[str]) -> bool:
    """Whether a file of the user's registers passes. Which is known when it is loaded; what is none is refused then."""
    return any(each.partition("=")[0] in ("--load", "-load") for each in args)


def _own_options(context: click.Context) -> list[click.Option]:
    return [each for each in context.command.get_params(context) if isinstance(each, click.Option)]


def _own_flags(context: click.Context) -> set[str]:
    return {name for option in _own_options(context) for name in option.opts}


def _with_two_dashes(argument: str, own: set[str], with_value: set[str]) -> str:
    """What mlir-opt understands by `-cse`; an option of one letter stays, with its value or without."""
    if argument.startswith("--") or not argument.startswith("-") or len(argument) < 3:
        return argument
    flag = f"-{argument.partition('=')[0]}"
    if argument[:2] in with_value and flag not in own and flag[2:] not in _all_names():
        return argument
    return f"-{argument}"


def _all_names() -> set[str]:
    return isolation.call("cutecc.passes.lookup:all_names")


def _name(pass_text: str) -> str:
    return pass_text.partition("{")[0]


def _misspelled(flag: str, own: set[str]) -> list[str]:
    """The hint for what is much like one of the command's `own` options and no pass."""
    hints = did_you_mean(flag, own)
    return hints if hints and flag[2:] not in _all_names() else []


def _no_option(flag: str, hints: list[str], notes: list[str]) -> UsageError:
    message = f"cutecc opt has no option {flag}, and there is no pass of that name"
    return UsageError(message, notes=notes, hints=hints)


def _print_option(when: str, **attributes: Any) -> Callable[[Any], Any]:
    """An option by its name and by that of MLIR's tools."""
    return click.option(f"--print-{when}", f"--mlir-print-ir-{when}", f"print_{when.replace('-', '_')}", **attributes)


@click.command(cls=CommandWithPassFlags, epilog=_EPILOG)
@click.argument("file", default="-")
@click.option(
    *_PIPELINE,
    metavar="NAME|TEXT|FILE",
    callback=refuse_empty,
    help="The passes to run; none by default.",
)
@load_option
@click.option("--target", metavar="NAME", help="The target that a named pipeline is for; else the file's name says it.")
@backend_option
@click.option(
    "--emit",
    type=click.Choice(get_args(Form)),
    default="mlir",
    show_default=True,
    help="What to write: the module as text or bytecode, or what the lowered module becomes.",
)
@click.option("-o", "--output", default="-", metavar="FILE", help="Write here instead of to standard output.")
@click.option("--split-input-file", is_flag=True, help=f"Take the modules between lines of '{MARK}' one by one.")
@click.option("--verify-diagnostics", is_flag=True, help="Compare diagnostics with the file's expected-… comments.")
@click.option("--verify-each", is_flag=True, help="Have MLIR verify the module after each pass.")
@click.option("--allow-unregistered-dialect", is_flag=True, help="Accept operations that nobody has defined.")
@click.option("--mlir-print-op-generic", is_flag=True, help="Print operations in their generic form.")
@click.option("--mlir-print-debuginfo", is_flag=True, help="Print source locations.")
@click.option("--mlir-timing", is_flag=True, help="Say at the end how long each pass took.")
@_print_option("after", multiple=True, metavar="PASS,…", help="Print the module after PASS (cse#2: the second).")
@_print_option("after-all", is_flag=True, help="Print the module after each pass.")
@_print_option("after-change", is_flag=True, help="After passes, print it only where they changed it.")
@_print_option("before", multiple=True, metavar="PASS,…", help="Print the module before PASS.")
@_print_option("before-all", is_flag=True, help="Print the module before each pass.")
@click.pass_context
def opt(context: click.Context, file: str, **values: Any) -> None:
    """Run a pipeline on the module in FILE (text or bytecode; - is standard input) and write the result.

    Diagnostics and what the --print options ask for go to standard error.
    """
    own = getattr(target_in_name(Path(file).name), "name", None)
    target = Target.parse(values["target"] or own or Settings.from_environment().target or "sm_90a")
    if passes := values[PASSES]:
        # In the anchor it is no named pipeline, and no file.
        values["pipeline"] = f"builtin.module({','.join(passes)})"
    request = _request(file, target, values)
    outputs: list[bytes] = []
    failed = False

    def tell(told: Told) -> None:
        nonlocal failed
        match told:
            case Said():
                show(told.diagnostic)
            case Printed():
                click.echo(told.text, err=True, nl=False)
            case ChunkFinished():
                outputs.append(told.output)
                failed |= told.failed
                if told.error:
                    report(told.error)

    try:
        rewrite_in_worker(request, tell)
    except UsageError as error:
        unknown = next((name for name in map(_name, passes) if error.message == f"no pass is called '{name}'"), None)
        if unknown is None:
            raise
        flag = f"--{unknown}"
        raise _no_option(flag, [*_misspelled(flag, _own_flags(context)), *error.hints], error.notes) from None
    if request.split or not failed:
        _write(values["output"], f"{MARK}\n".encode().join(outputs))
    if failed:
        context.exit(1)


def _request(file: str, target: Target, values: dict[str, Any]) -> RewriteRequest:
    form: Form = values["emit"]
    if form == "bytecode":
        if values["split_input_file"]:
            raise UsageError("bytecode holds one module, and --split-input-file asks for several")
        if values["output"] == "-" and sys.stdout.isatty():
            raise UsageError("bytecode is not for terminals", hints=["write it to a file with -o, or into a pipe"])
    data = _standard_input() if file == "-" else read_input(Path(file))
    return RewriteRequest(
        data,
        "<stdin>" if file == "-" else file,
        target.name,
        values["pipeline"] or "",
        form=form,
        backend=values["backend"],
        locations=values["mlir_print_debuginfo"],
        generic=values["mlir_print_op_generic"],
        verify_each=values["verify_each"],
        split=values["split_input_file"],
        verify_diagnostics=values["verify_diagnostics"],
        unregistered=values["allow_unregistered_dialect"],
        prints=PrintChoice(
            after=_chosen(values, "print_after"),
            before=_chosen(values, "print_before"),
            only_changed=values["print_after_change"],
        ),
        timing=values["mlir_timing"],
    )


def _chosen(values: dict[str, Any], option: str) -> list[str]:
    """The passes that `--print-after` or `--print-before` and its form for all passes name."""
    names = split_names(values[option])
    if names and not values["pipeline"]:
        raise UsageError(
            f"--{option.replace('_', '-')}={names[0]}: no passes run", hints=["name the passes with --pipeline"]
        )
    return [*(["all"] if values[f"{option}_all"] else []), *names]


def _standard_input() -> bytes:
    if sys.stdin.isatty():
        click.echo("reading a module from the terminal; Ctrl-D ends it", err=True)
    try:
        return sys.stdin.buffer.read()
    except OSError as failure:
        raise UsageError(f"cannot read standard input: {failure.strerror}") from None


def _write(output: str, data: bytes) -> None:
    if output != "-":
        write_output(Path(output), lambda file: file.write(data))
        return
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The reader has seen enough. What is left in the buffer would be tried again when the interpreter ends.
        discard_output()
    except OSError as failure:
        discard_output()
        raise Error(f"cannot write standard output: {failure.strerror}") from None
