"""`check-spills`: where a kernel's code keeps registers, or arrays, in local memory. Looks at the finished record."""

from __future__ import annotations

import time
from collections.abc import Iterator

from cutecc.record import Analysis, Compilation, Remark
from cutecc.report.local_memory import LocalMemory, Traffic, local_memory

NAME = "check-spills"
SUMMARY = "Warn of registers that spill to local memory, at the lines of the loads and stores."


def check_spills(compilation: Compilation) -> Analysis:
    """What the SASS of `compilation` says of local memory: a warning for each line with spills.

    Accesses of arrays are a remark. Bytes are of one thread and each instruction once, however often it runs. Without
    SASS in the record the entry says so; the lines are there when the code was compiled with line information.
    """
    start = time.perf_counter()
    found = Analysis(NAME, max((step.index for step in compilation.steps), default=0))
    if not any(each.kind == "sass" for each in compilation.artifacts):
        found.failure = "not run: the record has no SASS"
        return found
    registers = {each.kernel: each.registers for each in compilation.resources}
    remarks = [
        remark
        for kernel, memory in local_memory(compilation).items()
        for remark in _remarks(memory, registers.get(kernel))
    ]
    found.remarks = sorted(remarks, key=lambda each: (each.severity != "warning", -_all_bytes(each)))
    found.seconds = time.perf_counter() - start
    return found


def _remarks(memory: LocalMemory, registers: int | None) -> Iterator[Remark]:
    for is_array, lines in ((False, memory.spills), (True, memory.arrays)):
        for line, traffic in lines.items():
            message = (
                f"{traffic} of local memory, for an array that is not in registers: a printed value, or an index that "
                "only the running kernel knows"
                if is_array
                else f"registers spill to local memory: {traffic}"
            )
            place = f"{line[0]}:{line[1]}" if line else None
            severity = "remark" if is_array else "warning"
            yield Remark(severity, message, place, NAME, _numbers(traffic, registers))


def _numbers(traffic: Traffic, registers: int | None) -> dict[str, int | float | str]:
    found: dict[str, int | float | str] = {
        "loads": traffic.loads,
        "load bytes": traffic.load_bytes,
        "stores": traffic.stores,
        "store bytes": traffic.store_bytes,
    }
    return found if registers is None else found | {"registers": registers}


def _all_bytes(remark: Remark) -> int:
    return int(remark.numbers["load bytes"]) + int(remark.numbers["store bytes"])
