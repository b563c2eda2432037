"""The loops of a function drawn at the left of its instructions."""

from __future__ import annotations

from collections.abc import Iterator

from cutecc.sass.blocks import ControlFlow, Loop


def loop_brackets(flow: ControlFlow) -> list[str]:
    """For each instruction the loops around it, outer before inner, two characters each.

    A loop is `┌`, `│`, `└` over instructions that stand together; `▸` is where it begins, `─` where it goes back.
    """
    count = flow.blocks[-1].end if flow.blocks else 0
    found = [""] * count
    # Outer loops come first.
    for loop in flow.loops:
        for index, drawn in _drawn(flow, loop):
            found[index] += drawn
    return found


def between(after: str) -> str:
    """The loops around a line above the instruction with the brackets `after`: those that do not begin at it."""
    pairs = [after[at] for at in range(0, len(after), 2)]
    begins = next((number for number, each in enumerate(pairs) if each in "┌─"), len(pairs))
    return "│ " * begins


def _drawn(flow: ControlFlow, loop: Loop) -> Iterator[tuple[int, str]]:
    blocks = [flow.blocks[each] for each in sorted(loop.blocks)]
    inside = {index for block in blocks for index in range(block.first, block.end)}
    header = flow.blocks[loop.header].first
    backs = {block.end - 1 for block in blocks if loop.header in block.successors}
    for index in inside:
        is_marked = index == header or index in backs
        middle = "├" if is_marked else "│"
        bracket = {
            (False, False): "─",
            (False, True): "┌",
            (True, False): "└",
        }.get((index - 1 in inside, index + 1 in inside), middle)
        yield index, bracket + ("▸" if index == header else "─" if index in backs else " ")
