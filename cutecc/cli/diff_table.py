"""What `cutecc diff-test` found: a table for each kernel, what is wrong below it, and as JSON."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import msgspec

from cutecc.cli.console import Console, progress_bar
from cutecc.cli.diff_failure import incomparable_lines, wrong_lines
from cutecc.cli.headings import points_text, wrapped
from cutecc.cli.main import EXIT_FAILED, EXIT_UNCHECKED
from cutecc.cli.sizes import sizes_text
from cutecc.cli.tables import NAMES, NUMBERS, Row, fitting, print_table

if TYPE_CHECKING:
    from rich.table import Table

    from cutecc.compilation.request import Edit
    from cutecc.workbench.bisecting import Blame
    from cutecc.workbench.plan import Plan, PlannedKernel, Variant
    from cutecc.workbench.running import KernelResult, Run

_DISPENSABLE = ("instructions", "spills", "error", "code")
"""Columns that a narrow terminal does without, these first."""
_WIDEST_CHANGES = 44
_MOST_CLASSES = 3
"""Of instructions, whose number has changed."""


@dataclass
class Report:
    """Prints what comes, as it comes."""

    quiet: bool = False
    as_json: bool = False
    changes: Sequence[str] = ()
    """The options that change the pipeline, as the user gave them."""
    edits: Sequence[Edit] = ()
    """What they are."""
    named: Collection[tuple[str, str]] = ()
    """Files and targets of kernels that must not be left out."""
    command: Callable[[PlannedKernel, Run], str | None] = lambda kernel, run: None
    """The command line that tells more of what every variant of a kernel does wrong."""
    _console: Console = field(default_factory=Console)

    @contextlib.contextmanager
    def progress(self, total: int) -> Generator[Callable[[PlannedKernel], None]]:
        """A bar on standard error while kernels are compiled."""
        with progress_bar(wanted=not self.quiet, elapsed=True) as bar:
            task = bar.add_task("compiling", total=total)
            yield lambda _: bar.advance(task)

    def begin(self, pipelines: Sequence[str]) -> None:
        """Which pipelines the edits change."""
        if self.edits and not self.quiet and not self.as_json:
            edits = ", ".join(map(_edit_text, self.edits))
            self._console.say(f"{', '.join(pipelines[1:])}: {edits}; {pipelines[0]}: as it is")

    def tried(self, text: str) -> None:
        """One step of a bisection."""
        if not self.quiet and not self.as_json:
            self._console.say(f"  {text}", style="dim")

    def kernel(self, result: KernelResult, blames: Sequence[Blame]) -> None:
        """What came of one kernel."""
        kernel = result.kernel
        if self.as_json:
            return
        if kernel.note:
            self._left_out(kernel)
            return
        if kernel.failure:
            self._console.say(f"{_head(kernel)}: error: {kernel.failure}", "red")
            return
        if result.ok and self.quiet:
            return
        if kernel.chosen:
            self._console.say(kernel.chosen)
        if run := result.incomparable:
            first, *rest = incomparable_lines(result, run, self.command(kernel, run))
            self._console.say(f"{_head(kernel)}: {first}", style="bold red")
            for line in [*rest, ""]:
                self._console.say(line)
            return
        points = list(dict.fromkeys(sizes_text(point.sizes) or "no sizes" for point in kernel.points))
        self._console.say(wrapped(f"{_head(kernel)}: {points_text(points)}", self._console.width), style="bold")
        print_table(variant_table(result, self._console), self._console)
        for line in effect_lines(kernel.variants, self.edits):
            self._console.say(line)
        self._problems(result, blames)
        self._console.say("")

    def _problems(self, result: KernelResult, blames: Sequence[Blame]) -> None:
        kernel = result.kernel
        for line in problem_lines(result):
            self._console.say(line, style="red")
        if run := result.wrong_alike:
            first, *rest = wrong_lines(result, run, self.command(kernel, run))
            self._console.say(first, style="bold red")
            for line in rest:
                self._console.say(line)
        for blame in blames:
            for line in blame_lines(blame, kernel, self.changes):
                self._console.say(line, style="" if line.startswith("hint: ") else "bold red")

    def compiled(self, plan: Plan, folder: Path) -> bool:
        """What `--compile` made; whether all compiled."""
        failed = [
            *((kernel, f"error: {kernel.failure}") for kernel in plan.kernels if kernel.failure),
            *(
                (kernel, f"{each.name} does not compile: {each.failure}")
                for kernel in plan.kernels
                for each in kernel.variants
                if each.failure
            ),
        ]
        ok = not failed and not any(map(self._refused, plan.kernels))
        if self.as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(plan)).decode())
            return ok
        for kernel in plan.kernels:
            if kernel.note:
                self._left_out(kernel)
        for kernel, problem in failed:
            self._console.say(f"{_head(kernel)}: {problem}", "red")
        count = sum(bool(kernel.variants) for kernel in plan.kernels)
        self._console.say(f"{count} kernel{_s(count)} in {folder}; to run them: cutecc diff-test --run {folder}")
        return ok

    def ok(self, results: Sequence[KernelResult]) -> bool:
        """Whether nothing is wrong, and nothing that was named is left out."""
        return all(result.ok and not self._refused(result.kernel) for result in results)

    def end(self, results: Sequence[KernelResult], device: str) -> int:
        """The sum; the status to end with."""
        run = [result for result in results if not result.kernel.note]
        incomparable = [result for result in run if result.incomparable]
        wrong = [result for result in run if not result.ok and not result.incomparable]
        if not self.as_json:
            self._console.say("; ".join([self._agreeing(len(run), wrong, incomparable, device), *self._left(results)]))
        if wrong or any(self._refused(result.kernel) for result in results):
            return EXIT_FAILED
        return EXIT_UNCHECKED if incomparable else 0

    def _agreeing(
        self, count: int, wrong: Sequence[KernelResult], incomparable: Sequence[KernelResult], device: str
    ) -> str:
        words = [f"{count} kernel{_s(count)} on {device}: {count - len(wrong) - len(incomparable)} agree"]
        for some, what in ((wrong, "do not"), (incomparable, "cannot be compared")):
            if some:
                words.append(f"{len(some)} {what} ({', '.join(result.kernel.name for result in some)})")
        return "; ".join(words)

    def _left(self, results: Sequence[KernelResult]) -> list[str]:
        """A word about those that did not run, if there are any."""
        left_out = sum(bool(result.kernel.note) for result in results)
        refused = [result.kernel.name for result in results if self._refused(result.kernel)]
        named = f", and named: {', '.join(refused)}" if refused else ""
        return [f"{left_out} left out{named}"] if left_out else []

    def _refused(self, kernel: PlannedKernel) -> bool:
        """Whether a kernel that was named is left out."""
        return kernel.note is not None and (kernel.file, kernel.target) in self.named

    def _left_out(self, kernel: PlannedKernel) -> None:
        refused = self._refused(kernel)
        if refused or not self.quiet:
            self._console.say(f"{_head(kernel)}: left out: {kernel.note}", "red" if refused else "")


def _head(kernel: PlannedKernel) -> str:
    return f"{kernel.name} for {kernel.target}" if kernel.target else kernel.file


def variant_table(result: KernelResult, console: Console) -> Table:
    """A row for each variant."""
    from rich.text import Text

    headings = ["error", "registers", "spills", "code", *(("µs", "ratio") if result.microseconds else ())]
    columns: dict[str, Mapping[str, Any]] = {
        "variant": {**NAMES, "min_width": 12},
        "result": {**NAMES, "min_width": 12},
        **dict.fromkeys(headings, NUMBERS),
        "instructions": {"max_width": _WIDEST_CHANGES},
    }
    rows: list[Row] = []
    for variant in result.kernel.variants:
        cells = _cells(result, variant)
        verdict = Text(cells["result"], style="red" if cells["result"] in _BAD else "green")
        rows.append({**cells, "result": verdict})
    return fitting(columns, rows, _DISPENSABLE, console)


_BAD = ("differs", "fails", "not compiled")


def _cells(result: KernelResult, variant: Variant) -> dict[str, str]:
    code = variant.code
    other = _compared_with(result.kernel.variants, variant)
    errors = [run.error for run in result.of(variant) if run.error is not None]
    time = result.microseconds.get(variant.name)
    base = result.microseconds.get(result.kernel.variants[0].name)
    return {
        "variant": variant.name,
        "result": "not compiled" if variant.failure else result.verdict(variant) or "not run",
        "error": f"{max(errors):.1e}" if errors else "",
        "registers": str(code.registers) if code else "",
        "spills": f"{code.spills} B" if code else "",
        "code": f"{code.bytes:,} B" if code else "",
        "µs": f"{time:.2f}" if time is not None else "",
        "ratio": f"{time / base:.2f}" if time is not None and base else "",
        "instructions": _changes(variant, other),
    }


def _compared_with(variants: Sequence[Variant], variant: Variant) -> Variant | None:
    """The first pipeline through the same code generator, or of that pipeline the first code generator."""
    first = variants[0]
    if variant.pipeline != first.pipeline:
        return next((each for each in variants if each.backend == variant.backend and each.code), None)
    return first if variant.backend != first.backend else None


def _changes(variant: Variant, other: Variant | None) -> str:
    """How many instructions there are, and of which kinds more or fewer than in another variant."""
    if variant.code is None:
        return ""
    mix = variant.code.instructions
    total = f"{sum(mix.values()):,}"
    if other is None or other.code is None:
        return total
    theirs = other.code.instructions
    changes = {name: mix.get(name, 0) - theirs.get(name, 0) for name in {**mix, **theirs}}
    largest = sorted((name for name in changes if changes[name]), key=lambda name: (-abs(changes[name]), name))
    words = [f"{name} {changes[name]:+d}" for name in largest[:_MOST_CLASSES]]
    more = [f"{len(largest) - _MOST_CLASSES} more"] if len(largest) > _MOST_CLASSES else []
    return f"{total}: {', '.join([*words, *more])}" if words else total


def problem_lines(result: KernelResult) -> list[str]:
    """What is wrong, a line for each variant: why it has no code, or its first run that is wrong.

    What is wrong in the same way as in a variant above is not told again.
    """
    found: list[str] = []
    told: dict[str | None, tuple[object, ...]] = {}
    for variant in result.kernel.variants:
        if variant.failure:
            found.append(f"{variant.name} does not compile: {variant.failure}")
        wrong = [run for run in result.of(variant) if not run.ok]
        if wrong:
            run = wrong[0]
            where = f"with {sizes_text(run.sizes)}, seed {run.seed}" if run.sizes else f"seed {run.seed}"
            alike = f", as {run.alike}" if run.alike else ""
            count = len(result.of(variant))
            head = f"{variant.name} {run.verdict}{alike}, in {len(wrong)} of {count} run{_s(count)}; {where}"
            told[variant.name] = (run.sizes, run.seed, run.problems)
            if told.get(run.alike) == told[variant.name]:
                found.append(head)
            else:
                found += [f"{head}:", *(f"  {problem}" for problem in run.problems)]
    return found


def effect_lines(variants: Sequence[Variant], edits: Sequence[Edit]) -> list[str]:
    """Of each pass that the user has put in whether it changed the kernel, where that is the same in a line for all."""
    from cutecc.workbench.inserted import inserted

    if not edits:
        return []
    done: dict[tuple[str, bool], list[str]] = {}
    for variant in variants:
        if variant.pipeline != variants[0].pipeline:
            for selector, changed in inserted(variant, edits).items():
                done.setdefault((selector, changed), []).append(variant.name)
    return [
        f"{selector} changed {'the kernel' if changed else 'nothing'} in {', '.join(names)}"
        for (selector, changed), names in done.items()
    ]


def _edit_text(edit: Edit) -> str:
    match edit.kind:
        case "without":
            return f"without {edit.selector}"
        case "replace":
            return f"{edit.pass_text} in the place of {edit.selector}"
        case _:
            return f"{edit.pass_text} {edit.kind.removeprefix('insert-')} {edit.selector}"


def blame_lines(blame: Blame, kernel: PlannedKernel, changes: Sequence[str] = ()) -> list[str]:
    """What makes a variant differ, and how to look at it with the command line's own `changes` of the pipeline."""
    if found := blame.found:
        first = f"{blame.variant}: {' or '.join(found.passes)} makes the difference"
        before = f"after {found.last_good}" if found.last_good else "before it"
        pipeline = blame.variant.rpartition("/")[0]
        again = shlex.join(
            ["cutecc", "compile", kernel.file, "--target", kernel.target, "--pipeline", pipeline, *changes]
        )
        lines = [f"{first}: handed over to the first pipeline {before}, the result is right"]
        if found.first_bad != "code generation":
            name = found.first_bad
            lines.append(f"hint: look at what it does: {again} --dump-before {name} --dump-after {name}")
        return lines
    if blame.backend:
        level = f" from --opt-level {blame.opt_level} on" if blame.opt_level else " at any --opt-level"
        return [f"{blame.variant}: the code generator {blame.backend} makes the difference,{level}"]
    return [f"{blame.variant}: the first pipeline has nothing to compare it with"]


def as_dict(
    results: Sequence[KernelResult], blames: Mapping[int, Sequence[Blame]], device: str, *, ok: bool
) -> dict[str, Any]:
    """All results, as JSON has them; `ok` says whether the command ends well."""
    return {
        "device": device,
        "ok": ok,
        "kernels": [_kernel_dict(result, blames.get(index, ())) for index, result in enumerate(results)],
    }


def _kernel_dict(result: KernelResult, blames: Sequence[Blame]) -> dict[str, Any]:
    kernel = result.kernel
    return {
        "kernel": kernel.name,
        "file": kernel.file,
        "target": kernel.target,
        "note": kernel.note,
        "failure": kernel.failure,
        "chosen": kernel.chosen,
        "ok": None if kernel.note else result.ok,
        "comparable": result.incomparable is None,
        "variants": [
            {
                "name": variant.name,
                "verdict": result.verdict(variant),
                "failure": variant.failure,
                "code": msgspec.to_builtins(variant.code),
                "microseconds": result.microseconds.get(variant.name),
            }
            for variant in kernel.variants
        ],
        "points": [
            {"sizes": point.sizes, "seed": point.seed, "in_float64": point.in_float64} for point in kernel.points
        ],
        "runs": [_finite(asdict(run)) for run in result.runs],
        "blames": [_finite(asdict(blame)) for blame in blames],
    }


def _finite(value: Any) -> Any:
    """The same without infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in cast("Sequence[Any]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _s(count: int) -> str:
    return "" if count == 1 else "s"
