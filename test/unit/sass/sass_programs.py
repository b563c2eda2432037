"""Small SASS functions, and what may be executed behind each of their instructions, found the plain way."""

from __future__ import annotations

from hypothesis import strategies as st

from cutecc.sass import SassFunction, SassInstruction


def function(*lines: str) -> SassFunction:
    """A function of instructions, with its labels on lines of their own: `.L_x_1:`."""
    found, labels = list[SassInstruction](), dict[str, int]()
    for line in lines:
        if line.endswith(":"):
            labels[line[:-1]] = len(found)
        else:
            found.append(SassInstruction(len(found), 16 * len(found), line, None))
    return SassFunction("kernel", 0, len(found), found, labels)


@st.composite
def functions(draw: st.DrawFn) -> SassFunction:
    """Functions of a few instructions, with branches to any of them, and any guard."""
    count = draw(st.integers(1, 9))
    register = st.integers(0, 3).map(lambda number: f"R{number}")
    guard = st.sampled_from(["", "", "@P0 ", "@!P1 "])
    place = st.integers(0, count - 1).map(lambda number: f"`(.L_x_{number})")
    instruction = st.one_of(
        st.builds("{}IADD3 {}, {}, {}, RZ".format, guard, register, register, register),
        st.builds("{}MOV {}, 0x1".format, guard, register),
        st.builds("STS [{}], {}".format, register, register),
        st.builds("ISETP.GE.AND P{}, PT, {}, {}, PT".format, st.integers(0, 1), register, register),
        st.builds("{}BRA {}".format, guard, place),
        st.builds("{}EXIT".format, guard),
    )
    lines: list[str] = []
    for number in range(count):
        lines += [f".L_x_{number}:", draw(instruction)]
    return function(*lines)


def following(program: SassFunction) -> list[list[int]]:
    """What may be executed behind each instruction."""
    found: list[list[int]] = []
    for index, each in enumerate(program.instructions):
        goes_on = each.text.startswith("@") or not each.text.startswith(("BRA", "EXIT"))
        places = [index + 1] if goes_on and index + 1 < len(program.instructions) else []
        if "BRA" in each.text:
            places.append(program.labels[each.text.partition("`(")[2].rstrip(")")])
        found.append(places)
    return found


def reached(start: int, edges: list[list[int]], without: int | None = None) -> set[int]:
    """What is reached from `start`, itself with it, on ways that do not touch `without`."""
    if start == without:
        return set()
    found, todo = {start}, [start]
    while todo:
        for each in edges[todo.pop()]:
            if each not in found and each != without:
                found.add(each)
                todo.append(each)
    return found
