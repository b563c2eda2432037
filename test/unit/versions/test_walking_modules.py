"""Where two records part, pass by pass: of small ones made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cutecc.errors import RecordError
from cutecc.record import Artifact, ArtifactKind, Compilation, KernelResources, Step, Versions
from cutecc.record.stages import StageWriter, UserLines, create
from cutecc.support.locations import Frame
from cutecc.versions.changes import change
from cutecc.versions.machine_code import code_changes
from cutecc.versions.modules import PassPlace, Walk
from cutecc.versions.sources import Sources

SOURCE = "one\ntwo\nthree\nfour\n"
_NAMES = ("first", "later")
_SYMBOL = "kernel_cutlass_k_tensorptrf32_0"


def _resources(symbol: str) -> KernelResources:
    return KernelResources(symbol, 24, 0, 0, 0, 0, 0, 0, 1, None)


def module(*body: str, host: str = "", name: str = _SYMBOL, head: str = "") -> str:
    """A module with a kernel of these operations, each with its line behind `@@`."""
    inside = "".join(f"    {each}\n" for each in body)
    functions = f"  func.func @host() {{\n    {host or 'h.launch'}\n  }}\n  func.func @{name}() {{\n{inside}  }}\n"
    return f"{head}module {{\n{functions}}}\n"


def record(
    folder: Path,
    passes: str,
    stages: dict[int, str],
    *,
    file: str = "/k.py",
    source: str = SOURCE,
    ptx: str = "",
    sass: str = "",
    **fields: Any,
) -> Compilation:
    """One that has run `passes`, of which those with a module in `stages` changed it."""
    names = passes.split(",")
    steps = [Step(number, name, name, "wheel", changed=number in stages) for number, name in enumerate(names, 1)]
    made = Compilation(
        "k",
        "sm_80",
        passes,
        Versions("0", "3", "4", "own"),
        "ok",
        **{"steps": steps, "resources": [_resources(_SYMBOL)], **fields},
    )
    folder.mkdir(exist_ok=True)
    path = folder / f"{len([*folder.iterdir()])}.stages"
    create(path, UserLines([], {file: source}))
    writer = StageWriter(path)
    for number, text in stages.items():
        split = [line.partition(" @@") for line in text.split("\n")[:-1]]
        places = [(Frame(file, int(line), 1),) if line else None for _, _, line in split]
        writer.add_stage(number, "".join(f"{each}\n" for each, _, _ in split), places)
    files: dict[ArtifactKind, bytes] = {"stages": path.read_bytes(), "ptx": ptx.encode(), "sass": sass.encode()}
    for kind, data in files.items():
        if data:
            made.artifacts.append(Artifact(kind, f"k.{kind}"))
            made.files[f"k.{kind}"] = data
    return made


def place(selector: str, line: int | None, operation: str | None, **fields: Any) -> PassPlace:
    location = line and f"/k.py:{line}"
    return PassPlace(selector, **{"function": "k", "operation": operation, "location": location, **fields})


def partings(a: Compilation, b: Compilation) -> tuple[PassPlace | None, PassPlace | None]:
    return Walk(a, b, _NAMES).partings()


def passes_of_lines(a: Compilation, b: Compilation) -> dict[int, str]:
    walk = Walk(a, b, _NAMES)
    return {line: selector for (_, line), selector in walk.line_passes(Sources(walk.a.sources, walk.b.sources)).items()}


# the first pass, and the one from which on they differ for good


def test_the_same_modules_never_part(tmp_path: Path) -> None:
    a, b = (record(tmp_path, "one,two", {0: module("a.b @@1"), 2: module("a.c @@1")}) for _ in range(2))
    assert partings(a, b) == (None, None)
    assert passes_of_lines(a, b) == {}


def test_names_numbers_and_attributes_of_functions_are_no_difference(tmp_path: Path) -> None:
    a = record(tmp_path, "one", {0: module("%0 = a.b : i32 @@1", "a.use %0 @@2", head="!x = !t<f32>\n")})
    other = module("%c7  =  a.b : i32 @@1", "a.use %c7 @@2", name="kernel_cutlass_k_Tensor_3", head="!y = !t<f32>\n")
    other = other.replace("module {", "module attributes {v = 48 : i32} {").replace(
        "_3() {", "_3() attributes {cute.x} {"
    )
    b = record(tmp_path, "one", {0: other}, resources=[_resources("kernel_cutlass_k_Tensor_3")])
    assert partings(a, b) == (None, None)


def test_the_pass_after_which_modules_differ(tmp_path: Path) -> None:
    start = module("a.b @@1", "a.c @@2")
    a = record(tmp_path, "one,two,three", {0: start, 2: module("a.b @@1", "a.d @@2")})
    b = record(tmp_path, "one,two,three", {0: start, 2: module("a.b @@1", "a.e @@2")})
    assert partings(a, b) == (place("two", 2, "a.e"), place("two", 2, "a.e"))
    assert passes_of_lines(a, b) == {2: "two"}


def test_traced_modules_that_differ(tmp_path: Path) -> None:
    a = record(tmp_path, "one", {0: module("a.b @@1")})
    b = record(tmp_path, "one", {0: module("a.c @@1")})
    assert partings(a, b) == (place("traced", 1, "a.c"), place("traced", 1, "a.c"))


def test_what_is_the_same_again_is_not_blamed(tmp_path: Path) -> None:
    start = module("a.b @@1", "a.c @@2")
    a = record(tmp_path, "one,two,three", {0: start, 2: module("a.z @@1", "a.d @@2"), 3: module("a.z @@1", "a.e @@2")})
    b = record(
        tmp_path,
        "one,two,three",
        {0: start, 1: module("a.x @@1", "a.c @@2"), 2: module("a.z @@1", "a.d @@2"), 3: module("a.z @@1", "a.f @@2")},
    )
    assert partings(a, b) == (place("one", 1, "a.x"), place("three", 2, "a.f"))
    assert passes_of_lines(a, b) == {2: "three"}
    same = record(
        tmp_path, "one,two,three", {0: start, 2: module("a.z @@1", "a.d @@2"), 3: module("a.z @@1", "a.f @@2")}
    )
    assert partings(same, b) == (place("one", 1, "a.x"), None)
    assert passes_of_lines(same, b) == {}


def test_what_is_outside_of_kernels_has_no_part_in_them(tmp_path: Path) -> None:
    start, kernel = module("a.b @@1"), "a.c @@1"
    a = record(tmp_path, "one,two", {0: start, 2: module(kernel)})
    b = record(
        tmp_path, "one,two", {0: start, 1: module("a.b @@1", host="h.other @@4"), 2: module(kernel, host="h.other @@4")}
    )
    assert partings(a, b) == (place("one", 4, "h.other", function="host"), None)


def test_a_pass_that_one_alone_has_is_named_with_its_column(tmp_path: Path) -> None:
    start = module("a.b @@1")
    a = record(tmp_path, "one,two", {0: start})
    b = record(tmp_path, "one,extra,two", {0: start, 2: module("a.x @@1")})
    since = place("extra", 1, "a.x", only_in="later")
    assert partings(a, b) == (since, since)
    assert partings(b, a)[1] == place("extra", 1, "a.b", only_in="first")


def test_a_pass_that_the_next_one_makes_up_for_is_not_blamed(tmp_path: Path) -> None:
    start, end = module("a.b @@1"), module("a.e @@1")
    a = record(tmp_path, "one,two", {0: start, 2: end})
    b = record(tmp_path, "one,extra,two", {0: start, 2: module("a.x @@1"), 3: end})
    assert partings(a, b) == (None, None)


def test_a_pass_that_failed_or_did_not_run_left_the_module_as_it_was(tmp_path: Path) -> None:
    start = module("a.b @@1")
    a = record(tmp_path, "one,two", {0: start, 1: module("a.x @@1")})
    steps = [Step(1, "one", "one", "wheel", status="failed")]
    b = record(tmp_path, "one,two", {0: start}, steps=steps, whole_pipeline="one,two")
    assert partings(a, b)[1] == place("one", 1, "a.b")


@pytest.mark.parametrize("generator", ["llvm-to-binary", "cuda-to-binary"])
def test_what_comes_with_code_generation_is_not_looked_at(tmp_path: Path, generator: str) -> None:
    start = module("a.b @@1")
    a = record(tmp_path, f"one,{generator},late", {0: start, 3: module("a.x @@1")})
    b = record(tmp_path, f"one,{generator},late", {0: start, 2: module("a.y @@1")})
    assert partings(a, b) == (None, None)


def test_operations_that_are_gone(tmp_path: Path) -> None:
    start = module("a.b @@1", "a.c @@2", "a.d @@3")
    a, b = record(tmp_path, "one", {0: start}), record(tmp_path, "one", {0: start, 1: module("a.b @@1", "a.d @@3")})
    assert partings(a, b)[1] == place("one", 3, "a.c")
    assert passes_of_lines(a, b) == {2: "one"}


def test_operations_without_a_line(tmp_path: Path) -> None:
    a, b = (record(tmp_path, "one", {0: module(text)}) for text in ("a.b", "a.c"))
    assert partings(a, b)[1] == place("traced", None, "a.c")
    assert passes_of_lines(a, b) == {}


def test_records_without_stages_cannot_be_walked(tmp_path: Path) -> None:
    a = record(tmp_path, "one", {0: module("a.b")})
    b = Compilation("k", "sm_80", "one", Versions("0", "3", "4", "own"), "ok")
    with pytest.raises(RecordError):
        Walk(a, b, _NAMES)


# lines


def test_each_line_has_the_pass_from_which_on_it_differs_for_good(tmp_path: Path) -> None:
    def stages(*texts: tuple[str, str, str]) -> dict[int, str]:
        lines = [[f"{text} @@{line}" for line, text in enumerate(each, 1)] for each in texts]
        return {number: module(*each) for number, each in enumerate(lines)}

    a = record(tmp_path, "p1,p2,p3", stages(("a", "b", "c"), ("a", "b", "c"), ("a", "b", "c"), ("a", "b", "c")))
    b = record(tmp_path, "p1,p2,p3", stages(("a", "b", "c"), ("x", "b", "y"), ("x", "z", "c"), ("x", "z", "c")))
    assert passes_of_lines(a, b) == {1: "p1", 2: "p2"}
    walk = Walk(a, b, _NAMES)
    found = walk.line_passes(Sources(walk.a.sources, walk.b.sources))
    assert walk.parting_at(found, ("/k.py", 1)) == place("p1", 1, "x")
    assert walk.parting_at(found, ("/k.py", 2)) == place("p2", 2, "z")


def test_lines_that_an_edit_moved_are_the_same(tmp_path: Path) -> None:
    a = record(tmp_path, "one", {0: module("a.b @@1", "a.c @@2")}, source="one\ntwo\n")
    moved = module("a.b @@2", "a.new @@1", "a.c @@3")
    b = record(tmp_path, "one", {0: moved}, source="new\none\ntwo\n", file="/other/k.py")
    assert passes_of_lines(a, b) == {1: "traced"}


# changes


def ptx(operation: str = "add.s32", register: int = 1) -> str:
    return f".version 8.0\n.target sm_80\n.entry {_SYMBOL}(\n)\n{{\n\t{operation} \t%r{register}, %r2, 1;\n\tret;\n}}\n"


def sass(*instructions: str) -> str:
    head = f'\t.section\t.text.{_SYMBOL},"ax",@progbits\n.text.{_SYMBOL}:\n\t//## File "/k.py", line 2\n'
    body = "".join(
        f"        /*{16 * number:04x}*/                   {text} ;\n" for number, text in enumerate(instructions)
    )
    return head + body


START, END = module("a.b @@1", "a.c @@2"), module("a.b @@1", "a.e @@2")
CODE = sass("IADD3 R1, R2, 0x1, RZ", "EXIT")
OTHER = sass("IMAD R1, R2, 0x1, RZ", "EXIT")


def test_a_pass_that_makes_other_code(tmp_path: Path) -> None:
    a = record(tmp_path, "one,two", {0: START}, ptx=ptx(), sass=CODE)
    b = record(tmp_path, "one,two", {0: START, 2: END}, ptx=ptx("mad.s32"), sass=OTHER)
    found = change(a, b, _NAMES)
    assert found.cause == "two"
    assert found.since == place("two", 2, "a.e")
    assert found.same_code is False
    (line,) = found.lines
    assert (line.file, line.line, line.text, line.since) == ("/k.py", 2, "two", "two")
    assert (line.removed, line.added) == ({"IADD3 R, R, 0x1, RZ": 1}, {"IMAD R, R, 0x1, RZ": 1})


def test_the_code_generator_makes_other_code(tmp_path: Path) -> None:
    a = record(tmp_path, "one,two", {0: START}, ptx=ptx(), sass=CODE)
    b = record(tmp_path, "one,two", {0: START}, ptx=ptx("mad.s32"), sass=OTHER)
    found = change(a, b, _NAMES)
    assert (found.first, found.since, found.same_ptx, found.cause) == (None, None, False, "code generation")


def test_the_assembler_makes_other_code(tmp_path: Path) -> None:
    a = record(tmp_path, "one,two", {0: START}, ptx=ptx(), sass=CODE)
    b = record(tmp_path, "one,two", {0: START}, ptx=ptx(register=7), sass=OTHER)
    found = change(a, b, _NAMES)
    assert (found.since, found.same_ptx, found.cause) == (None, True, "ptxas")


def test_the_same_code_has_no_cause(tmp_path: Path) -> None:
    a = record(tmp_path, "one,two", {0: START}, ptx=ptx(), sass=CODE)
    b = record(tmp_path, "one,two", {0: START, 2: END}, ptx=ptx(), sass=CODE.replace("R2", "R9"))
    found = change(a, b, _NAMES)
    assert (found.lines, found.cause, found.same_code) == ([], None, True)
    assert found.since == place("two", 2, "a.e")


@pytest.mark.parametrize("missing", [0, 1])
def test_without_machine_code_nothing_is_said_of_it(tmp_path: Path, missing: int) -> None:
    texts = [CODE, OTHER]
    texts[missing] = ""
    a, b = (record(tmp_path, "one,two", {0: START}, ptx=ptx(), sass=each) for each in texts)
    found = change(a, b, _NAMES)
    assert (found.lines, found.same_code, found.cause) == ([], None, None)
    assert code_changes(a, b, Sources({}, {})) is None
