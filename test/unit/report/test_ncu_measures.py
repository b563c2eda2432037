"""What Nsight Compute prints of its source page, as measures of a record. The tables are written by hand."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from attacks import attacks
from click.testing import CliRunner
from report_pages import Page

from cutecc.cli.report import report
from cutecc.errors import UsageError
from cutecc.record import Artifact, Compilation, Versions
from cutecc.record.folder import RecordFolder
from cutecc.report import ncu_table
from cutecc.report.measures import Measure
from cutecc.report.ncu import ncu_measures
from cutecc.report.ncu_table import number, read_ncu

ADD, SCALE = "kernel_cutlass_add_tensorptrf32_gmem_0", "kernel_cutlass_scale_tensorptrf32_gmem_0"
CODE = {
    ADD: ["LDG.E R2, [R4.64]", "@!P0 IADD3 R2, R2, 0x1, RZ", "BRA `(.L_x_1)", "EXIT"],
    SCALE: ["MOV R1, R2", "EXIT"],
}


def record(code: dict[str, list[str]] = CODE) -> Compilation:
    """A record whose SASS is `code`, by kernel."""
    lines: list[str] = []
    for kernel, instructions in code.items():
        lines += [f"//--------------------- .text.{kernel} -----", f'\t.section\t.text.{kernel},"ax",@progbits']
        lines += [f"        /*{16 * at:04x}*/                   {each} ;" for at, each in enumerate(instructions)]
    made = Compilation("k", "sm_80", "", Versions("0", "3", "4.8.1", "built in"), status="ok")
    made.artifacts = [Artifact("sass", "k.sass")]
    made.files["k.sass"] = "\n".join(lines).encode()
    return made


def row(*cells: str) -> str:
    """A line as ncu prints it."""
    return ",".join(f'"{cell}"' for cell in cells)


HEADINGS = row(
    *(
        "Address",
        "Source",
        "Warp Stall Sampling (All Samples)",
        "Warp Stall Sampling (Not-issued Samples)",
        "# Samples",
    ),
    *("Instructions Executed", "Instructions Executed", "Avg. Threads Executed", "Address Space", "Access Size"),
    *("L1 Wavefronts Shared Excessive", "A new one", "stall_long_sb", "stall_wait", "stall_odd"),
    "stall_wait (Not Issued)",
)
NOT_RUN = ("0", "0", "0", "0", "0", "0", "-", "-", "0", "-", "0", "0", "0", "0")
ADD_ROWS = [
    row(
        *(
            "0x7fc48541d900",
            "      LDG.E R2, [R4.64] ",
            "1,042",
            "42",
            "1,042",
            "3632",
            "3632",
            "32",
            "Global(1)",
            "32",
        ),
        *("0", "0.5", "1,000", "42", "0", "42"),
    ),
    row(
        *("0x7fc48541d910", "@!P0  IADD3 R2, R2, 0x1, RZ ", "6", "0", "6", "3632", "3632", "16", "-", "-"),
        *("0", "-", "0", "2", "4", "0"),
    ),
    row(
        *("0x7fc48541d920", "      BRA 0x7fc48541d950 ", "0", "0", "0", "3632", "3632", "32", "-", "-"),
        *("12", "1", "0", "0", "0", "0"),
    ),
    row("0x7fc48541d930", "      EXIT ", "0", "0", "0", "3632", "3632", "32", *NOT_RUN[6:]),
    row("0x7fc48541d940", "      BRA 0x7fc48541d940 ", *NOT_RUN),
    row("0x7fc48541d950", "      NOP", *NOT_RUN),
]
TABLE = "\n".join([f'"Kernel Name","{ADD}",', HEADINGS, *ADD_ROWS])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "k.csv"
    path.write_text(TABLE)
    return path


def measures(path: Path, text: str, made: Compilation | None = None) -> dict[str, Measure]:
    path.write_text(text)
    return {each.description.title: each for each in ncu_measures(made or record(), path)}


def test_columns_are_measures_of_instructions(table: Path) -> None:
    found = {each.description.title: each for each in ncu_measures(record(), table)}
    # "# Samples" is the first once more, and spaces of memory are no numbers.
    assert list(found) == [
        "Warp Stall Sampling (All Samples)",
        "Warp Stall Sampling (Not-issued Samples)",
        "Instructions Executed",
        "Avg. Threads Executed",
        "Access Size",
        "L1 Wavefronts Shared Excessive",
        "A new one",
    ]
    (executed,) = found["Instructions Executed"].points
    assert (executed.at, executed.values) == ([0, 1, 2, 3], [3632] * 4)
    assert found["L1 Wavefronts Shared Excessive"].points[0].at == [2]
    assert found["L1 Wavefronts Shared Excessive"].description.is_worse
    assert found["Avg. Threads Executed"].description.combine == "max"
    assert found["A new one"].points[0].values == [0.5, 1]
    assert found["A new one"].description.meaning == "What Nsight Compute calls so."


def test_samples_are_made_of_their_reasons(table: Path) -> None:
    samples, waiting, *_ = ncu_measures(record(), table)
    assert samples.description.is_sampled
    assert samples.description.source == "Nsight Compute, k.csv"
    assert samples.points[0].values == [1042, 6]
    assert samples.points[0].parts == {"long_sb": [1000, 0], "wait": [42, 2], "odd": [0, 4]}
    assert samples.description.parts["long_sb"] == "waits for a value from global or local memory"
    assert samples.description.parts["odd"] == "waits: odd"
    assert waiting.points[0].parts == {"wait": [42]}


def test_launches_of_a_kernel_are_summed_and_others_left_out(table: Path) -> None:
    other = TABLE.replace(ADD, "void at::native::fill(int)").replace("IADD3", "FADD")
    again = TABLE.replace("0x7fc48541d9", "0x7fc485000a")
    found = measures(table, "\n".join([TABLE, "", other, again]))
    assert found["Instructions Executed"].points[0].values == [7264] * 4
    assert found["Avg. Threads Executed"].points[0].values == [32, 16, 32, 32]
    assert found["Warp Stall Sampling (All Samples)"].points[0].parts["long_sb"] == [2000, 0]
    assert found["Instructions Executed"].description.source == "Nsight Compute, k.csv, 2 launches"


@pytest.mark.parametrize("name", [f"{ADD}(float *, int)", f"void {ADD}(CUtensorMap)", "add"])
def test_a_kernel_is_known_by_what_ncu_calls_it(table: Path, name: str) -> None:
    assert measures(table, TABLE.replace(ADD, name))


def test_the_second_kernel_has_its_own(table: Path) -> None:
    rows = ['"0x7f0000000080","MOV R1, R2","5"', '"0x7f0000000090","EXIT","6"']
    found = measures(
        table, "\n".join([f'"Kernel Name","{SCALE}",', '"Address","Source","Instructions Executed"', *rows])
    )
    assert found["Instructions Executed"].points[0].at == [4, 5]


def test_beside_the_source_instructions_stand_below_their_lines(table: Path) -> None:
    """`--print-source cuda,sass`: what is inlined stands below each of its lines, and not in the order of addresses."""
    rows = [
        '"File Path","/home/me/k.py"',
        f'"Function Name","{ADD}"',
        '"Line No","Source","Address","Source","Instructions Executed"',
        '"1","import cutlass","-","-","-"',
        '"7","x[i] = y","-","-","14528"',
        '"","","0x7fc48541d920","BRA 0x7fc48541d950","5"',
        '"","","0x7fc48541d930","EXIT","6"',
        '"9","def k(y):","-","-","100"',
        '"","","0x7fc48541d900","LDG.E R2, [R4.64]","3"',
        '"","","0x7fc48541d910","@!P0 IADD3 R2, R2, 0x1, RZ","4"',
        '"","","0x7fc48541d920","BRA 0x7fc48541d950","5"',
    ]
    assert measures(table, "\n".join(rows))["Instructions Executed"].points[0].values == [3, 4, 5, 6]


def test_what_a_program_prints_is_left_out_and_units_are_taken(table: Path) -> None:
    lines = TABLE.split("\n")
    noise = ["==PROF== Connected to process 7", "loss 0.5, step 3", '==WARNING== "x']
    units = ",".join(['""', '""', *['"inst"'] * 14])
    found = measures(table, "\ufeff" + "\n".join([*noise[:2], *lines[:2], units, *lines[2:]]))
    assert found["Instructions Executed"].description.unit == "inst"
    table.write_bytes("\n".join(lines).encode("utf-16"))
    assert len(ncu_measures(record(), table)) == 7


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1,234,567", (1234567, "")),
        ("12.50", (12.5, "")),
        ("32 byte", (32, "byte")),
        ("1.5 Kbyte", (1500, "byte")),
        ("88.69 %", (88.69, "%")),
        ("1e3", (1000, "")),
        ("1'234", (1234, "")),
        ("-", None),
        ("", None),
        ("nan", None),
        ("1e999", None),
        ("1e300", None),
        ("Global(1)", None),
        ("1..2", None),
        ("9" * 100, None),
    ],
)
def test_numbers_of_cells(cell: str, value: tuple[float, str] | None) -> None:
    assert number(cell) == value


def test_a_file_may_write_numbers_as_in_german(table: Path) -> None:
    table.write_text(
        '"Kernel Name","k",\n"Address","Source","a","b"\n"0x0","EXIT","1.234.567","1.234,5"\n"0x10","NOP","2.000","0,5"'
    )
    (launch,) = read_ncu(table)
    assert [each.values for each in launch.instructions.values()] == [
        {"a": 1234567, "b": 1234.5},
        {"a": 2000, "b": 0.5},
    ]


def test_another_build_is_refused_with_how_many_agree(table: Path) -> None:
    with pytest.raises(UsageError) as refused:
        measures(table, TABLE.replace("LDG.E R2", "LDG.E.128 R4"))
    assert str(refused.value) == (
        f"{table} is of another build of add: 3 of 4 instructions agree\n"
        "note: at 0x0000 the record has LDG.E, and ncu saw LDG.E.128\n"
        "hint: profile what this record holds, or make the report of the record that was profiled"
    )
    with pytest.raises(
        UsageError, match=r"2 of 4 instructions agree\n.*at 0x0020 the record has BRA, and ncu saw nothing"
    ):
        measures(table, "\n".join(TABLE.split("\n")[:4]))


def test_a_file_without_the_kernels_of_the_record_is_refused(table: Path) -> None:
    with pytest.raises(UsageError) as refused:
        measures(table, TABLE.replace(ADD, "void fill(int)"))
    assert str(refused.value) == (
        f"{table} has no kernel of this record: it is of void fill(int)\nnote: the record has {ADD}, {SCALE}"
    )
    with pytest.raises(UsageError, match="the record of k has no SASS"):
        ncu_measures(record({}), table)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not what ncu --page source --csv prints: it has no line of headings"),
        (b"\x7fELF\x00\x01\xff\xfe", "is not what ncu"),
        (b'"ID","Kernel Name","Metric Name","Metric Value"\n"0","add","sm__cycles","7"\n', "is not what ncu"),
        (b'"Kernel Name","k",\n"Address","Source"\n', "is not what ncu"),
        (b'"' + b"x" * 200_000 + b'"', "it is damaged: field larger"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "k.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        ncu_measures(record(), path)


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the counters of ncu: .*gone: No such file"):
        ncu_measures(record(), tmp_path / "gone")
    with pytest.raises(UsageError, match="is not a plain file"):
        ncu_measures(record(), tmp_path)
    with pytest.raises(UsageError, match="is not a plain file"):
        ncu_measures(record(), Path("/dev/zero"))


def test_the_command_shows_them_and_refuses_what_is_of_another_build(table: Path) -> None:
    folder = table.parent / "out"
    stored = RecordFolder(folder)
    stored.save(record())
    stored.close()
    page = table.parent / "k.html"
    run = CliRunner().invoke(report, [str(folder), "--ncu", str(table), "-o", str(page), "-q"])
    assert run.exit_code == 0, run.output
    titles = [each["title"] for each in Page.at(page).chunks["measures"]]
    assert titles[0] == "Warp Stall Sampling (All Samples)"
    assert "live registers" in titles
    page.unlink()
    table.write_text(TABLE.replace("EXIT", "RET"))
    run = CliRunner().invoke(report, [str(folder), "--ncu", str(table), "-o", str(page)])
    assert isinstance(run.exception, UsageError)
    assert not page.exists()


def test_no_damage_does_more_than_be_refused(table: Path) -> None:
    """Whoever wrote the file: each number that comes out of it is finite, each place an instruction."""
    chance = random.Random(34)
    pieces = [
        '"',
        ",",
        "\n",
        "0x0",
        "\x00",
        "é",
        "-",
        "1e308",
        '"Address","Source"',
        '"Kernel Name","add",',
        "9" * 400,
        "NaN",
    ]
    for _ in range(attacks(200)):
        text = list(TABLE)
        for _ in range(chance.randrange(1, 8)):
            at = chance.randrange(len(text))
            text[at : at + chance.randrange(3)] = chance.choice(pieces)
        table.write_text("".join(text), errors="surrogatepass")
        try:
            found = ncu_measures(record(), table)
        except UsageError as error:
            assert len(str(error)) < 3000
            continue
        for measure in found:
            for points in measure.points:
                assert points.at is not None
                assert points.at == sorted(set(points.at))
                assert set(points.at) <= set(range(6))
                assert all(abs(value) <= 1e21 for value in points.values)
                assert all(len(part) == len(points.values) for part in points.parts.values())


@pytest.mark.parametrize(
    ("text", "value"), [('"12,5"', 12.5), ('"0,352"', 0.352), ('"1.234,5"', 1234.5), ('"1,234"', 1234)]
)
def test_a_comma_is_what_the_cells_show_it_to_be(text: str, value: float) -> None:
    found = number(text.strip('"'), decimal_comma=ncu_table._decimal_comma(f'"7",{text},"x"\n'))
    assert found == (value, "")


def test_numbers_within_a_cell_of_code_decide_nothing() -> None:
    assert not ncu_table._decimal_comma('"MOV R1, ""1.234.567""","12"\n')
