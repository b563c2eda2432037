"""`mbarrier`: barriers in shared memory that count arrivals and the bytes of asynchronous copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.emulator.instructions import mbarrier_object
from cutecc.emulator.instructions.issuer import misaligned
from cutecc.emulator.instructions.mbarrier_ledger import Deed, Entry
from cutecc.emulator.instructions.mbarrier_object import Mbarrier, Wrong
from cutecc.emulator.instructions.operation import Operation, Reader, computing
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.fragment import Waiting
from cutecc.emulator.machine.lanes import WARP, Array, Lanes, Mask
from cutecc.ptx.syntax import Sink

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang

_SPACE = "{shared,shared::cta,shared::cluster}?"
_ORDER = "{relaxed,release,acquire}?.{cta,cluster}?"


@instruction(f"mbarrier.init.layout::v0?.{_SPACE}.b64")
def init(operation: Operation) -> Step:
    return _plain(operation, mbarrier_object.initialise)


@instruction(f"mbarrier.expect_tx.{_ORDER}.{_SPACE}.b64")
def expect_tx(operation: Operation) -> Step:
    return _plain(operation, mbarrier_object.expect_bytes, "announces")


@instruction(f"mbarrier.complete_tx.{_ORDER}.{_SPACE}.b64")
def complete_tx(operation: Operation) -> Step:
    return _plain(operation, mbarrier_object.complete_bytes, "brings")


def _plain(operation: Operation, act: Callable[[Any, int, int, Wrong], None], deed: Deed | None = None) -> Step:
    """An instruction with an address and a number, without a result; `mbarrier.init` without a deed."""
    address, number = operation.address(operation.operands[0]), operation.reader(operation.operands[1], "u32")
    needs = deed is not None

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        numbers = np.broadcast_to(number(gang), gang.shape)
        for index, mask in _mbarriers(operation, gang, lanes, address, needs):
            values = numbers[mask].tolist()
            if deed is not None and (barrier := mbarrier_object.find(gang.machine, index)) is not None:
                barrier.ledger.note(deed, operation, gang, mask, len(values), sum(values))
            for value in values:
                act(gang.machine, index, value, _misuse(operation, gang, mask, index))
            if deed is None:
                mbarrier_object.note_initialisation(gang, mask, index)
                _remember_initialisation(operation, gang, mask, index)

    return step


def _remember_initialisation(operation: Operation, gang: Gang, mask: Mask, index: int) -> None:
    barrier = mbarrier_object.find(gang.machine, index)
    if barrier is not None:
        barrier.ledger.initialised_by = Entry("arrives", operation, 1, barrier.expected, [(gang, mask)])


@instruction(f"mbarrier.inval.{_SPACE}.b64")
def inval(operation: Operation) -> Step:
    address = operation.address(operation.operands[0])

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        for index, _ in _mbarriers(operation, gang, lanes, address, needs=True):
            mbarrier_object.invalidate(gang.machine, index)

    return step


@instruction(
    f"mbarrier.{{arrive,arrive_drop}}.expect_tx?.{_ORDER}.{_SPACE}.b64",
    f"mbarrier.{{arrive,arrive_drop}}.noComplete.{_ORDER}.{_SPACE}.b64",
)
def arrive(operation: Operation) -> Step:
    """Arrivals, perhaps with bytes to expect. The result, a state, is the object as it was."""
    form = operation.form
    result, place, *rest = operation.operands
    address = operation.address(place)
    read: Reader = operation.reader(rest[0], "u32") if rest else lambda gang: np.uint32(1)
    write = None if isinstance(result, Sink) else operation.writer(result, "b64")
    expects, drop = form.has("expect_tx"), form.modifiers[0] == "arrive_drop"

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        numbers = np.broadcast_to(read(gang), gang.shape)
        states = np.zeros(gang.shape, np.uint64)
        for index, mask in _mbarriers(operation, gang, lanes, address, needs=True):
            elected = _is_elected(operation, gang, mask, index)
            for part, arrivals, announced in _at_once(gang, index, mask, numbers, expects):
                barrier = mbarrier_object.find(gang.machine, index)
                if barrier is None:
                    continue
                gang.machine.watch.release(gang, Lanes(part), operation, barrier.key)
                if write is not None:
                    states[part] = _states(barrier, numbers[part], expects)
                wrong = _misuse(operation, gang, part, index) if elected else mbarrier_object.unheard
                times = int(np.count_nonzero(part))
                barrier.ledger.note("arrives", operation, gang, part, times, arrivals)
                if announced:
                    barrier.ledger.note("announces", operation, gang, part, times, announced)
                    mbarrier_object.expect_bytes(gang.machine, index, announced, wrong)
                mbarrier_object.arrive(gang.machine, index, arrivals, wrong, drop=drop)
        if write is not None:
            write(gang, lanes, states)

    return step


def _at_once(gang: Gang, index: int, mask: Mask, numbers: Array, expects: bool) -> Iterator[tuple[Mask, int, int]]:
    """Threads that arrive in one phase, their arrivals, and the bytes they announce; one by one where phases end."""
    values = numbers[mask].astype(np.int64)
    arrivals = len(values) if expects else int(values.sum())
    barrier = mbarrier_object.find(gang.machine, index)
    if barrier is not None and arrivals <= barrier.pending:
        yield mask, arrivals, int(values.sum()) if expects else 0
        return
    for place, value in zip(np.flatnonzero(mask), values, strict=True):
        yield gang.mask(divmod(int(place), WARP)), 1 if expects else int(value), int(value) if expects else 0


def _is_elected(operation: Operation, gang: Gang, mask: Mask, index: int) -> bool:
    """Whether no more threads of a warp arrive than the single one that is waited for; else says so."""
    barrier, threads = mbarrier_object.find(gang.machine, index), int(np.count_nonzero(mask))
    if barrier is None or barrier.expected > 1 or threads == 1 or np.count_nonzero(mask.any(axis=1)) > 1:
        return True
    text = f"arrives with {threads} threads of a warp at an mbarrier that waits for 1 arrival"
    mend = "one thread of the warp is enough: put it under `with cute.arch.elect_one():`"
    _misuse(operation, gang, mask, index)(f"{text}\n{mend}")
    return False


def _states(barrier: Mbarrier, numbers: Array, expects: bool) -> Array:
    """The object as each thread in turn finds it."""
    counts = np.ones(len(numbers), np.uint64) if expects else numbers.astype(np.uint64)
    before = np.cumsum(counts) - counts
    return np.uint64(barrier.bits) - (before << np.uint64(mbarrier_object.PENDING_SHIFT))


@instruction("mbarrier.pending_count.b64")
def pending_count(operation: Operation) -> Step:
    def pending(state: Array) -> Array:
        return (state >> np.uint64(mbarrier_object.PENDING_SHIFT)).astype(np.uint32) & mbarrier_object.COUNT_MASK

    count, state = operation.operands
    return computing(pending, [operation.reader(state, "b64")], [operation.writer(count, "u32")])


@instruction(f"mbarrier.{{test_wait,try_wait}}.parity?.{_ORDER}.{_SPACE}.b64")
def wait(operation: Operation) -> Step:
    """Whether a phase is over. `try_wait` waits for it, until nobody else can go on either: then it gives up."""
    form = operation.form
    result, place, which, *_ = operation.operands
    write, address = operation.writer(result, "pred"), operation.address(place)
    read = operation.reader(which, "u32" if form.has("parity") else "b64")
    blocks = form.modifiers[0] == "try_wait"

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        machine = gang.machine
        parity = np.broadcast_to(read(gang), gang.shape) & 1
        found = _mbarriers(operation, gang, lanes, address, needs=True)
        # Threads without an mbarrier have been told of; they do not wait for ever.
        over = lanes.mask & ~np.logical_or.reduce([mask for _, mask in found], axis=0) if found else lanes.mask
        late: list[tuple[Mbarrier, Mask]] = []
        for index, mask in found:
            barrier = mbarrier_object.find(machine, index)
            assert barrier is not None
            barrier.used = True
            done = mask & (parity != barrier.parity)
            over = over | done
            has_passed = done.any()
            if has_passed:
                barrier.ledger.passes(operation, gang, done, barrier.phase)
            if machine.watch.listens and has_passed:
                machine.watch.acquire(gang, Lanes(done), operation, barrier.finished_key)
            if (missing := mask & ~done).any():
                late.append((barrier, missing))
        if not late or not blocks or machine.impatient:
            write(gang, lanes, over)
            return None
        done = lanes.only(over)
        if done.any():
            write(gang, done, over)

        def awaited(row: int) -> Mbarrier:
            return next(barrier for barrier, mask in late if mask[row].any())

        return Waiting(lanes.mask & ~over, lambda row: describe(gang, awaited(row)), gives_up=True, on=awaited)

    return step


def describe(gang: Gang, barrier: Mbarrier) -> str:
    """What threads wait for: `parity 0 of the mbarrier at shared+16: 2 arrivals missing; …`."""
    place = _place(gang, barrier.index)
    phases = "no phase is" if not barrier.phase else f"{barrier.phase} phase{'s are' if barrier.phase > 1 else ' is'}"
    return f"parity {barrier.parity} of the mbarrier at {place}: {barrier.missing()}; {phases} complete so far"


def _place(gang: Gang, index: int) -> str:
    memory = gang.machine.memory
    slot, offset = divmod(index, memory.shared_stride)
    text = memory.describe("shared", offset)
    block = gang.machine.blocks[slot]
    return text if all(each is block for each in gang.blocks) else f"{text} of {block.name}"


def _mbarriers(operation: Operation, gang: Gang, lanes: Lanes, address: Reader, needs: bool) -> list[tuple[int, Mask]]:
    """The mbarriers that threads name, by their index in `Memory.shared`, each with its threads.

    Threads whose address is none of shared memory, or with `needs` not of an mbarrier, are left out with a fault.
    """
    machine = gang.machine
    addresses = address(gang)
    lanes = misaligned(operation, gang, lanes, addresses, 8, "shared", "the address of an mbarrier")
    if not lanes.any():
        return []
    places = machine.memory.shared_index(gang, lanes, addresses)
    used = places[lanes.mask]
    first = int(used[0])
    groups = [first] if (used == first).all() else [int(each) for each in np.unique(used)]
    found: list[tuple[int, Mask]] = []
    for index in groups:
        machine.watch.mbarrier_used(index)
        mask = lanes.mask if len(groups) == 1 else lanes.mask & (places == index)
        stride = machine.memory.shared_stride
        if index < 0 or index % stride + 8 > machine.memory.shared_bytes:
            text, describe = "uses an mbarrier outside of the block's shared memory", machine.memory.describer
            machine.fault("out-of-bounds", text, operation, gang, mask, describe("shared", addresses))
        elif needs and mbarrier_object.find(machine, index) is None:
            text = f"uses {mbarrier_object.absence(machine, index)}"
            machine.fault("mbarrier", text, operation, gang, mask, _place(gang, index))
        else:
            if needs and (gang.block_slots * stride + index % stride != index)[mask.any(axis=1)].any():
                _check_announced(operation, gang, mask, index)
            found.append((index, mask))
    return found


def _check_announced(operation: Operation, gang: Gang, mask: Mask, index: int) -> None:
    """Threads use the mbarrier of another block."""
    if mbarrier_object.is_unannounced(gang.machine, index):
        _misuse(operation, gang, mask, index)(f"uses an mbarrier of another block {mbarrier_object.UNANNOUNCED}")


def _misuse(operation: Operation, gang: Gang, mask: Mask, index: int) -> Wrong:
    """Reports what is wrong with what these threads do to an mbarrier."""

    def report(message: str) -> None:
        machine = gang.machine
        if machine.collect is not None:
            place = _place(gang, index)
            machine.report(machine.finding("mbarrier", message, operation, gang, mask, place))

    return report
