"""`cutecc bisect`: the first pass after which a check fails, and which of the pass's rewrites makes the difference.

A check on modules is asked of the module after each pass. A check on what a pipeline makes in the end, its code or its
results, is asked of mixed pipelines: the first passes of one, and then another's (`cutecc.workbench.splice`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cutecc.compilation.worker import lower_in_worker
from cutecc.errors import Error, PassError
from cutecc.passes.base import Pass
from cutecc.passes.debug_counter import LimitedPass, Rewrite
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Compilation
from cutecc.record.folder import read_folder
from cutecc.record.stages import stages_of
from cutecc.support import isolation
from cutecc.workbench.checks import Check, Finding
from cutecc.workbench.searching import State, boundary
from cutecc.workbench.splice import Found, points, search, splice
from cutecc.workbench.subjects import Subject

CheckCode = Callable[[Compilation], Finding]
"""A check on what came of compiling; it may look at the code, or launch it."""
CheckBeside = Callable[[Compilation], CheckCode]
"""What makes the check from what another pipeline compiles to."""
Tell = Callable[[str], None]

_STATES: dict[str, State] = {"passes": "good", "fails": "bad", "unknown": "unknown"}


@dataclass(frozen=True)
class RewriteBlame:
    """The first rewrite of a pass with which a check fails."""

    number: int
    """From 1."""
    made: int
    """How many the pass makes."""
    rewrite: Rewrite
    unknown: int = 0
    """How many rewrites right before it could not be told from it."""
    text_before: str = ""
    """The module with the rewrites before it, and before those that could not be told from it."""
    text_after: str = ""
    """The same with it."""


@dataclass(frozen=True)
class Blame:
    """The first pass after which a check fails."""

    record: Compilation
    """Of the pipeline whose pass it is, with the module after every pass that changes it."""
    found: Found
    index: int
    """The position of the pass in the record, from 1."""
    finding: Finding
    """What the check says after it."""
    rewrite: RewriteBlame | None = None
    no_rewrite: str | None = None
    """Why none of its rewrites is named although one was asked for."""

    @property
    def before(self) -> int:
        """The position of the last pass before it that changed the module, 0 for the traced one."""
        return max(each for each in stages_of(self.record).indices if each < self.index)


def first_failing_pass(
    subject: Subject, check: Check, folder: Path, *, which_rewrite: bool = False, tell: Tell = lambda text: None
) -> Blame:
    """The first pass of the subject's pipeline after which `check` fails on the module.

    It has to pass on the module as it is given, and to fail in the end; a pass in between is found for which it passes
    before and fails after. The record goes into `folder`. Raises `Error` where there is no such pass.
    """
    record, failure = _compiled(subject.without_code(), folder)
    stages = stages_of(record)
    pipeline, offset = Pipeline.parse(record.pipeline), passes_behind(record)
    names = pipeline.selectors()

    def finding_after(index: int) -> Finding:
        finding = check(stages.after(index).text.encode(), ".mlir")
        tell(f"after {names[index - offset - 1] if index > offset else 'no pass'}: {_told(finding)}")
        return finding

    first, *changed = stages.indices
    if (finding := finding_after(first)).verdict != "passes":
        raise Error(
            "the check does not pass on the module as it is given",
            notes=[finding.line] if finding.line else [],
            hints=["no pass is to blame; the check has to pass before the first one"],
        )
    if not changed and failure:
        raise Error(
            failure.message,
            notes=["no pass before it changes the module: there is nothing to ask the check of"],
            hints=["without a check, it is the failing pass that is looked for"],
        )
    if not changed:
        raise Error("no pass changes the module")
    if (finding := finding_after(changed[-1])).verdict != "fails":
        raise Error(
            f"the check does not fail after the last pass that changes the module, {names[changed[-1] - offset - 1]}",
            notes=[*([finding.line] if finding.line else []), *([failure.message] if failure else [])],
        )
    findings = {changed[-1]: finding}

    def state_at(index: int) -> State:
        findings[index] = finding_after(index)
        return _STATES[findings[index].verdict]

    # The last is known to be bad.
    good, bad, tried = boundary(changed[:-1], state_at)
    index = changed[bad]
    found = Found(
        names[changed[good] - offset - 1] if good >= 0 else None,
        names[index - offset - 1],
        tuple(names[each - offset - 1] for each in changed[good + 1 : bad]),
        tried + 2,
    )
    blame = Blame(record, found, index, findings[index])
    if not which_rewrite:
        return blame

    def with_limit(limited: LimitedPass, text: str) -> Finding:
        return check(text.encode(), ".mlir")

    return _with_rewrite(blame, subject, pipeline, offset, with_limit, tell)


def first_differing_pass(
    subject: Subject,
    against: Subject,
    check_beside: CheckBeside,
    folder: Path,
    *,
    failing: bool = False,
    which_rewrite: bool = False,
    tell: Tell = lambda text: None,
) -> Blame:
    """The first pass of the subject's pipeline with which a check fails on what comes of the rest of `against`.

    `against` is the same module through another pipeline, for which the check passes; through the same code generator.
    `check_beside` makes the check, from what that one compiles to. With `failing`, not to compile counts as failing,
    else as what cannot be told. Raises `Error` where no pass makes the difference.
    """
    record, failure = _compiled(subject, folder)
    norm = lower_in_worker(against.through_generator_of(record).request())
    check = check_beside(norm)
    if (finding := check(norm)).verdict != "passes":
        raise Error(
            "the check does not pass through the pipeline to compare with",
            notes=[finding.line] if finding.line else [],
        )
    pipeline, rest = Pipeline.parse(record.pipeline), Pipeline.parse(norm.pipeline)
    finding = Finding("fails" if failing else "unknown", failure.message) if failure else check(record)
    tell(f"all passes: {_told(finding)}")
    if finding.verdict != "fails":
        raise Error("the check does not fail through this pipeline", notes=[finding.line] if finding.line else [])
    findings: dict[int, Finding] = {}

    def finding_of(passes: Pipeline) -> Finding:
        options = replace(subject.options, pipeline=passes, edits=(), start_after=None, stop_after=None)
        try:
            return check(lower_in_worker(subject.request(options)))
        except Error as error:
            return Finding("fails" if failing else "unknown", error.message)

    def state_at(count: int) -> State:
        findings[count] = finding_of(splice(pipeline, count, rest))
        tell(f"up to {pipeline.selectors()[count - 1]}, then the other: {_told(findings[count])}")
        return _STATES[findings[count].verdict]

    offset = passes_behind(record)
    changing = [step.index - offset - 1 for step in record.steps if step.changed or step.status == "failed"]
    counts = points(pipeline, rest, changing)
    if not counts:
        raise Error("the two pipelines do the same to the module up to code generation")
    found = search(pipeline, counts, state_at)
    if found.first_bad == "code generation":
        raise _no_pass(found, findings)
    count = pipeline.positions(found.first_bad)[0] + 1
    blame = Blame(record, found, offset + count, findings.get(count, finding))
    if not which_rewrite:
        return blame

    def with_limit(limited: LimitedPass, text: str) -> Finding:
        passes = list(pipeline.passes)
        passes[count - 1] = limited
        return finding_of(splice(Pipeline(tuple(passes)), count, rest))

    return _with_rewrite(blame, subject, pipeline, offset, with_limit, tell)


def _no_pass(found: Found, findings: Mapping[int, Finding]) -> Error:
    """That the difference is still there when all passes have run that may make it."""
    behind = f"up to {found.last_good}, then the other pipeline: the check passes" if found.last_good else ""
    if found.unknown:
        lines = dict.fromkeys(finding.line for finding in findings.values() if finding.verdict == "unknown")
        return Error(
            "it cannot be told which pass makes the difference",
            notes=[
                *([behind] if behind else []),
                f"it may be one of {', '.join(found.unknown)}, or the code generator",
                *(line for line in lines if line),
            ],
        )
    return Error(
        "no pass makes the difference: it comes with the code generator",
        notes=[behind] if behind else [],
        hints=["--backend compiles through the other code generator"],
    )


def _compiled(subject: Subject, folder: Path) -> tuple[Compilation, Error | None]:
    """The record, with every stage, and why it ended early."""
    try:
        return lower_in_worker(subject.request(subject.dumping(), folder)), None
    except PassError as error:
        return read_folder(folder), error


def passes_behind(record: Compilation) -> int:
    """How many passes the module had behind it when it was given."""
    return record.steps[0].index - 1 if record.steps else 0


def _told(finding: Finding) -> str:
    return f"{finding.verdict}, {finding.line}" if finding.line else finding.verdict


def _with_rewrite(
    blame: Blame,
    subject: Subject,
    pipeline: Pipeline,
    offset: int,
    check: Callable[[LimitedPass, str], Finding],
    tell: Tell,
) -> Blame:
    """The same, with the rewrite of the pass after which `check` fails, of the pass and the module it leaves."""
    pass_ = pipeline.passes[blame.index - offset - 1]
    if pass_.provider == "wheel":
        return replace(blame, no_rewrite=f"{pass_.name} is the wheel's: its rewrites cannot be counted")
    # With its locations, which the stages of a record do not have.
    earlier = Pipeline(pipeline.passes[: blame.index - offset - 1])
    before: str = isolation.call(
        "cutecc.workbench.first_rewrites:located_module", subject.module, subject.source, earlier
    )
    try:
        made, _, _ = limited_run(before, pass_, None)
    except Error as error:
        return replace(blame, no_rewrite=f"how many {pass_.name} makes is not known: {error.message}")
    if not made:
        return replace(blame, no_rewrite=f"{pass_.name} makes its changes at once, none by one")
    texts: dict[int, tuple[str, Rewrite | None]] = {}

    def run(limit: int) -> str:
        if limit not in texts:
            _, text, last = limited_run(before, pass_, limit)
            texts[limit] = (text, last)
        return texts[limit][0]

    def state_at(limit: int) -> State:
        try:
            finding = check(LimitedPass(pass_, limit), run(limit))
        except Error as error:
            finding = Finding("unknown", error.message)
        tell(f"{limit} of {made} rewrites: {_told(finding)}")
        return _STATES[finding.verdict]

    limits = range(made + 1)
    good, bad, _ = boundary(limits, state_at)
    if bad > made:
        return replace(blame, no_rewrite=f"the check fails with no number of {pass_.name}'s {made} rewrites alone")
    if good < 0 and bad:
        return replace(blame, no_rewrite=f"of the first {bad} of its {made} rewrites it cannot be told")
    if good < 0:
        return replace(blame, no_rewrite=f"the check fails also when {pass_.name} makes none of its {made} rewrites")
    before_it, after_it = run(good), run(bad)
    rewrite = texts[bad][1]
    assert rewrite is not None
    return replace(blame, rewrite=RewriteBlame(bad, made, rewrite, bad - good - 1, before_it, after_it))


def limited_run(module: str, pass_: Pass, limit: int | None) -> tuple[int, str, Rewrite | None]:
    """How many rewrites `pass_` makes of `module` where it may make `limit`, what it leaves, and the last of them.

    In a process of its own. Raises `Error` for a pass that fails or aborts.
    """
    return isolation.call("cutecc.workbench.first_rewrites:run_limited", module, pass_, limit, fork=True)
