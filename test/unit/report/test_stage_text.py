"""Finding stages and functions by name, and folding types."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.errors import UsageError
from cutecc.record import Compilation, Step, Versions
from cutecc.record.stages import Stages, StageWriter, create
from cutecc.report.paths import find_file, short_names
from cutecc.report.stage_text import choose, find_function, fold_types, functions, positions


@pytest.fixture
def record(tmp_path: Path) -> tuple[Compilation, Stages]:
    compilation = Compilation("k", "sm_80", "", Versions("0", "3", "4", "built in"))
    names = ["cute-desugar", "cse", "canonicalize", "cse", "broken"]
    compilation.steps = [Step(index, name, name, "wheel") for index, name in enumerate(names, start=1)]
    compilation.steps[-1].status = "failed"
    create(tmp_path / "k.stages")
    writer = StageWriter(tmp_path / "k.stages")
    for index in (0, 1, 4):
        writer.add_stage(index, f"module {index}\n", [None])
    return compilation, Stages((tmp_path / "k.stages").read_bytes())


@pytest.mark.parametrize(
    ("selector", "index", "before"),
    [
        ("traced", 0, 0),
        ("0", 0, 0),
        ("cute-desugar", 1, 0),
        ("cute-desugar#1", 1, 0),
        ("cse#1", 2, 1),
        ("cse#2", 4, 3),
        ("3", 3, 2),
        ("last", 4, 3),
    ],
)
def test_choosing(record, selector: str, index: int, before: int) -> None:
    chosen = choose(record[0], record[1], selector)
    assert (chosen.index, chosen.before) == (index, before)


@pytest.mark.parametrize(
    ("selector", "message", "hint"),
    [
        ("cse", "cse ran 2 times: cse#1 (2), cse#2 (4)", "name one, as cse#1"),
        ("cse#3", "no pass 'cse#3' ran", "did you mean cse#"),
        ("canonicalise", "no pass 'canonicalise' ran", "did you mean canonicalize?"),
        ("zzzzz", "no pass 'zzzzz' ran", "name a pass that ran"),
        ("broken", "pass broken failed: there is no module after it", "cse#2"),
        ("5", "no pass with number 5 ran", "numbers go from 0 to 4"),
    ],
)
def test_choosing_what_is_not_there(record, selector: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose(record[0], record[1], selector)
    assert caught.value.message == message
    assert hint in caught.value.hints[0]


def test_a_run_that_went_on_from_a_dump_begins_with_its_input(record, tmp_path: Path) -> None:
    compilation, _ = record
    create(tmp_path / "later.stages")
    StageWriter(tmp_path / "later.stages").add_stage(3, "module\n", [None])
    compilation.steps = compilation.steps[3:4]
    stages = Stages((tmp_path / "later.stages").read_bytes())
    assert [str(each) for each in positions(compilation, stages)] == ["03 input", "04 cse"]


def test_a_run_of_a_part_names_its_passes_as_the_whole_pipeline_does(record, tmp_path: Path) -> None:
    compilation, _ = record
    compilation.whole_pipeline = "cute-desugar,cse,gpu.module(canonicalize{a=1}),cse,broken"
    create(tmp_path / "later.stages")
    StageWriter(tmp_path / "later.stages").add_stage(3, "module\n", [None])
    compilation.steps = compilation.steps[3:4]
    stages = Stages((tmp_path / "later.stages").read_bytes())
    assert [str(each) for each in positions(compilation, stages)] == ["03 input", "04 cse#2"]
    assert choose(compilation, stages, "cse").index == choose(compilation, stages, "cse#2").index == 4
    # The pass that it began behind is its input.
    assert choose(compilation, stages, "canonicalize").name == "input"
    with pytest.raises(UsageError, match="no pass 'cse#1' ran"):
        choose(compilation, stages, "cse#1")


MODULE = """\
module {
  func.func private @declared() -> i32
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_copy_tensorptrf32_0(%arg0: i32) attributes {a = {}} {
      scf.if %c {
        a.b
      }
    }
    llvm.func @kernel_cutlass_copy_tensorptrf16_0() {
      llvm.return
    }
  }
  func.func public @"with space"() {
    return
  }
}
""".splitlines()


def test_functions_of_a_module() -> None:
    assert [(each.name, each.first, each.last) for each in functions(MODULE)] == [
        ("kernel_cutlass_copy_tensorptrf32_0", 3, 7),
        ("kernel_cutlass_copy_tensorptrf16_0", 8, 10),
        ("with space", 12, 14),
    ]


def test_a_function_by_its_names() -> None:
    assert find_function(MODULE, "with space", "here").first == 12
    assert find_function(MODULE, "kernel_cutlass_copy_tensorptrf16_0", "here").first == 8
    with pytest.raises(UsageError, match="2 functions here are called copy"):
        find_function(MODULE, "copy", "here")
    with pytest.raises(UsageError, match="no function 'copi' here") as caught:
        find_function(MODULE, "copi", "here")
    assert caught.value.hints == ["did you mean copy?"]


@pytest.mark.parametrize(
    ("line", "folded"),
    [
        (
            '  %0 = cute.f(%1) : (!cute.memref<f16, gmem, align<16>, "(8,8):(8,1)">, i32) -> !cute.layout<"8:1">',
            '  %0 = cute.f(%1) : (!cute.memref<…>, i32) -> !cute.layout<"8:1">',
        ),
        ("  a.b : !llvm.struct<(ptr<1>, struct<(i32, struct<()>)>)>, i64", "  a.b : !llvm.struct<…>, i64"),
        ('  a.b "!cute.memref<f16, gmem, align<16>, text in a string>"', None),
        ('  a.b : !t.t<"a > string with <<< and more">, i1', "  a.b : !t.t<…>, i1"),
        ("  a.b : !t.f<(i32, i32, i32, i32, i32) -> i32>, i1", "  a.b : !t.f<…>, i1"),
        ("  a.b : !t.unclosed<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "  a.b : !t.unclosed<…>"),
        ("  %2 = arith.cmpi slt, %0, %1 : i32  // a < b > c", None),
    ],
)
def test_folding_types(line: str, folded: str | None) -> None:
    assert fold_types(line) == (folded or line)


@given(st.text(alphabet='!#ab.<>"\\, ->()', max_size=80))
def test_folding_ends_and_makes_nothing_longer(line: str) -> None:
    assert len(fold_types(line)) <= len(line)


def test_short_names_of_files() -> None:
    assert short_names(["/a/b/k.py", "/a/c/k.py", "/x/y.py", "y.py"]) == {
        "/a/b/k.py": "b/k.py",
        "/a/c/k.py": "c/k.py",
        "/x/y.py": "x/y.py",
        "y.py": "y.py",
    }


def test_finding_a_file_by_its_end() -> None:
    files = ["/a/b/k.py", "/a/c/k.py", "/x/other.py"]
    assert find_file(files, "other.py") == "/x/other.py"
    assert find_file(files, "./b/k.py") == "/a/b/k.py"
    assert find_file(files, "/a/c/k.py") == "/a/c/k.py"
    with pytest.raises(UsageError, match=r"k\.py is 2 files: b/k\.py, c/k\.py"):
        find_file(files, "k.py")
    with pytest.raises(UsageError) as caught:
        find_file(files, "ther.py")
    assert caught.value.hints == ["did you mean other.py?"]
