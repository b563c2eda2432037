"""`cutecc prove`: a thin wrapper over the prover."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.console import Console
from cutecc.cli.failures import failures_as_json
from cutecc.cli.files import check_output
from cutecc.cli.inputs import KernelFile, choose
from cutecc.cli.main import EXIT_UNCHECKED
from cutecc.cli.proof_picture import draw_proofs
from cutecc.config import Settings
from cutecc.errors import UsageError

if TYPE_CHECKING:
    from cutecc.proving.problems import Problem
    from cutecc.proving.proof import Proof

_EPILOG = """\b
Examples:
  cutecc prove examples/gemm.py
  cutecc prove kernels/*.py --target sm_90a --json
  cutecc prove examples/gemm.py --picture gemm.svg

Status 0: all are proved; 1: something is wrong, or suspicious; 2: a kernel could not be proved, for the reason that is
said. docs/proving.md says what a proof rests on.
"""


@click.command(epilog=_EPILOG)
@click.argument("inputs", metavar="FILE.py[:FUNCTION] …", nargs=-1, required=True)
@click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="An argument spec: a='f16[?,?{div=8}]'.")
@click.option("--entry", metavar="EXPR", help="What to compile, in the file's namespace: 'Gemm(tile=(128, 128))'.")
@click.option("--target", metavar="NAME", help="The GPU target, such as sm_90a.")
@click.option("--seconds", type=click.FloatRange(0), default=60.0, show_default=True, help="For each kernel, at most.")
@click.option(
    "--picture",
    type=click.Path(path_type=Path),
    metavar="FILE.svg",
    help="Draw who does what, and who waits for whom, in one period of the pipeline.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def prove(context: click.Context, inputs: tuple[str, ...], **values: Any) -> None:
    """Prove that a kernel's warps never wait for ever nor race for shared memory, at any size, in any schedule.

    Runs nothing and needs no GPU. What is wrong is told at its line, with the numbers of a launch that shows it; what
    cannot be told, with the reason.
    """
    check_output(values["picture"])
    proofs: list[tuple[str, Proof]] = []
    with failures_as_json(values["as_json"]):
        for text in inputs:
            proofs += [(text, proof) for proof in _proofs(text, values)]
        if values["picture"]:
            draw_proofs([proof for _, proof in proofs], values["picture"])
    if values["as_json"]:
        click.echo(json.dumps([{"file": text, **proof.to_dict()} for text, proof in proofs], indent=2))
    else:
        console = Console()
        for text, proof in proofs:
            _show(console, text, proof)
    context.exit(_status([proof for _, proof in proofs]))


def _proofs(text: str, values: dict[str, Any]) -> list[Proof]:
    from cutecc.compilation.from_file import trace_apart
    from cutecc.frontend.files import errors_as_given
    from cutecc.proving.modules import prove_apart

    chosen = choose(text, values["args"], values["entry"], values["target"], Settings.from_environment())
    if not isinstance(chosen, KernelFile):
        raise UsageError(f"{text} is no Python file: what copies move is told by the trace of a kernel")
    if len(chosen.targets) > 1:
        names = ", ".join(target.name for target in chosen.targets)
        raise UsageError(f"{text} is for several targets, {names}", hints=[f"name one: --target {chosen.targets[0]}"])
    (target,) = chosen.targets
    with errors_as_given(chosen.path):
        traced = trace_apart(replace(chosen.request, target=target.name, locations=True))
        return prove_apart(traced.bytecode, target.name, values["seconds"])


def _status(proofs: Sequence[Proof]) -> int:
    answers = {proof.answer for proof in proofs}
    if answers & {"refuted", "suspicious"}:
        return 1
    return 0 if answers == {"proved"} else EXIT_UNCHECKED


def _show(console: Console, text: str, proof: Proof) -> None:
    head = f"{text}: {proof.answer}"
    if proof.answer == "proved":
        head += f", for every schedule and every size{_given(proof)}"
    console.say(head)
    if proof.reason:
        where = f"{Path(proof.location.file).name}:{proof.location.line}: " if proof.location else ""
        console.say(f"  {where}{proof.reason}")
    for problem in proof.problems:
        _show_problem(console, problem)
    if proof.sizes:
        console.say("  with " + ", ".join(f"{name} = {number}" for name, number in proof.sizes.items()))
    for name, problems in proof.below.items():
        console.say(f"  with less of {name}:")
        for problem in problems:
            _show_problem(console, problem)
    console.say(f"  {proof.states:,} states, {proof.events:,} events, {proof.seconds:.1f} s")


def _given(proof: Proof) -> str:
    return "".join(f", with {name} at least {least}" for name, least in proof.least.items())


def _show_problem(console: Console, problem: Problem) -> None:
    place = f"{Path(problem.location.file).name}:{problem.location.line}: " if problem.location else ""
    console.say(f"  {place}{problem.kind}: {problem.text}")
    if problem.other:
        console.say(f"    the other is at {Path(problem.other.file).name}:{problem.other.line}")
