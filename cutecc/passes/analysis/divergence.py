"""How far a value can differ between the threads of a block or cluster: backwards, over what it depends on."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cutecc.ir.constants import constant_of
from cutecc.ir.mlir import ir
from cutecc.passes.analysis.equality import Equality, yielded
from cutecc.passes.analysis.loops import deciding, enclosing, end_of, side_of
from cutecc.passes.analysis.register_views import is_in_registers


class Divergence(enum.IntEnum):
    """Between whom a value can differ."""

    NONE = 0
    """All threads of the cluster have the same."""
    BLOCKS = 1
    """Blocks of a cluster may have different ones, the threads of a block have the same."""
    WARPS = 2
    """Warps may have different ones, the threads of a warp have the same."""
    LANES = 3
    """Any two threads may have different ones."""


class _Between(enum.Flag):
    """The same, each by itself: the lane's number differs within a warp, and is the same in each of them."""

    NONE = 0
    BLOCKS = 1
    WARPS = 2
    LANES = 4

    @property
    def farthest(self) -> Divergence:
        return max((each for each in Divergence if each and _Between[each.name] in self), default=Divergence.NONE)


_THREADS = _Between.WARPS | _Between.LANES
_REGISTERS = {
    **dict.fromkeys(("tid.x", "tid.y", "tid.z"), _THREADS),
    "laneid": _Between.LANES,
    "warpid": _Between.WARPS,
    **dict.fromkeys(("cluster.ctarank", "cluster.ctaid.x", "cluster.ctaid.y", "cluster.ctaid.z"), _Between.BLOCKS),
}
_SOURCES = {f"nvvm.read.ptx.sreg.{name}": found for name, found in _REGISTERS.items()}
_PER_THREAD = ("nvvm.elect.sync", "nvvm.atomicrmw", "nvvm.match.sync", "llvm.atomicrmw")
_PER_WARP = ("cute_nvgpu.arch.make_warp_uniform", "nvvm.vote.sync", "nvvm.redux.sync")
_ASSEMBLY = (
    (re.compile(r"%(?:tid|laneid|lanemask|clock|globaltimer)|\b(?:elect|match|atom)\b"), _THREADS),
    (re.compile(r"%warpid|\bactivemask\b"), _Between.WARPS),
)
"""What inline assembly itself may ask for that threads get different answers to."""
_DIVISIONS = ("arith.floordivsi", "arith.divsi", "arith.divui")
_SHIFTS = ("arith.shrui", "arith.shrsi")
_COMMUTATIVE = {
    *(f"arith.{name}" for name in ("addf", "addi", "mulf", "muli", "andi", "ori", "xori")),
    *(f"arith.{name}" for name in ("maximumf", "minimumf", "maxnumf", "minnumf", "maxsi", "maxui", "minsi", "minui")),
    *("nvvm.fmax", "nvvm.fmin"),
}
_OF_LAYOUTS = ("!cute.layout", "!cute.composed_layout", "!cute.shape", "!cute.stride", "!cute.int_tuple")
_WARP = 32


@dataclass(frozen=True)
class _Part:
    """A value, or of a tensor its layout alone: what a slice of it has for a shape no coordinate decides."""

    value: ir.Value
    layout: bool = False


def divergence_of(value: ir.Value) -> Divergence:
    """How far `value` can differ between threads that compute it.

    Kernel arguments and block indices are the same for a block, and so is what all its threads load from one address;
    threads wait alike for what other threads write. Thread and lane indices, elections and atomics, and what an inline
    assembly makes of such, are not.
    """
    whole = _Part(value)
    equality = Equality()
    depends: dict[_Part, list[_Part]] = {}
    waiting = [whole]
    while waiting:
        each = waiting.pop()
        if each not in depends:
            depends[each] = list(_dependencies(each, equality))
            waiting += depends[each]
    found = dict.fromkeys(depends, _Between.NONE)
    order = list(reversed(found))
    changed = True
    while changed:
        changed = False
        for each in order:
            joined = _joined(found[other] for other in depends[each])
            new = joined if each.layout else _transferred(each.value, joined, found)
            if new not in found[each]:
                found[each] |= new
                changed = True
    return found[whole].farthest


def _joined(parts: Iterable[_Between]) -> _Between:
    joined = _Between.NONE
    for each in parts:
        joined |= each
    return joined


def _transferred(value: ir.Value, operands: _Between, found: Mapping[_Part, _Between]) -> _Between:
    """What an operation makes of its operands' divergence, which joins what is `found` of them so far."""
    if isinstance(value.owner, ir.Block):
        return operands
    operation = value.owner.operation
    name = operation.name
    if name in _SOURCES:
        return _SOURCES[name]
    if name in _PER_WARP:
        return operands & ~_Between.LANES
    if name == "nvvm.shfl.sync":
        return operands & ~_Between.LANES if _is_broadcast(operation, found) else operands
    if name == "llvm.inline_asm":
        text = str(operation)
        return operands | _joined(asked for pattern, asked in _ASSEMBLY if pattern.search(text))
    if name in _PER_THREAD:
        return _THREADS
    if name in _COMMUTATIVE and _is_of_whole_warp(value):
        return operands & ~_Between.LANES
    if _Between.LANES in operands and _divides_by_warps(operation):
        # A thread's number is taken to be divided, which gives its warp's.
        return operands & ~_Between.LANES | _Between.WARPS
    return operands


def _is_broadcast(shuffle: ir.Operation, found: Mapping[_Part, _Between]) -> bool:
    """Whether every lane of a warp reads the lane of one number."""
    _, _, lane, clamp = shuffle.operands
    is_indexed = "shfl_kind idx" in str(shuffle.attributes["kind"]) and constant_of(clamp) == _WARP - 1
    return is_indexed and _Between.LANES not in found[_Part(_seen_from(shuffle, lane))]


def _divides_by_warps(operation: ir.Operation) -> bool:
    """Whether it divides by a known multiple of a warp's threads."""
    if operation.name in _DIVISIONS:
        return (constant_of(operation.operands[1]) or 1) % _WARP == 0
    return operation.name in _SHIFTS and (constant_of(operation.operands[1]) or 0) >= _WARP.bit_length() - 1


def _is_of_whole_warp(value: ir.Value) -> bool:
    """Whether butterflies have made one value of those of all lanes, as `warp_reduction` does.

    With each, two lanes come to have the same. Those of independent distances, of which a warp has five, reach all.
    """
    reached = {0}
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _COMMUTATIVE:
        one, two, *_ = value.owner.operation.operands
        before, distance = (one, _distance(one, two)) if _distance(one, two) else (two, _distance(two, one))
        if not distance:
            break
        reached |= {each ^ distance for each in reached}
        value = before
    return len(reached) == _WARP


def _distance(value: ir.Value, other: ir.Value) -> int | None:
    """How far the lane is whose `value` a butterfly makes `other`; `None` where it is none."""
    if isinstance(other.owner, ir.Block) or other.owner.operation.name != "nvvm.shfl.sync":
        return None
    _, exchanged, lanes, clamp = other.owner.operation.operands
    kind = str(other.owner.operation.attributes["kind"])
    is_whole = "shfl_kind bfly" in kind and constant_of(clamp) == _WARP - 1
    return constant_of(lanes) if is_whole and exchanged == value else None


def _dependencies(part: _Part, equality: Equality) -> Iterator[_Part]:
    """What decides what `part` is."""
    value = part.value
    owner = value.owner
    if isinstance(owner, ir.Block):
        yield from (_Part(each, part.layout) for each in _of_argument(ir.BlockArgument(value)))
        return
    operation = owner.operation
    number = ir.OpResult(value).result_number
    operands = [_seen_from(operation, each) for each in operation.operands]
    if operation.name in ("scf.if", "scf.for", "scf.while"):
        yield from (_Part(each, part.layout) for each in _results_of(operation, number))
        if not equality.is_passed_on(value):
            yield from map(_Part, deciding(operation))
    elif part.layout:
        yield from _layouts_of(operands)
    elif "load" in operation.name and operands and (stored := _stored_in_registers(operation, equality)) is not None:
        yield from map(_Part, (*operands[1:], *stored))
    else:
        of_layout = str(value.type).startswith(_OF_LAYOUTS)
        yield from (_Part(each, of_layout and _is_tensor(str(each.type))) for each in operands)


def _layouts_of(operands: Iterable[ir.Value]) -> Iterator[_Part]:
    """What decides a tensor's layout: its place is its pointer's and coordinates' alone."""
    for operand in operands:
        text = str(operand.type)
        if text.startswith("!cute.") and not text.startswith(("!cute.ptr", "!cute.coord<")):
            yield _Part(operand, _is_tensor(text))


def _seen_from(operation: ir.Operation, value: ir.Value) -> ir.Value:
    """What `value` is at `operation`: a branch's result, in another branch of the same condition, is that side's."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name == "scf.if":
        branch, inside = value.owner.operation, operation
        for around in enclosing(operation):
            if around.name == "scf.if" and around.operands[0] == branch.operands[0]:
                value = list(yielded(branch, ir.OpResult(value).result_number))[side_of(inside, around)]
                break
            inside = around
        else:
            break
    return value


def _is_tensor(type_text: str) -> bool:
    return type_text.startswith(("!cute.memref", "!cute.coord_tensor"))


def _results_of(operation: ir.Operation, number: int) -> list[ir.Value]:
    """What a branch or loop may have as its result of this number."""
    if operation.name == "scf.while":
        return [end_of(operation.regions[0]).operands[1 + number]]
    first = [operation.operands[3 + number]] if operation.name == "scf.for" else []
    return [*first, *yielded(operation, number)]


def _of_argument(argument: ir.BlockArgument) -> list[ir.Value]:
    around = argument.owner.owner.operation
    number = argument.arg_number
    if around.name == "scf.for":
        if number == 0:
            return [around.operands[0], around.operands[2]]
        return [around.operands[2 + number], *yielded(around, number - 1)]
    if around.name == "scf.while":
        if argument.owner == around.regions[0].blocks[0]:
            return [around.operands[number], end_of(around.regions[1]).operands[number]]
        return [end_of(around.regions[0]).operands[1 + number]]
    return []


def _stored_in_registers(load: ir.Operation, equality: Equality) -> list[ir.Value] | None:
    """What is stored into the thread's own tensor that `load` reads, through whatever view, and what decides whether.

    `None` for other memory.
    """
    tensor = load.operands[0]
    if not is_in_registers(tensor):
        return None
    stored: list[ir.Value] = []
    # Whoever comes to the load has come by what is around it.
    around_load = set(enclosing(load))
    seen = {tensor}
    waiting = [tensor]
    while waiting:
        each = waiting.pop()
        for use in each.uses:
            user = use.owner.operation
            given = [operand for operand in user.operands if not is_in_registers(operand)]
            stored += given
            if given and not user.results:
                stored += (
                    value for around in enclosing(user) if around not in around_load for value in deciding(around)
                )
        for other in (*(part.value for part in _dependencies(_Part(each), equality)), *_made_of(each)):
            if is_in_registers(other) and other not in seen:
                seen.add(other)
                waiting.append(other)
    return stored


def _made_of(tensor: ir.Value) -> Iterator[ir.Value]:
    """Views of `tensor`, and what branches and loops that carry it call it."""
    for use in tensor.uses:
        user, number = use.owner.operation, use.operand_number
        around = user.block.owner.operation
        if user.name == "scf.yield" and around.name == "scf.while":
            yield around.regions[0].blocks[0].arguments[number]
        elif user.name == "scf.yield":
            yield around.results[number]
            if around.name == "scf.for":
                yield user.block.arguments[1 + number]
        elif user.name == "scf.condition":
            yield around.results[number - 1]
            yield around.regions[1].blocks[0].arguments[number - 1]
        elif user.name == "scf.for":
            yield user.results[number - 3]
            yield user.regions[0].blocks[0].arguments[number - 2]
        elif user.name == "scf.while":
            yield user.regions[0].blocks[0].arguments[number]
        else:
            yield from user.results
