"""`cutecc prove`: a thin wrapper over the prover."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.console import Console
from cutecc.cli.failures import error_dict
from cutecc.cli.files import check_output
from cutecc.cli.inputs import KernelFile, ModuleFile, choose
from cutecc.cli.main import EXIT_UNCHECKED, report
from cutecc.cli.proof_picture import draw_proofs
from cutecc.cli.sizes import sizes_text
from cutecc.config import Settings
from cutecc.errors import Error, UsageError
from cutecc.frontend.kernel_file import split_path
from cutecc.record.naming import short_kernel_name

if TYPE_CHECKING:
    from cutecc.proving.problems import Problem
    from cutecc.proving.proof import Proof
    from cutecc.proving.witness import Witness
    from cutecc.target import Target

_SHOWN = 1
"""Findings of a witness: the others mostly follow from it."""

_EPILOG = """\b
Examples:
  cutecc prove examples/gemm.py
  cutecc prove kernels/*.py --target sm_90a --json
  cutecc prove examples/gemm.py --picture gemm.svg
  cutecc prove cutecc-watch/recorded/*.mlirbc --target sm_90a

Status 0: all are proved; 1: something is wrong, or suspicious; 2: a kernel could not be proved, for the reason that is
said. What is wrong has a run on the emulator that shows it, and the command that repeats it; of what is suspicious none
was found. docs/proving.md says what a proof rests on.
"""


@click.command(epilog=_EPILOG)
@click.argument("inputs", metavar="FILE.py[:FUNCTION]|TRACED.mlir …", nargs=-1, required=True)
@click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="An argument spec: a='f16[?,?{div=8}]'.")
@click.option("--entry", metavar="EXPR", help="What to compile, in the file's namespace: 'Gemm(tile=(128, 128))'.")
@click.option("--target", metavar="NAME", help="The GPU target, such as sm_90a.")
@click.option("--seconds", type=click.FloatRange(0), default=60.0, show_default=True, help="For each kernel, at most.")
@click.option(
    "--replay",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="To find a run on the emulator that shows what is suspicious, at most; 0 looks for none.",
)
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

    Needs no GPU, and runs nothing but, on the emulator, what is suspicious. What is wrong is told at its line, with
    sizes that show it; what cannot be told, with the reason.
    """
    check_output(values["picture"])
    results: list[tuple[str, list[Proof] | Error]] = []
    found: list[dict[str, Any]] = []
    for text in inputs:
        proofs = _proofs(text, values)
        results.append((text, proofs))
        if isinstance(proofs, Error):
            report(proofs)
            found.append({"file": text, "ok": False, "error": error_dict(proofs)})
            continue
        names = [f"{text} ({short_kernel_name(proof.kernel)})" if len(proofs) > 1 else text for proof in proofs]
        for name, proof in zip(names, proofs, strict=True):
            commands = _commands(context, text, proof.witness) if proof.witness else None
            command, timeline = commands or (None, None)
            found.append({"file": text, **proof.to_dict(), "reproduce": command, "timeline": timeline})
            if not values["as_json"]:
                _show(Console(), name, proof, command)
    if values["as_json"]:
        click.echo(json.dumps(found, indent=2))
    if values["picture"]:
        draw_proofs(
            [proof for _, proofs in results if not isinstance(proofs, Error) for proof in proofs], values["picture"]
        )
    context.exit(_status([proofs for _, proofs in results]))


def _proofs(text: str, values: dict[str, Any]) -> list[Proof] | Error:
    """What came of one input."""
    from cutecc.frontend.files import errors_as_given
    from cutecc.proving.modules import prove_apart

    try:
        chosen = choose(text, values["args"], values["entry"], values["target"], Settings.from_environment())
        target = _only_target(text, chosen.targets)
        with errors_as_given(str(chosen.path)):
            proofs = prove_apart(_traced(chosen, target), target.name, values["seconds"])
    except Error as error:
        return error
    open_ones = [proof for proof in proofs if proof.answer == "suspicious" or proof.least]
    if isinstance(chosen, KernelFile):
        _replay(open_ones, text, values)
    else:
        _say_tried(open_ones, "a module does not say what arguments it is called with")
    return proofs


def _only_target(text: str, targets: Sequence[Target]) -> Target:
    if len(targets) > 1:
        names = ", ".join(target.name for target in targets)
        raise UsageError(f"{text} is for several targets, {names}", hints=[f"name one: --target {targets[0]}"])
    return targets[0]


def _traced(chosen: KernelFile | ModuleFile, target: Target) -> bytes:
    """The module as it was traced, before any pass: that says what copies move."""
    from cutecc.compilation.from_file import trace_apart

    if isinstance(chosen, KernelFile):
        return trace_apart(replace(chosen.request, target=target.name, locations=True)).bytecode
    if chosen.stage is not None and chosen.stage.after:
        after = f"{chosen.path} is a module after {chosen.stage.after}, which does not say what copies move"
        raise UsageError(after, hints=["name the kernel's file, or a module as it was traced"])
    return chosen.data


def _replay(proofs: Sequence[Proof], text: str, values: dict[str, Any]) -> None:
    """Refute what is suspicious, and say preconditions in the user's names, where runs on the emulator can."""
    if not proofs or not values["replay"]:
        return
    from cutecc.cli.emulation import finding_as_given
    from cutecc.cli.loading import load_subject
    from cutecc.compilation.request import CompileOptions
    from cutecc.proving.witness import refute, tell_preconditions

    try:
        options = CompileOptions(artifacts=("ptx", "host-program"))
        given = {name: values[name] for name in ("args", "entry", "target")}
        subject = load_subject(text, None, options=options, **given)
        path = split_path(text)[0]
        for proof in proofs:
            if proof.answer == "suspicious":
                refute(proof, subject.kernel, subject.specs, subject.workload.outputs, values["replay"])
            else:
                tell_preconditions(proof, subject.kernel, subject.specs)
            if (found := proof.witness) is not None:
                proof.witness = replace(found, findings=[finding_as_given(each, path) for each in found.findings])
    except Error as error:
        # What is proved stands.
        _say_tried(proofs, error.message)


def _say_tried(proofs: Sequence[Proof], why: str) -> None:
    """Say why nothing more was run to show what is suspicious."""
    for proof in proofs:
        if proof.answer == "suspicious":
            proof.tried = [*proof.tried, f"{'no more' if proof.tried else 'nothing'}: {why}"]


def _commands(context: click.Context, text: str, witness: Witness) -> tuple[str, str]:
    """The command that repeats a witness's run, and the one that makes a timeline of it.

    The order of one that is no usual schedule is kept in a file.
    """
    schedule, stem = witness.schedule, Path(text.partition(":")[0]).stem
    if witness.order is not None:
        path = Path(f"{stem}.schedule.json")
        witness.order.save(path)
        schedule = f"replay:{path}"
    words = [text]
    for name, option in (("args", "--arg"), ("entry", "--entry"), ("target", "--target")):
        value = context.params[name]
        words += [word for each in (value if name == "args" else filter(None, [value])) for word in (option, each)]
    sizes = ",".join(f"{name}={value}" for name, value in witness.sizes.items())
    words += ["--size", sizes] if sizes else []
    order = ["--schedule", schedule, "--seed", "0"]
    # A timeline's blocks are named by their numbers.
    first = witness.blocks.partition(":")[0]
    files = ["--timeline", f"{stem}.timeline.json", "--json", f"{stem}.profile.json"]
    return (
        shlex.join(["cutecc", "sanitize", *words, "--blocks", witness.blocks, *order]),
        shlex.join(["cutecc", "profile", *words, "--blocks", first, *order, "--device", "cpu", *files]),
    )


def _status(results: Sequence[list[Proof] | Error]) -> int:
    answers = {proof.answer for proofs in results if not isinstance(proofs, Error) for proof in proofs}
    if answers & {"refuted", "suspicious"}:
        return 1
    is_failed = any(isinstance(each, Error) for each in results)
    return 0 if answers == {"proved"} and not is_failed else EXIT_UNCHECKED


def _show(console: Console, name: str, proof: Proof, command: str | None) -> None:
    head = f"{name}: {proof.answer}"
    if proof.answer == "proved":
        head += f", for every schedule and every size{_given(proof)}"
    elif proof.witness is not None:
        head += f": with {sizes_text(proof.witness.sizes)} it fails on the emulator"
    console.say(head)
    if proof.reason:
        where = f"{Path(proof.location.file).name}:{proof.location.line}: " if proof.location else ""
        console.say(f"  {where}{proof.reason}")
    for problem in proof.problems:
        _show_problem(console, problem)
    if proof.sizes:
        console.say("  with " + ", ".join(f"{name} = {number}" for name, number in proof.sizes.items()))
    if proof.witness is not None and command is not None:
        _show_witness(console, proof.witness, command)
    elif proof.tried:
        console.say("  no run on the emulator shows it; what was tried:")
        for text in proof.tried:
            console.say(f"    {text}")
    # What is wrong with the smallest sizes is mostly wrong with all.
    for name, problems in proof.below.items() if proof.least else ():
        console.say(f"  with less of {_in_user_names(proof, name)}:")
        for problem in problems:
            _show_problem(console, problem)
    console.say(f"  {proof.states:,} states, {proof.events:,} events, {proof.seconds:.1f} s")


def _given(proof: Proof) -> str:
    given = [proof.preconditions.get(name, f"{name} at least {least}") for name, least in proof.least.items()]
    return "".join(f", with {each}" for each in given)


def _in_user_names(proof: Proof, name: str) -> str:
    """The size that a number follows, where that is known."""
    return proof.preconditions.get(name, name).partition(" ")[0] if name in proof.preconditions else name


def _show_witness(console: Console, witness: Witness, command: str) -> None:
    from cutecc.emulator.report import finding_lines

    order = "all orders of its warps, of which one" if witness.order is not None else f"the schedule {witness.schedule}"
    console.say(f"  the emulator, with {order}, finds:")
    for finding in witness.findings[:_SHOWN]:
        for line in finding_lines(finding, console.width - 4):
            console.say(f"    {line}")
    if (more := len(witness.findings) - _SHOWN) > 0:
        console.say(f"    and {more} more")
    console.say(f"  reproduce: {command}")


def _show_problem(console: Console, problem: Problem) -> None:
    place = f"{Path(problem.location.file).name}:{problem.location.line}: " if problem.location else ""
    console.say(f"  {place}{problem.kind}: {problem.text}")
    if problem.other:
        console.say(f"    the other is at {Path(problem.other.file).name}:{problem.other.line}")
