"""Which registers live: against every way through small programs, and nvdisasm's own tables of compiled code."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from life_ranges import life_ranges
from sass_programs import following, function, functions

from cutecc.backend.nvdisasm import disassemble
from cutecc.backend.ptxas import assemble
from cutecc.backend.tools import find_tool, run_tool
from cutecc.sass import SassFunction, read_sass
from cutecc.sass.effects import effects
from cutecc.sass.liveness import liveness
from cutecc.target import Target

OPCODES = Path(__file__).with_name("opcodes.ptx")
STACK_POINTER = "R1"
"""For nvdisasm it lives everywhere."""


def test_a_loop() -> None:
    found = liveness(
        function(
            "MOV R0, RZ",
            "MOV R2, 0x8",
            ".L_x_1:",
            "IADD3 R0, R0, R2, RZ",
            "ISETP.LT.AND P0, PT, R0, R5, PT",
            "@P0 BRA `(.L_x_1)",
            "STG.E.64 desc[UR4][R6.64], R0",
            "EXIT",
        )
    )
    assert found.before(2) == {"R0", "R1", "R2", "R5", "R6", "R7", "UR4", "UR5"}
    assert found.after(2) == found.before(3) == found.before(2)
    assert found.after(4) == found.before(2)
    assert found.before(5) == {"R0", "R1", "R6", "R7", "UR4", "UR5"}
    assert found.before(6) == found.after(6) == set()
    assert found.occupied == [5, 6, 6, 6, 6, 4, 0]
    assert found.peak == 6


def test_a_write_that_nobody_reads_takes_a_register() -> None:
    assert liveness(function("MOV R0, RZ", "EXIT")).occupied == [1, 0]


def test_a_guarded_write_keeps_the_old_value() -> None:
    assert liveness(function("@P0 MOV R0, RZ", "STS [RZ], R0", "EXIT")).before(0) == {"P0", "R0"}
    assert liveness(function("MOV R0, RZ", "STS [RZ], R0", "EXIT")).before(0) == set()


def test_what_a_subroutine_leaves_alone_lives_across_its_call() -> None:
    found = liveness(
        function(
            "MOV R4, 0x20",
            "@P0 CALL.REL.NOINC `($division)",
            "STS [R6], R0",
            "CALL.REL.NOINC `($division)",
            "STS [R7], R0",
            "EXIT",
            "$division:",
            "MUFU.RCP R0, R3",
            "RET.REL.NODEC R4 `(kernel)",
        )
    )
    # R0 is the subroutine's result, R3 what it takes, R4 where it goes back.
    assert found.before(3) == {"R3", "R4", "R5", "R7"}
    assert found.before(1) == {"P0", "R0", "R3", "R4", "R5", "R6", "R7"}
    assert found.before(7) == {"R0", "R3", "R4", "R5", "R6", "R7"}


@given(functions())
def test_a_register_lives_where_a_way_leads_to_its_read(program: SassFunction) -> None:
    edges, found = following(program), liveness(program)
    known = [effects(each.text) for each in program.instructions]

    def is_read(name: str, start: int) -> bool:
        seen, todo = {start}, [start]
        while todo:
            index = todo.pop()
            if name in known[index].reads:
                return True
            if name in known[index].writes and not known[index].is_conditional:
                continue
            todo += [each for each in edges[index] if each not in seen]
            seen.update(edges[index])
        return False

    for index in range(len(known)):
        for name in ("R0", "R1", "R2", "R3", "P0", "P1"):
            assert (name in found.before(index)) == is_read(name, index)
            assert (name in found.after(index)) == any(is_read(name, each) for each in edges[index])


def test_what_lives_in_compiled_code_is_what_nvdisasm_says(tmp_path: Path) -> None:
    cubin = assemble(OPCODES.read_text(), Target.parse("sm_100a")).cubin
    (tmp_path / "kernel.cubin").write_bytes(cubin)
    arguments = ["--print-code", "--print-life-ranges", "kernel.cubin"]
    printed = run_tool(find_tool("nvdisasm"), arguments, folder=tmp_path).stdout.decode()
    tables: dict[int, dict[int, set[str]]] = {}
    for each in life_ranges(printed):
        tables.setdefault(each.function, {})[each.offset] = {name for name in each.marks if name.startswith("R")}
    compared = 0
    for number, program in enumerate(read_sass(disassemble(cubin))):
        # Of its subroutines nvdisasm thinks that they are called by the ABI.
        if any("CALL" in each.text for each in program.instructions):
            continue
        found = liveness(program)
        for index, each in enumerate(program.instructions):
            lives = found.before(index) | found.after(index) | {*effects(each.text).writes}
            expected = tables[number][each.offset] - {STACK_POINTER}
            assert {name for name in lives if name.startswith("R")} - {STACK_POINTER} == expected, each.text
            compared += 1
    assert compared > 100
