"""What to know of a compilation first: occupancy, spills, remarks, the heaviest lines, how much of the code has a line.

The page and `cutecc explain` say the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from cutecc.backend.occupancy import Raise, least_raise
from cutecc.errors import SourceLocation, UsageError
from cutecc.record import Compilation, KernelResources, Remark
from cutecc.record.naming import short_kernel_name
from cutecc.record.stages import UserLines
from cutecc.report.frames import Line
from cutecc.report.grades import GRADES, SIGNS, badness, grade_of
from cutecc.report.local_memory import SpilledValue
from cutecc.report.mapping import KernelMix, LineMix, Mix, SpillingLine, Statements, share_text
from cutecc.support.locations import MARKS, REASONS, SURE, Frame
from cutecc.target import Target

_TOGETHER = "\N{NO-BREAK SPACE}"
_MOST = 3
"""Lines, and remarks, that are named."""
_MORE = {"severe": "severe"}
"""The plurals without an s."""


class Detail(msgspec.Struct, frozen=True, omit_defaults=True):
    """More about a fact."""

    text: str
    line: Line | None = None
    """The line of the user's that it is about, or that of a library."""


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to know."""

    about: str
    """`occupancy`, `spills`, `remarks`, `heaviest lines`, `mapping`, `failure`, `resumed`, `status`."""
    text: str
    """In a few words."""
    details: list[Detail] = []
    bad: bool = False
    """Whether something is wrong."""
    step: int | None = None
    """The position of the pass that it is about."""


class KernelVerdict(msgspec.Struct, frozen=True):
    """The facts of one kernel."""

    kernel: str
    """Its symbol."""
    name: str
    """What people call it."""
    facts: list[Fact]


class Verdict(msgspec.Struct, frozen=True):
    """The facts of a compilation."""

    facts: list[Fact]
    """Of no kernel alone."""
    kernels: list[KernelVerdict]


def verdict_of(compilation: Compilation, mix: Mix | None, lines: UserLines) -> Verdict:
    """What to know of `compilation` first; `mix` and `lines` are its instructions and its source, as far as known."""
    statements = Statements(lines)
    resources = {each.kernel: each for each in compilation.resources}
    mixes = {each.kernel: each for each in mix.kernels} if mix else {}
    has_lines = mix is not None and mix.line_info

    def facts(symbol: str) -> Iterator[Fact]:
        found = mixes.get(symbol)
        yield from _resource_facts(compilation.target, resources.get(symbol), found)
        yield from _line_facts(found, statements, has_lines=has_lines)

    symbols = dict.fromkeys([*resources, *mixes])
    kernels = [KernelVerdict(symbol, short_kernel_name(symbol), [*facts(symbol)]) for symbol in symbols]
    return Verdict([*_states(compilation), *_remarks(compilation, list(lines.sources))], kernels)


def _states(compilation: Compilation) -> Iterator[Fact]:
    if failure := compilation.failure:
        failed = next((each for each in reversed(compilation.steps) if each.status == "failed"), None)
        first = failure.message.strip().partition("\n")[0]
        place = f", at {failure.location}" if failure.location else ""
        yield Fact(
            "failure", f"{failure.stage} failed", [Detail(first + place)], True, failed.index if failed else None
        )
    elif compilation.status in ("interrupted", "running"):
        yield Fact("status", "not finished", [Detail(f"{len(compilation.steps)} passes ran")], bad=True)
    elif compilation.status == "stopped":
        last = compilation.steps[-1].index if compilation.steps else None
        yield Fact("status", "stopped as asked", [Detail("there may be no code")], step=last)
    if resumed := compilation.resumed:
        yield Fact("resumed", resumed.edit, [Detail(f"from {resumed.record} after {resumed.after}")])


def all_remarks(compilation: Compilation) -> list[Remark]:
    """What passes, analyses and the compilation said, the worst first."""
    said = [each.remarks for each in (*compilation.analyses, *compilation.steps)]
    return sorted((each for remarks in [*said, compilation.further_warnings] for each in remarks), key=badness)


def _remarks(compilation: Compilation, files: Sequence[str]) -> Iterator[Fact]:
    remarks = all_remarks(compilation)
    ran = sum(each.failure is None for each in compilation.analyses)
    if not remarks:
        looked = f"{_counted(ran, 'check')} found nothing" if ran else "no check has looked: cutecc check"
        if compilation.status == "ok":
            yield Fact("remarks", "none", [Detail(looked)])
        return
    counts = Counter(map(grade_of, remarks))
    text = ", ".join(
        f"{SIGNS[each]} {_counted(counts[each], each, _MORE.get(each))}" for each in GRADES if counts[each]
    )
    # As after unrolling, the same may be said of a line many times.
    distinct = dict[tuple[str | None, str], Remark]()
    for each in remarks:
        distinct.setdefault((each.location, each.message), each)
    details = [
        Detail(f"{SIGNS[grade_of(each)]} {each.message}", _line_of(each, files))
        for each in [*distinct.values()][:_MOST]
    ]
    yield Fact("remarks", text, details, bad=counts["error"] + counts["severe"] + counts["warning"] > 0)


def _line_of(remark: Remark, files: Sequence[str]) -> Line | None:
    place = SourceLocation.parse(remark.location or "")
    if not place.file or not place.line:
        return None
    named = (each for each in files if each == place.file or each.endswith(f"/{place.file}"))
    return next(named, place.file), place.line


def _resource_facts(target: str, found: KernelResources | None, mix: KernelMix | None) -> Iterator[Fact]:
    if found is None:
        return
    if found.occupancy is None:
        yield Fact("occupancy", "not known", [Detail("the block's size is known at the launch only")])
    else:
        used = found.occupancy
        blocks = (
            f"{used.blocks_per_sm} block{'s' if used.blocks_per_sm != 1 else ''} of {used.block_threads} threads an SM"
        )
        details = [Detail(f"{blocks}, limited by {' and '.join(used.limited_by)}")]
        if better := _raise(target, found):
            details.append(Detail(_raised(found, better)))
        yield Fact("occupancy", f"{used.percent}%", details)
    yield _spills(found, mix)


def _raise(target: str, found: KernelResources) -> Raise | None:
    assert found.occupancy is not None
    try:
        parsed = Target.of_ptx(target)
    except UsageError:
        return None
    return least_raise(
        parsed,
        registers=found.registers,
        threads=found.occupancy.block_threads,
        shared_bytes=_shared_bytes(found),
        barriers=found.barriers,
    )


def _raised(found: KernelResources, better: Raise) -> str:
    then = better.occupancy
    changes = [_change(found, resource, most) for resource, most in better.to.items()]
    most = "" if "threads" in better.to else "at most "
    return f"{most}{' and '.join(changes)}: {_counted(then.blocks_per_sm, 'block')}, {then.percent}%"


def _change(found: KernelResources, resource: str, most: int) -> str:
    if resource == "registers":
        return f"{most} registers (now {found.registers})"
    if resource == "shared memory":
        return f"{most:,} B of shared memory (now {_shared_bytes(found):,})"
    if resource == "barriers":
        return f"{most} barriers (now {found.barriers})"
    return f"blocks of {most} threads"


def _shared_bytes(found: KernelResources) -> int:
    return found.shared_static_bytes + (found.shared_dynamic_bytes or 0)


def _spills(found: KernelResources, mix: KernelMix | None) -> Fact:
    stores, loads = found.spill_store_bytes, found.spill_load_bytes
    if stores is None:
        return Fact("spills", "not known")
    if not stores and not loads:
        return Fact("spills", "none", [Detail(f"{found.registers} registers a thread")])
    details = [Detail(f"{stores:,} B stored, {loads or 0:,} B loaded; {found.registers} registers a thread")]
    if mix:
        details += [Detail(_accesses(each), (each.file, each.line)) for each in mix.spilling[:_MOST]]
        details += [_made(each) for each in mix.spilled[:_MOST]]
    return Fact("spills", f"{stores + (loads or 0):,} B", details, bad=True)


def _accesses(of: SpillingLine | SpilledValue) -> str:
    return f"{_counted(of.stores, 'store')}, {_counted(of.loads, 'load')}"


def _made(each: SpilledValue) -> Detail:
    """What spills, by the line that made it."""
    values = f"{_counted(each.values, 'value')} of {each.opcode}" if each.opcode else "what the kernel began with"
    said = f"{values} spill{'s' if each.values < 2 else ''}: {_accesses(each)}, {each.bytes:,} B"
    return Detail(said, (each.file, each.line) if each.file else None)


def _count(line: LineMix) -> int:
    return sum(line.classes.values())


def _line_facts(mix: KernelMix | None, statements: Statements, *, has_lines: bool) -> Iterator[Fact]:
    if mix is None or not mix.instructions:
        return
    total = mix.instructions
    if not has_lines:
        yield Fact("mapping", "no lines", [Detail(f"{total:,} SASS instructions; --line-info keeps their lines")])
        return
    heaviest = sorted(_statements(mix, statements), key=lambda each: (_is_library(each, statements), -_count(each)))
    details = [
        Detail(f"{_count(each):,} SASS, {_count(each) / total:.0%}", (each.file, each.line))
        for each in heaviest[:_MOST]
    ]
    if details:
        yield Fact("heaviest lines", "self", details)
    own = f", {mix.own / total:.1%} to a line of yours" if mix.own != mix.mapped else ""
    share, _, of = share_text(mix.mapped, total).partition(" ")
    yield Fact("mapping", share, [Detail(of + own), *map(Detail, _reasons(mix))])


def _reasons(mix: KernelMix) -> Iterator[str]:
    """What the share counts, and what the others are."""
    sure = sum(mix.reasons.get(each, 0) for each in SURE)

    said = {each: f"{MARKS[each]}{_TOGETHER}{mix.reasons.get(each, 0):,}{_TOGETHER}{each}" for each in REASONS}
    if not sure:
        yield f"by the line table alone: {', '.join(said.values())}"
        return
    # As in a `def`, or a library without source.
    elsewhere = f", {sure - mix.mapped:,}{_TOGETHER}of these of no statement" if sure > mix.mapped else ""
    # Together the two lines are all instructions.
    yield " + ".join(said.pop(each) for each in REASONS if each in SURE) + elsewhere
    yield f"the others: {', '.join(said.values())}"


def _statements(mix: KernelMix, statements: Statements) -> list[LineMix]:
    """The lines that are statements; all, where no source is known."""
    return [each for each in mix.lines if statements.holds(Frame(each.file, each.line, 0))] or mix.lines


def _is_library(line: LineMix, statements: Statements) -> bool:
    return statements.is_library(Frame(line.file, line.line, 0))


def _counted(count: int, one: str, more: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"
