"""Deadlocks at mbarriers: bytes that do not fit, arrivals that do not come, a wait for the wrong phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cutecc.emulator.deadlocks.waits import Cause, Wait, Waits, brings, counted, is_same_line, listed
from cutecc.emulator.machine.lanes import WARP

if TYPE_CHECKING:
    from cutecc.emulator.instructions.mbarrier_ledger import Entry
    from cutecc.emulator.instructions.mbarrier_object import Mbarrier
    from cutecc.emulator.instructions.operation import Operation

_ANNOUNCE = "mbarrier_arrive_and_expect_tx"
_STORES = {"st", "stmatrix"}


def bytes_cause(waits: Waits, barrier: Mbarrier) -> Cause | None:
    """More bytes came than were announced, or fewer; `None` where they agree, or others would still bring some."""
    if barrier.missing_bytes < 0:
        return too_many_bytes(barrier, waits.name(barrier))
    if barrier.missing_bytes > 0:
        return _too_few_bytes(waits, barrier)
    return None


def too_many_bytes(barrier: Mbarrier, name: str) -> Cause:
    """Copies that nobody has announced may belong to earlier phases: all are added up."""
    announced, brought = (barrier.ledger.altogether(deed) for deed in ("announces", "brings"))
    if cause := _by_whole_warp(brought, sum(each.amount for each in announced), "issue it, and each brings"):
        return cause
    came, times = sum(each.amount for each in brought), sum(each.times for each in announced)
    evidence = [f"{_amounts(announced, 'announced')}; {_amounts(brought, 'came')}"]
    if not announced:
        copy = brought[0]
        text = f"bytes come to {name} that nobody announces"
        mend = f"announce them before the copy: {_ANNOUNCE}(…, {came // (copy.times or 1)})"
        return Cause(text, evidence, mend, copy.operation, _first(copy))
    text = f"the copies bring {-barrier.missing_bytes:,} bytes more than are announced to {name}"
    return Cause(text, evidence, _announce(came, times), announced[0].operation, _first(announced[0]))


def _too_few_bytes(waits: Waits, barrier: Mbarrier) -> Cause | None:
    name = waits.name(barrier)
    announced, brought = (barrier.ledger.present(deed) for deed in ("announces", "brings"))
    came = sum(each.amount for each in brought)
    if not announced:
        return None
    first = announced[0]
    if cause := _by_whole_warp(announced, came, "announce, each"):
        return cause
    text = f"no copy completes at {name}, to which {counted(barrier.missing_bytes, 'byte')} are announced"
    evidence = [_amounts(announced, "announced")]
    if brought:
        text = f"the copies bring {barrier.missing_bytes:,} bytes fewer than are announced to {name}"
        evidence = [f"{evidence[0]}; {_amounts(brought, 'came')}"]
    if failed := next((each for each in waits.machine.faulted if brings(each)), None):
        return Cause(text, evidence, f"the copy at {failed.where} is not made, for what is said of it above", failed)
    for other, entry in waits.entries("brings", barrier):
        if brought and not barrier.missing_bytes == entry.amount == -other.missing_bytes:
            continue
        evidence.append(f"the copy at {entry.operation.where} completes at {waits.name(other).removeprefix('the ')}")
        return Cause(text, evidence, "give the copy the mbarrier that is waited for", entry.operation, _first(entry))
    if brought:
        mend = _announce(came, sum(each.times for each in announced))
        return Cause(text, evidence, mend, first.operation, _first(first))
    for copy in waits.never_executed("brings"):
        mend = f"no thread comes to {copy.where}, the copy that would: look at the branch that it is in"
        return Cause(text, evidence, mend, copy)
    mend = "give a copy this mbarrier, or announce no bytes: mbarrier_arrive"
    return Cause(text, evidence, mend, first.operation, _first(first))


def _by_whole_warp(entries: Sequence[Entry], fitting: int, what: str) -> Cause | None:
    """What threads of a warp do all, at one line or at several, where one alone would fit."""
    total = sum(each.amount for each in entries)
    by_warp = [each for each in entries if _is_by_warp(each)]
    for those in [*([each] for each in by_warp), by_warp]:
        if not those or total - sum(each.amount - each.amount // len(each.agents) for each in those) != fitting:
            continue
        first, *others = those
        threads, size = len(first.agents), first.amount // first.times
        text = f"{threads} threads of a warp {what} {size:,} bytes: {threads - 1} × {size:,} bytes too many"
        evidence = [f"the same at {listed(each.operation.where for each in others)}"] if others else []
        mend = "one thread of the warp is enough: put it under `with cute.arch.elect_one():`"
        return Cause(text, evidence, mend, first.operation, _first(first))
    return None


def _is_by_warp(entry: Entry) -> bool:
    """Whether several threads of one warp did the same."""
    agents = entry.agents
    return len(agents) > 1 and len({each // WARP for each in agents}) == 1 and not entry.amount % len(agents)


def _announce(came: int, times: int) -> str:
    if came % times:
        return f"announce as many bytes as the copies bring: {_ANNOUNCE}"
    return f"announce {came // times} bytes: {_ANNOUNCE}(…, {came // times})"


def _amounts(entries: Sequence[Entry], verb: str) -> str:
    """`announced are 512 bytes, by 1 thread at kernel.py:30:9`."""
    total = sum(each.amount for each in entries)
    if not entries:
        return f"{verb}: nothing"
    parts = [
        f"{counted(each.times, 'time')} {each.amount // each.times:,} bytes at {each.operation.where}"
        for each in entries
    ]
    return f"{verb}: {total:,} bytes ({listed(parts)})"


def arrivals_cause(waits: Waits, wait: Wait, barrier: Mbarrier) -> Cause:
    """Arrivals are missing, and nobody else that waits would bring them."""
    if barrier.expected - barrier.pending > 0:
        return some_arrived(waits, barrier)
    if wrong := wrong_phase(waits, wait, barrier):
        return wrong
    return _ended_early(waits, wait, barrier) if barrier.phase else _nobody(waits, barrier)


def some_arrived(waits: Waits, barrier: Mbarrier) -> Cause:
    name, arrived = waits.name(barrier), barrier.expected - barrier.pending
    came = barrier.ledger.present("arrives")
    evidence = [f"arrived: {listed(_arrivals(each) for each in came)}"]
    for before in barrier.ledger.before("arrives"):
        now = next((each for each in came if each.operation is before.operation), None)
        late = before.agents - (now.agents if now else set())
        if late:
            text = f"{name} waits for {barrier.expected} arrivals, and {arrived} {_come(arrived)}"
            those = f"{counted(len(late), 'thread')} that arrived in the phase before"
            evidence.append(
                f"{those}, at {before.operation.where}, {'does' if len(late) == 1 else 'do'} not come again"
            )
            mend = f"have all that arrive at {before.operation.where} go as many rounds as those that wait"
            return Cause(text, evidence, mend, before.operation, min(late))
    text = f"{name} waits for {counted(barrier.expected, 'arrival')}, and {arrived} {_come(arrived)}"
    init = barrier.ledger.initialised_by
    mend = f"name as many arrivals as come in each phase, mbarrier_init(…, {arrived}), or have the others arrive too"
    at = init or came[0]
    return Cause(text, evidence, mend, at.operation, _first(at))


def wrong_phase(waits: Waits, wait: Wait, barrier: Mbarrier) -> Cause | None:
    """Threads wait for the phase behind one that is complete, and that they have not waited for."""
    phase, _ = _passed(wait, barrier)
    if barrier.pending < barrier.expected or not barrier.phase or phase >= barrier.phase:
        return None
    before = barrier.ledger.before("arrives")
    if before and barrier.phase - phase > 1:
        return _phases_missed(waits, barrier, phase, before)
    text = (
        f"{waits.name(barrier)} has completed {counted(barrier.phase, 'phase')}, and the wait is for the next one, at "
        "which nobody arrives"
    )
    evidence = [f"arrived in the last phase: {listed(_arrivals(each) for each in before)}"]
    mend = f"the wait for the phase that is complete takes parity {1 - barrier.parity}"
    return Cause(text, evidence, mend, waits.program.operations[wait.place])


def _phases_missed(waits: Waits, barrier: Mbarrier, waited_for: int, before: Sequence[Entry]) -> Cause:
    """Those that arrive went on to further phases before anybody has waited for the one before."""
    at = before[0]
    text = (
        f"{waits.name(barrier)} has completed {counted(barrier.phase, 'phase')}, of which those that wait have waited "
        f"for {waited_for}: who arrives does not wait for them, or more arrive than it counts"
    )
    evidence = [f"arrived in the last phase: {listed(_arrivals(each) for each in before)}"]
    mend = (
        f"before they arrive again at {at.operation.where}, have them wait until the others are done with the phase; "
        f"and mbarrier_init names all that arrive in a phase, now {barrier.expected}"
    )
    return Cause(text, evidence, mend, at.operation, _first(at))


def _passed(wait: Wait, barrier: Mbarrier) -> tuple[int, Operation | None]:
    """Of the phases that are complete, how many the waiting threads have waited for, and where they did last."""
    found = [barrier.ledger.last_wait(fragment.gang, row) for fragment, row in wait.rows]
    return max(found, key=lambda each: each[0], default=(0, None))


def _ended_early(waits: Waits, wait: Wait, barrier: Mbarrier) -> Cause:
    before = barrier.ledger.before("arrives")
    if before and len(barrier.ledger.seen) < barrier.phase:
        # Whole phases went by between two waits: that the parity was right again said nothing.
        return _phases_missed(waits, barrier, len(barrier.ledger.seen), before)
    complete = f"{counted(barrier.phase, 'phase')} {'is' if barrier.phase == 1 else 'are'} complete"
    text = f"{waits.name(barrier)} is waited for once more than it completes: {complete}, and nobody arrives again"
    evidence = [f"arrived in the last phase: {listed(_arrivals(each) for each in before)}"] if before else []
    operation = waits.program.operations[wait.place]
    _, last = _passed(wait, barrier)
    if last is not None and not is_same_line(last, operation):
        mend = f"one wait for each phase is enough: the last one was waited for at {last.where}"
        return Cause(text, evidence, mend, operation)
    if not before:
        return Cause(text, evidence, "have those that arrive go as many rounds as those that wait", operation)
    at = before[0]
    mend = f"have those that arrive at {at.operation.where} go as many rounds as those that wait at {operation.where}"
    return Cause(text, evidence, mend, at.operation, _first(at))


def _nobody(waits: Waits, barrier: Mbarrier) -> Cause:
    name, init = waits.name(barrier), barrier.ledger.initialised_by
    for operation in waits.never_executed("arrives"):
        text = f"no thread arrives at {name}"
        a = f"{'a' if _is_commit(operation) else 'an'} {_arrival_name(operation)}"
        mend = f"no thread comes to {operation.where}, {a}: look at the branch that it is in"
        return Cause(text, [], mend, operation)
    elsewhere = [(other, entry) for other, entry in waits.entries("arrives", barrier) if not _is_awaited(waits, other)]
    for other, entry in elsewhere:
        text = f"no instruction that ran arrives at {name}"
        evidence = [f"{_arrivals(entry)} arrive at {waits.name(other).removeprefix('the ')}, for which nobody waits"]
        mend = f"{_arrival_name(entry.operation)} at the mbarrier that is waited for, at {entry.operation.where}"
        return Cause(text, evidence, mend, entry.operation, _first(entry))
    if cause := _not_in_mask(waits, barrier):
        return cause
    text = f"no instruction of the kernel arrives at {name}"
    mend = (
        f"{counted(barrier.expected, 'arrival')} {'has' if barrier.expected == 1 else 'have'} to come in each phase: "
        "mbarrier_arrive by those that it waits for"
    )
    if any(each.form.opcode == "tcgen05" and each.form.modifiers[0] == "mma" for each in waits.program.operations):
        mend += ", or tcgen05.commit behind multiplications"
    if announced := barrier.ledger.altogether("announces"):
        mend = f"an announcement alone is no arrival: {_ANNOUNCE}"
        return Cause(text, [_amounts(announced, "announced")], mend, announced[0].operation, _first(announced[0]))
    if init is None:
        return Cause(text, [], mend, waits.program.operations[waits.all[0].place])
    return Cause(text, [f"initialised at {init.operation.where}"], mend, init.operation, _first(init))


def _not_in_mask(waits: Waits, barrier: Mbarrier) -> Cause | None:
    """A multicast that arrives at the same place of other blocks."""
    stride = waits.machine.memory.shared_stride
    for other, entry in waits.entries("arrives", barrier):
        if entry.operation.form.has("multicast::cluster") and not (other.index - barrier.index) % stride:
            what = _arrival_name(entry.operation)
            text = f"nobody arrives at {waits.name(barrier)}, and a {what} does in other blocks"
            block = waits.machine.blocks[barrier.index // stride]
            mend = f"its mask has to name the block that waits: bit {block.rank} is that of {block.name}"
            return Cause(text, [f"it arrives at {waits.name(other)}"], mend, entry.operation, _first(entry))
    return None


def _is_commit(operation: Operation) -> bool:
    return operation.form.opcode == "tcgen05"


def _arrival_name(operation: Operation) -> str:
    return "tcgen05.commit" if _is_commit(operation) else "mbarrier_arrive"


def _is_awaited(waits: Waits, barrier: Mbarrier) -> bool:
    """Whether a completed phase of it has been waited for, or anybody waits for it now."""
    return any(phase for phase, _ in barrier.ledger.passed.values()) or any(each.on is barrier for each in waits.all)


def all_wait_first(waits: Waits, found: Sequence[tuple[Wait, Mbarrier]]) -> Cause:
    """All wait for mbarriers at which those would arrive that wait at the others: one has to begin."""
    wait, barrier = max(found, key=lambda each: _fills(waits, each[0].place))
    operation = waits.program.operations[wait.place]
    others = listed(sorted({waits.program.operations[each.place].where for each, _ in found if each is not wait}))
    text = f"the first wait for {waits.name(barrier)} is for what is done only behind the waits at {others}"
    mend = (
        "a producer's first wait for an empty stage takes parity 1: a new mbarrier counts as past its phase 1, and the "
        "wait passes at once"
    )
    return Cause(text, [], mend, operation)


def _fills(waits: Waits, place: int) -> bool:
    """Whether threads write shared memory, or announce copies to it, between a wait and the next arrival."""
    for operation in waits.program.operations[place + 1 :]:
        form = operation.form
        if form.has("expect_tx") or form.has("mbarrier::complete_tx::bytes"):
            return True
        if form.opcode in _STORES and any(each.startswith("shared") for each in form.modifiers):
            return True
        if form.opcode == "cp" and form.modifiers[:2] == ("async", "ca"):
            return True
        if form.opcode == "mbarrier" and form.modifiers[0] == "arrive":
            return False
    return False


def _come(count: int) -> str:
    return "comes" if count == 1 else "come"


def _arrivals(entry: Entry) -> str:
    return f"{counted(len(entry.agents), 'thread')} at {entry.operation.where}"


def _first(entry: Entry) -> int | None:
    return min(entry.agents, default=None)
