# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false, reportOptionalMemberAccess=false, reportOptionalSubscript=false
"""Which group a task belongs to, found by the warps of the kernel themselves: nothing is known of the sizes before."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import cutlass
from cutlass import cute

from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.grouped.schedule import has_table, most_turns, turn_tile
from cutecc.operations.kernels.grouped.signature import ends_divisor, varying
from cutecc.operations.kernels.rasterization import Rasterization

WARP = 32
PER_LANE = 4
"""Groups that a lane looks at: their sizes are on their way together."""


class Problem(NamedTuple):
    """What a kernel of grouped products knows of its sizes."""

    m: Any
    """Of what varies the sum; zeros of a list."""
    n: Any
    k: Any
    sizes: Any
    """Where each group ends; of a list (M, N, K) of each."""
    schedule: Any
    """Tasks before each group, where the host knows them."""
    workspace: Any
    scales: Any
    """Of blocks of A and of B, where there are any."""

    @property
    def groups(self):
        """How many there are."""
        return self.sizes.shape[0]


class Position(NamedTuple):
    """A task, and where its group is among all tasks."""

    index: Any
    group: Any
    first: Any
    """Task of the group."""
    last: Any
    """One behind it."""


class Span(NamedTuple):
    """The part of packed matrices that belongs to a group: where it begins and ends along M, N and K."""

    begin: tuple[Any, Any, Any]
    end: tuple[Any, Any, Any]

    def size(self, axis: int):
        return self.end[axis] - self.begin[axis]


class Groups:
    """Finds groups; `rasterization` gives the order of the tasks of a group."""

    def __init__(self, description: GroupedDescription):
        self.packing = description.packing
        self.description, self.has_table = description, has_table(description)
        self.axis = -1 if self.packing == "list" else "MNK".index(varying(description))
        self.divisor = ends_divisor(description)
        self.rasterization = Rasterization(description.gemm.swizzle, turn_tile(description))

    def most_tasks(self, problem: Problem):
        """How many tasks there are at most, as far as is known before the launch; `None` for any number."""
        if self.packing == "list":
            return None
        return most_turns(self.description, *problem[:3], problem.groups)

    def span(self, problem: Problem, group) -> Span:
        """The part of a group."""
        zero = cutlass.Int32(0)
        if self.packing == "list":
            m, n, k = (problem.sizes[group, axis] for axis in range(3))
            return Span((zero, zero, zero), (m, n, k))
        begin, end = [zero] * 3, list(problem[:3])
        begin[self.axis], end[self.axis] = self.ends(problem, [group - 1, group])
        return Span(tuple(begin), tuple(end))

    def ends(self, problem: Problem, groups):
        """Where groups that follow each other end; before the first group at 0, behind the last one where that ends.

        Ends that do not ascend, lie outside of the tensors or within what is copied at once are moved: nothing else is
        read or written then.
        """
        found = []
        for group in groups:
            end = problem.sizes[cutlass.min(cutlass.max(group, 0), problem.groups - 1)]
            end = cutlass.select_(group < 0, cutlass.Int32(0), end)
            end = cutlass.min(cutlass.max(end, found[-1] if found else 0), problem[self.axis])
            found.append(end if self.divisor == 1 else end // self.divisor * self.divisor)
        return found

    def tasks(self, problem: Problem, group, count: int):
        """How many tasks each of `count` groups from `group` on has; behind the last group 0."""
        if self.packing == "list":
            found = []
            for each in [group + i for i in range(count)]:
                index = cutlass.min(each, problem.groups - 1)
                along = self.rasterization.tiles((problem.sizes[index, 0], problem.sizes[index, 1]))
                found.append(cutlass.select_(each < problem.groups, along[0] * along[1], cutlass.Int32(0)))
            return found
        ends = self.ends(problem, [group + i - 1 for i in range(count + 1)])
        sizes = list(problem[:3])
        found = []
        for begin, end in pairwise(ends):
            sizes[self.axis] = end - begin
            along = self.rasterization.tiles(sizes)
            found.append(along[0] * along[1])
        return found

    def begin(self, index, problem: Problem) -> Position:
        """Where the task `index` is. All of a warp call this and `advance` together."""
        return self.seek(index, cutlass.Int32(0), cutlass.Int32(0), problem)

    @cute.jit
    def advance(self, position: Position, by, problem: Problem) -> Position:
        """Where the task is that comes `by` tasks later."""
        found = Position(position.index + by, position.group, position.first, position.last)
        if found.index >= position.last:
            found = self.seek(found.index, position.group + 1, position.last, problem)
        return found

    def is_left(self, position: Position, problem: Problem):
        """Whether there is such a task."""
        return position.group < problem.groups

    def seek(self, index, group, first, problem: Problem) -> Position:
        """Where the task `index` is, of `group`, whose first task is `first`, or of a later one."""
        if self.axis == 2:
            along_m, along_n = self.rasterization.tiles(problem)
            tasks = along_m * along_n
            group = index // tasks
            return Position(index, group, group * tasks, group * tasks + tasks)
        if self.has_table:
            return self.look_up(index, problem)
        return self.count(index, group, first, problem)

    @cute.jit
    def count(self, index, group, first, problem: Problem) -> Position:
        """As `seek`, by adding up the tasks of `PER_LANE` groups a lane at a time."""
        lane = cute.arch.lane_idx()
        last = first
        is_sought = group < problem.groups
        while is_sought:
            own = group + lane * PER_LANE
            tasks = self.tasks(problem, own, PER_LANE)
            total = tasks[0] + tasks[1] + tasks[2] + tasks[3]
            end = first + inclusive_sum(total, lane)
            behind = cute.arch.popc(cute.arch.vote_ballot_sync(end <= index))
            if behind == WARP:
                group += WARP * PER_LANE
                first = cute.arch.shuffle_sync(end, WARP - 1)
                last = first
                is_sought = group < problem.groups
            else:
                own_last = end - total + tasks[0]
                own_first = end - total
                for i in cutlass.range_constexpr(1, PER_LANE):
                    is_behind = own_last <= index
                    own = cutlass.select_(is_behind, own + 1, own)
                    own_first = cutlass.select_(is_behind, own_last, own_first)
                    own_last = cutlass.select_(is_behind, own_last + tasks[i], own_last)
                group = cute.arch.shuffle_sync(own, behind)
                first = cute.arch.shuffle_sync(own_first, behind)
                last = cute.arch.shuffle_sync(own_last, behind)
                is_sought = cutlass.Boolean(False)
        return Position(index, group, first, last)

    @cute.jit
    def look_up(self, index, problem: Problem) -> Position:
        """As `seek`, in the table of tasks before each group: among 32 parts of it, then of that part, and so on."""
        lane = cute.arch.lane_idx()
        group = cutlass.Int32(0)
        count = problem.groups
        while count > 0:
            part = (count + WARP - 1) // WARP
            end = cutlass.min(group + (lane + 1) * part, problem.groups)
            behind = cute.arch.popc(cute.arch.vote_ballot_sync(problem.schedule[end] <= index))
            group = cutlass.min(group + behind * part, problem.groups)
            count = cutlass.select_((part == 1) | (behind == WARP), cutlass.Int32(0), part)
        found = cutlass.min(group, problem.groups - 1)
        return Position(index, group, problem.schedule[found], problem.schedule[found + 1])


@cute.jit
def inclusive_sum(value, lane):
    """The sum of the values of a warp's lanes up to this one."""
    for i in cutlass.range_constexpr(5):
        other = cute.arch.shuffle_sync_up(value, 1 << i, mask_and_clamp=0)
        value += cutlass.select_(lane >= 1 << i, other, cutlass.Int32(0))
    return value
