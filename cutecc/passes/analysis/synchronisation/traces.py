"""What each warp of a cluster does at sites of synchronisation, one thing after another, as far as that can be known.

The kernel is gone through as some cluster of a launch with assumed sizes would: by all warps at once, each branch by
those that take it. Where memory, or what only a launch has, decides what a warp does next, its trace ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cutecc.ir.locations import nearest_location
from cutecc.ir.mlir import ir
from cutecc.memory_rules.warps import WARP, Array, Mask
from cutecc.passes.analysis import lanes
from cutecc.passes.analysis.evaluation import Machine
from cutecc.passes.analysis.operations import SEMANTICS, UNKNOWN, Known, width_of
from cutecc.passes.analysis.program import SHARED, Access, Block, KernelProgram, Node
from cutecc.passes.analysis.sample import Dim3, Sample, launches_of, sample_of
from cutecc.passes.analysis.synchronisation.copies import bytes_of_copies
from cutecc.passes.analysis.synchronisation.sites import MEMORY, ORDERING, Kind, Site, site_of

RANK = 24
"""The first bit of a block's rank in an address of the cluster's shared memory."""
_SIZE = 1024
"""What stands for sizes of a launch: enough tiles for a pipeline to wrap."""
_TURNS = 20
"""Of a loop with sites, and none inside that has some."""
_OUTER_TURNS = 3
_MOST_STEPS = 60_000
"""Operations that are gone through, all warps at once."""
_REGISTERS = ("cluster.ctarank", "cluster.nctarank", "cluster.ctaid", "cluster.nctaid")
_TOUCHES = (Kind.WRITE, Kind.READ, Kind.REMOTE_READ)
_VECTOR = "vector<2xi32>"
_REMAINDERS = ("arith.remsi", "arith.remui", "arith.andi")
_LOW = 0xFFFFFFFF
"""The low half of 64 bits."""
_PLACE = 0x3FFF
"""Of a descriptor: where its matrix begins, in pieces of 16 bytes."""
_LESS = 2
"""`slt`, as `arith.cmpi` numbers it."""
_LOOPS = ("scf.for", "scf.while")


@dataclass(frozen=True, slots=True)
class Event:
    """What threads of one warp do at a site, once."""

    site: Site
    threads: int
    """How many of the warp's."""
    addresses: Counter[int] | None = None
    """Of mbarriers, in the cluster's shared memory, and how many threads name each."""
    amount: int | None = None
    """Of each thread; `None` where there is none."""
    parity: int | None = None
    identifier: int = 0
    places: Array | None = None
    """Of a write or read: where the first byte of each thread is."""


@dataclass
class Trace:
    """What one warp does."""

    block: int
    """The rank of its block in the cluster."""
    warp: int
    events: list[Event] = field(default_factory=list[Event])
    stopped: str | None = None
    """Why nothing is known of what comes behind the events; `None` where the warp has come to its end."""

    @property
    def name(self) -> str:
        return f"warp {self.warp}"


@dataclass
class Traces:
    """Those of a cluster."""

    kernel: ir.Operation
    sites: list[Site]
    """All of the kernel."""
    threads: int = 0
    """Of a block."""
    blocks: int = 1
    """Of the cluster."""
    is_assumed: bool = False
    """Whether how often a loop turns, or who takes a branch, follows from sizes that stand for a launch's."""
    warps: list[Trace] = field(default_factory=list[Trace])
    """Those of one block after those of another; none where the size of a block is not known."""

    def of(self, *kinds: Kind) -> list[Site]:
        return [each for each in self.sites if each.kind in kinds]


def traces_of(kernel: ir.Operation, module: ir.Operation) -> Traces:
    """The traces of a kernel of `module`."""
    program = _Program(kernel)
    found = Traces(kernel, list(program.sites.values()))
    sample = sample_of(kernel, module, _SIZE)
    if sample is None or not found.sites:
        return found
    cluster = _cluster_of(kernel, module)
    inside = _ranks(cluster)
    first = [2 * size if all_blocks > 2 * size else 0 for size, all_blocks in zip(cluster, sample.grid, strict=True)]
    blocks = [(first[0] + x, first[1] + y, first[2] + z) for x, y, z in inside]
    sample = Sample(
        sample.block, sample.grid, blocks, size=_SIZE, dynamic_grid=sample.dynamic_grid, constant_trips=_TURNS
    )
    tracer = _Tracer(program, sample, cluster, inside)
    tracer.run()
    x, y, z = sample.block
    found.threads, found.blocks, found.warps = x * y * z, len(inside), tracer.warps
    found.is_assumed = tracer.is_assumed
    return found


def _cluster_of(kernel: ir.Operation, module: ir.Operation) -> Dim3:
    """Blocks of a cluster, along each dimension."""
    for launch in launches_of(module, kernel.attributes["sym_name"].value):
        for use in launch.operands[0].uses:
            user: Any = use.owner.operation
            if user.name == "cuda.launch_cfg.cluster_dim":
                sizes = [_constant(each) for each in list(user.operands)[1:4]]
                if all(sizes):
                    return tuple(sizes)  # pyright: ignore[reportReturnType]
    return 1, 1, 1


def _constant(value: ir.Value) -> int:
    owner: Any = value.owner
    return int(owner.attributes["value"].value) if getattr(owner, "name", "") == "arith.constant" else 0


def _ranks(cluster: Dim3) -> list[Dim3]:
    x, y, z = cluster
    return [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]


class _Program(KernelProgram):
    """What is needed of a kernel to know what its sites are told."""

    def __init__(self, kernel: ir.Operation) -> None:
        self.sites: dict[int, Site] = {}
        """By the node."""
        self._nodes: list[tuple[Node, Site]] = []
        self.around: dict[int, bool] = {}
        """Branches and loops that have sites inside, by the node: whether others wait for any of them."""
        self.nested: set[int] = set()
        """Loops that have loops with sites inside."""
        super().__init__(kernel, {*SEMANTICS, "nvvm.mapa", *_OWN})
        for node, site in self._nodes:
            self._note(node, site)
        by_descriptor = [each for each in self.sites.values() if each.is_of_tensor]
        self.bytes = bytes_of_copies([(each.operation, each.blocks is not None) for each in by_descriptor])
        """Of copies by the TMA, as far as it is known."""

    def _look_at(self, node: Node) -> None:
        super()._look_at(node)
        site = site_of(node.operation)
        if site is None and self.accesses and self.accesses[-1].node is node:
            site = _written(self.accesses[-1])
        if site is not None:
            self.sites[id(node)] = site
            self._nodes.append((node, site))

    def _wanted(self) -> Iterator[tuple[Node, tuple[ir.Value | None, ...]]]:
        for node, site in self._nodes:
            yield node, tuple(site.values)

    def _note(self, node: Node, site: Site) -> None:
        inner_loop = False
        around = node.block.parent
        while around is not None:
            self.around[id(around)] = self.around.get(id(around), False) or site.kind not in MEMORY
            if around.name in _LOOPS:
                if inner_loop:
                    self.nested.add(id(around))
                inner_loop = inner_loop or site.kind not in MEMORY
            around = around.block.parent


def _written(access: Access) -> Site | None:
    """Shared memory that threads write themselves."""
    if access.target is None or access.kind not in ("store", "atomic", "matrix store"):
        return None
    return Site(access.node.operation, Kind.WRITE, access.target, access.size * access.pieces)


_OWN = (
    *(f"nvvm.read.ptx.sreg.{name}{axis}" for name in _REGISTERS for axis in ("", ".x", ".y", ".z")),
    *("llvm.bitcast", "vector.extract", "vector.insert", "nvvm.tcgen05.mma_smem_desc"),
)


class _Tracer(Machine):
    """Goes through a kernel, and keeps what each warp does."""

    def __init__(self, program: _Program, sample: Sample, cluster: Dim3, ranks: list[Dim3]) -> None:
        super().__init__(program, sample, _ignore)
        self._sites = program
        self._cluster = cluster
        self._ranks = ranks
        x, y, z = sample.block
        self._of_block = -(-x * y * z // WARP)
        rows = self._of_block * len(ranks)
        self._rank: Array = np.repeat(np.arange(len(ranks)), self._of_block)[:, None]
        self.warps = [Trace(row // self._of_block, row % self._of_block) for row in range(rows)]
        self._is_known = np.ones((rows, 1), np.bool_)
        """Warps whose trace has not ended."""
        self._steps = 0
        self.is_assumed = False

    def _step(self, node: Node) -> None:
        if not node.is_needed:
            return
        self._steps += 1
        if self._steps > _MOST_STEPS:
            self._stop(self.mask, "the kernel does too much before its end")
            return
        if site := self._sites.sites.get(id(node)):
            self._meet(site, node)
        elif id(node) in self._sites.around:
            self._go_inside(node)
        elif node.name in _OWN:
            self._compute(node)
        elif node.name == "nvvm.mapa":
            self._values[node.operation.results[0]] = self._mapped(*(self._of(each)[0] for each in node.operands))
        elif node.name == "llvm.mlir.addressof":
            super()._step(node)
            self._place_in_cluster(node.operation.results[0])
        else:
            super()._step(node)
            if node.name in _REMAINDERS and not self._of(node.operands[1])[1]:
                # Whatever was assumed, it is one of the few that there are.
                self._values[node.operation.results[0]] = self._of(node.operation.results[0])[0], 0

    def _stop(self, mask: Mask, why: str) -> None:
        """Nothing is known of what these threads' warps do from here on."""
        for row in np.flatnonzero((mask & self._is_known).any(axis=1)):
            self.warps[row].stopped = why
            self._is_known[row] = False

    def _is_over(self, mask: Mask) -> bool:
        """Whether nobody of these is known any more."""
        return not (mask & self._is_known).any()

    # Sites.

    def _meet(self, site: Site, node: Node) -> None:
        if site.kind == Kind.TEST:
            # A loop that asks waits; who asks once is told to wait, which then passes at once.
            self._values[node.operation.results[0]] = (int(_is_polled(node)), 0)
            if not _is_polled(node):
                return
        known = {id(each): self._of(each) for each in site.values}
        why = self._unclear(site, known)
        if why and site.kind not in MEMORY:
            self._stop(self.mask, f"{line_of(site.operation)} {why}")
        if why:
            return
        values = {key: value for key, (value, _) in known.items()}
        for row in np.flatnonzero((self.mask & self._is_known).any(axis=1)):
            self._keep(site, int(row), values)

    def _unclear(self, site: Site, known: dict[int, Known]) -> str | None:
        """What is not known of what is done at a site."""
        if site.kind == Kind.ASSEMBLY:
            return "is in assembly"
        if any(value is None for value, _ in known.values()):
            return "has an mbarrier, a number or a mask that is not known"
        numbers = (site.amount, site.identifier) if site.kind not in MEMORY else (site.address,)
        if any(known[id(each)][1] for each in numbers if isinstance(each, ir.Value)):
            # A write may be past the end of what is written where sizes are the launch's.
            return "has a number that only a launch has"
        return None

    def _keep(self, site: Site, row: int, known: dict[int, lanes.Value]) -> None:
        """Add to the trace of a warp what its threads do."""
        mask, trace = self.mask[row], self.warps[row]

        def of(value: ir.Value | int | None) -> Array | None:
            if value is None or isinstance(value, int):
                return None if value is None else np.full(int(mask.sum()), value, np.int64)
            found = np.broadcast_to(np.asarray(known[id(value)]), self.mask.shape)
            return found[row][mask].astype(np.int64)

        numbers = [of(each) for each in (site.amount, site.parity, site.identifier, site.blocks)]
        if any(each is not None and len(set(each.tolist())) > 1 for each in numbers):
            of_warp = np.arange(len(self.mask))[:, None] == row
            self._stop(self.mask & of_warp, f"{line_of(site.operation)} differs between threads of a warp")
            return
        amount, parity, identifier, blocks = [None if each is None else int(each[0]) for each in numbers]
        if site.is_of_tensor:
            amount = self._sites.bytes.get(site.operation)
        addresses, named, places = of(site.address), None, None
        if site.descriptors:
            starts = [(each & _PLACE) << 4 for each in map(of, site.descriptors) if each is not None]
            places = np.concatenate(starts) | trace.block << RANK
        elif site.kind in _TOUCHES:
            places = addresses
        elif addresses is not None:
            named = Counter(self._named(site, addresses.tolist(), blocks))
        trace.events.append(Event(site, int(mask.sum()), named, amount, parity, identifier or 0, places))

    def _named(self, site: Site, addresses: list[int], mask: int | None) -> Iterator[int]:
        """The mbarriers that an operation is for, with those of other blocks."""
        if site.kind == Kind.COPY and site.is_relaxed:
            mask = (1 << len(self._ranks)) - 1
        for address in addresses:
            address &= _LOW
            if mask is None:
                yield address
                continue
            inside, rank = address & ((1 << RANK) - 1), address >> RANK
            for block in range(len(self._ranks)):
                if mask >> block & 1:
                    to = (block & ~1) | (rank & 1) if site.is_pair else block
                    yield inside | to << RANK

    # Values of the cluster.

    def _compute(self, node: Node) -> None:
        name = node.name
        given = [self._of(each) for each in node.operands]
        result = node.operation.results[0]
        if name.startswith("nvvm.read"):
            self._values[result] = (self._register(name.removeprefix("nvvm.read.ptx.sreg.")), 0)
        elif name == "nvvm.tcgen05.mma_smem_desc":
            start = given[0]
            width = lanes.resized(start[0], 64, signed=False, source=32)
            self._values[result] = (None if width is None else width & _PLACE, start[1])
        elif name == "llvm.bitcast":
            self._values[result] = given[0]
        else:
            self._values[result] = self._of_pair(node, given)

    def _of_pair(self, node: Node, given: list[Known]) -> Known:
        """Halves of 64 bits, which stand for a vector of two."""
        types = [str(each.type) for each in (*node.operation.operands, *node.operation.results)]
        place = [int(each) for each in ir.DenseI64ArrayAttr(node.operation.attributes["static_position"])]
        if _VECTOR not in types or len(place) != 1 or place[0] not in (0, 1):
            return UNKNOWN
        shift = 32 * place[0]
        if node.name == "vector.extract":
            (whole, depends), *_ = given
            return (None, 0) if whole is None else (_part(whole, shift), depends)
        (part, on), (whole, depends) = given[:2]
        wide = lanes.resized(part, 64, signed=False, source=32)
        if wide is None or whole is None:
            return UNKNOWN
        kept = whole & (-1 << 32 if not shift else _LOW)
        found = kept | (wide << shift)
        return (lanes.normalised(found, 64) if isinstance(found, int) else found), on | depends

    def _register(self, name: str) -> lanes.Value:
        kind, _, axis = name.rpartition(".") if name[-2] == "." else (name, "", "")
        dimension = "xyz".index(axis) if axis else 0
        shape = self.mask.shape
        match kind:
            case "cluster.ctarank":
                return np.broadcast_to(self._rank, shape).astype(np.int32)
            case "cluster.ctaid":
                column = np.array([each[dimension] for each in self._ranks])[self._rank]
                return np.broadcast_to(column, shape).astype(np.int32)
            case "cluster.nctarank":
                return len(self._ranks)
            case "cluster.nctaid":
                return self._cluster[dimension]
            case _:
                return None

    def _mapped(self, address: lanes.Value, rank: lanes.Value) -> Known:
        if address is None or rank is None:
            return UNKNOWN
        inside = np.asarray(address, np.int64) & ((1 << RANK) - 1)
        found = inside | np.asarray(rank, np.int64) << RANK
        return np.broadcast_to(found, self.mask.shape), 0

    def _place_in_cluster(self, pointer: ir.Value) -> None:
        address, depends = self._of(pointer)
        if isinstance(address, int) and str(pointer.type) == f"!llvm.ptr<{SHARED}>" and len(self._ranks) > 1:
            placed = np.broadcast_to(address | self._rank.astype(np.int64) << RANK, self.mask.shape)
            self._values[pointer] = placed, depends

    # Branches and loops with sites inside.

    def _go_inside(self, node: Node) -> None:
        match node.name:
            case "scf.if":
                self._take_branch(node)
            case "scf.for":
                self._turn_counted(node)
            case _:
                self._turn(node)

    def _take_branch(self, node: Node) -> None:
        condition, depends = self._of(node.operands[0])
        self.is_assumed |= bool(depends)
        if condition is None:
            self._leave_out(node, "a branch")
            return
        given: list[list[Known]] = []
        holds, fails = self._sides(condition)
        known_holds, known_fails = holds & self._is_known, fails & self._is_known
        parted = np.logical_and(known_holds.any(axis=1, keepdims=True), known_fails.any(axis=1, keepdims=True))
        if parted.any() and len(node.blocks) > 1 and all(map(self._synchronises, node.blocks)):
            self._stop(self.mask & parted, f"threads of a warp part ways at {line_of(node.operation)}")
        for block, mask in zip(node.blocks, (holds, fails), strict=False):
            if mask.any():
                self.run_for(block, mask)
            given.append(self.known(block.last.operands) if block.nodes else [])
        for index, result in enumerate(node.operation.results):
            (a, on_a), (b, on_b) = given[0][index], given[1][index]
            if not (holds.any() and fails.any()):
                self._values[result] = (a, on_a) if holds.any() else (b, on_b)
            else:
                width = width_of(result.type)
                self._values[result] = (lanes.selected(condition, a, b, width), on_a | on_b) if width else UNKNOWN

    def _synchronises(self, block: Block) -> bool:
        """Whether others wait for something inside."""
        return any(
            (id(node) in self._sites.sites and self._sites.sites[id(node)].kind not in MEMORY)
            or any(self._synchronises(inner) for inner in node.blocks)
            for node in block.nodes
        )

    def _leave_out(self, node: Node, what: str) -> None:
        """What is not known to be executed: no warning comes of what it may write, and it may have a fence."""
        if self._sites.around[id(node)]:
            decided = "decided by what only a launch or memory has"
            self._stop(self.mask, f"{what} of {line_of(node.operation)} is {decided}")
        fences = [each for each in self._inside(node) if each.kind in ORDERING]
        for each in fences:
            self._meet(each, node)
        for result in node.operation.results:
            self._values[result] = UNKNOWN

    def _inside(self, node: Node) -> Iterator[Site]:
        for block in node.blocks:
            for inner in block.nodes:
                if site := self._sites.sites.get(id(inner)):
                    yield site
                yield from self._inside(inner)

    def _limit(self, node: Node) -> int:
        return _OUTER_TURNS if id(node) in self._sites.nested else _TURNS

    def _cut(self, node: Node, active: Mask) -> None:
        """End what is known of those that would go on in a loop."""
        if self._sites.around[id(node)]:
            self._stop(active, f"the loop of {line_of(node.operation)} goes on")

    def _turn_counted(self, node: Node) -> None:
        (body,) = node.blocks
        low, high, step, *carried = self.known(node.operands)
        counter, end, by = low[0], high[0], step[0]
        turns = low[1] | high[1] | step[1]
        self.is_assumed |= bool(turns)
        width = width_of(node.operands[0].type)
        if counter is None or end is None or by is None:
            self._leave_out(node, "a loop")
            return
        outer, limit = self.mask, self._limit(node)
        yielded = body.last.operands
        for turn in range(limit + 1):
            is_below = lanes.as_mask(np.asarray(lanes.compared(_LESS, counter, end, width)))
            active = self.narrowed(np.broadcast_to(is_below, outer.shape))
            if self._is_over(active):
                break
            if turn == limit:
                self._cut(node, active)
                break
            self.set_all(body.arguments, [(counter, turns), *carried])
            self.run_for(body, active)
            carried = self.carry(carried, self.known(yielded), active, yielded)
            add = lanes.binary("addi", width)
            counter = add(counter, by) if add else None
            if counter is None:
                break
        self.mask = outer
        self.set_all(list(node.operation.results), carried)

    def _turn(self, node: Node) -> None:
        before, after = node.blocks
        carried = self.known(node.operands)
        outer, active = self.mask, self.mask
        passed: list[Known] = [UNKNOWN for _ in node.operation.results]
        limit = self._limit(node)
        for turn in range(limit + 1):
            self.set_all(before.arguments, carried)
            self.run_for(before, active)
            condition, *handed = before.last.operands
            value, depends = self._of(condition)
            self.is_assumed |= bool(depends)
            now = self.known(handed)
            passed = self.carry(passed, now, active, handed) if turn else now
            if value is None:
                self.mask = active
                self._leave_out(node, "a loop")
                break
            self.mask = active
            active, _ = self._sides(value)
            self.mask = outer
            if self._is_over(active):
                break
            if turn == limit:
                self._cut(node, active)
                break
            self.set_all(after.arguments, now)
            self.run_for(after, active)
            carried = self.carry(carried, self.known(after.last.operands), active, after.last.operands)
        self.mask = outer
        self.set_all(list(node.operation.results), passed)


def _ignore(access: Access, source: Known, target: Known, amount: Known, mask: Mask) -> None:
    """Of accesses of memory nothing is asked here."""


def _is_polled(node: Node) -> bool:
    """Whether a loop asks until the answer is yes."""
    around = node.block.parent
    return around is not None and around.name == "scf.while" and node.block is around.blocks[0]


def _part(whole: Any, shift: int) -> lanes.Value:
    if isinstance(whole, int):
        return lanes.normalised(whole >> shift, 32)
    return (whole >> shift).astype(np.int64).astype(np.int32)


def line_of(operation: ir.Operation) -> str:
    """`line 12`."""
    place = nearest_location(operation.location)
    return f"line {place.line}" if place else "a line"
