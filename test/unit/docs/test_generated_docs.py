"""Pages with generated blocks show what the compiler prints today, and `tools/refresh_docs.py` can tell.

A page that is out of date is brought up to date by `python tools/refresh_docs.py docs/PAGE.md`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import ir_excerpts
import pytest
import refresh_docs
from ir_excerpts import Choice, ExcerptError, choose, read_dump, read_ptx, show

ROOT = Path(__file__).resolve().parents[3]

PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if refresh_docs.MARKER.search(page.read_text())]

DUMP = """\
// cutecc-stage: {}
!memref_gmem_f32 = !cute.memref<f32, gmem, "(4,8):(8,1)">
#loc = loc("/somewhere/kernel.py":3:0)
#loc1 = loc("/somewhere/kernel.py":7:4)
#loc2 = loc("/somewhere/library.py":7:4)
#loc3 = loc("y = x[i]"(#loc1))
module {
  func.func @f(%arg0: !memref_gmem_f32 loc("<module>"(#loc)), %arg1: i32 loc(unknown)) {
    %lay = cute.get_layout(%arg0) : !memref_gmem_f32 loc(#loc3)
    %lay_0 = cute.get_layout(%arg0) : !memref_gmem_f32 loc(#loc3)
    %c4 = arith.constant 4 : i32 loc(#loc2)
    scf.for %i = %arg1 to %c4 step %c4 {
      %0:2 = cute.get_scalars(%lay) : !cute.layout<"(4,8):(8,1)"> loc(#loc1)
      %1 = arith.addi %0#1, %c4 : i32 loc(callsite(#loc2 at #loc3))
    } loc(#loc1)
    return loc(#loc)
  } loc(#loc)
} loc(#loc)
"""

PTX = """\
\t.loc\t1 7 4
\tshl.b32 \t%r2, %r1, 2;
\t@%p1 bra \t$L__BB0_2;
\t.loc\t1 8 4
\tld.global.v2.b32 \t{%r3, %r4}, [%rd1];
\tadd.s32 \t%r5, %r3, %r2;
"""


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_is_up_to_date(page: Path, command: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh_docs, "_cutecc", lambda: [command])
    stale = refresh_docs.differences(page)
    assert not stale, f"run tools/refresh_docs.py {page.relative_to(ROOT)}, and see to the text\n{stale}"


def test_the_guides_to_the_pipelines_are_among_them() -> None:
    assert {"lowering.md", "reading-cute.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(operations=("cute.*",)), ["get_layout", "get_layout", "get_scalars"]),
        (Choice(operations=("cute.get_layout",), used=True), ["get_layout"]),
        (Choice(source=7), ["get_layout", "get_layout", "scf.for", "get_scalars", "addi", "}"]),
        (Choice(source=3, operations=("func.func",)), ["func.func", "}"]),
        (Choice(texts=("%c4", "addi")), ["addi"]),
        (Choice(texts=("addi",), needs=1), ["arith.constant", "get_scalars", "addi"]),
        (Choice(texts=("addi",), needs=2), ["get_layout", "arith.constant", "get_scalars", "addi"]),
        (Choice(operations=("cute.*",), pick=(2,)), ["get_layout"]),
        (Choice(operations=("cute.*",), pick=(-1,)), ["get_scalars"]),
        (Choice(operations=("cute.*",), pick=(-1,), context=1), ["scf.for", "get_scalars", "addi", "}"]),
    ],
)
def test_lines_are_chosen_by_what_they_are(choice: Choice, expected: list[str]) -> None:
    lines = read_dump(DUMP, "kernel.py")
    found = [lines[number].text for number in choose(lines, choice)]
    assert len(found) == len(expected)
    assert all(word in text for word, text in zip(expected, found, strict=True))


@pytest.mark.parametrize("choice", [Choice(operations=("cute.slice",)), Choice(source=4), Choice(pick=(9,))])
def test_nothing_to_show_is_an_error(choice: Choice) -> None:
    with pytest.raises(ExcerptError):
        choose(read_dump(DUMP, "kernel.py"), choice)


def test_ptx_lines_know_their_source_and_operands() -> None:
    lines = read_ptx(PTX)
    chosen = choose(lines, Choice(source=8, operations=("add.*",), needs=1))
    assert show(lines, chosen).splitlines() == [
        "shl.b32 %r2, %r1, 2;",
        "…",
        "ld.global.v2.b32 {%r3, %r4}, [%rd1];",
        "add.s32 %r5, %r3, %r2;",
    ]


def test_locations_that_debug_scopes_wrap_are_followed() -> None:
    dump = '#loc = loc("/somewhere/kernel.py":7:4)\n#loc1 = #llvm.di_location<#loc in #di>\nllvm.return loc(#loc1)\n'
    (line,) = read_dump(dump, "kernel.py")
    assert line.sources == {7}


def test_an_excerpt_is_readable() -> None:
    lines = read_dump(DUMP, "kernel.py")
    assert show(lines, [2, 4, 6]).splitlines() == [
        '%lay = cute.get_layout(%arg0) : !cute.memref<f32, gmem, "(4,8):(8,1)">',
        "…",
        "%c4 = arith.constant 4 : i32",
        "  …",
        '  %0:2 = cute.get_scalars(%lay) : !cute.layout<"(4,8):(8,1)">',
    ]


def test_long_lines_are_folded_and_broken() -> None:
    registers = ", ".join(f"%r{number}" for number in range(64))
    atom = f'!cute_nvgpu.atom<"{"x" * 26}, {"y" * 26}, {"z" * 26}">'
    name = "@kernel_" + "long" * 20
    lines = [
        ir_excerpts.Line(f"wgmma {{{registers}}}, p;"),
        ir_excerpts.Line(f"%a = cute.f(%x) : {atom} -> {atom}"),
        ir_excerpts.Line(f"call {name}"),
    ]
    assert show(lines, range(3)).splitlines() == [
        "wgmma {%r0, %r1, …, %r63}, p;",
        "%a = cute.f(%x)",
        f"    : {atom}",
        "    -> !cute_nvgpu.atom<…>",
        f"call {name[:20]}…",
    ]


PAGE = """\
# A page

<!-- run this page through the tool: no marker, as nothing generated stands below -->
<!-- source: test/inputs/SOURCE at="b = 2" lines=2 -->
```python
b = 2
c = 33
```

It says `c = 33`, thirty times and 33.

<!-- run -->
```text
$ echo one; seq 2 3
one
2
3
```

<!-- picture: printf '<svg/>' > pictures/x.svg -->
![a picture](pictures/x.svg)
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page of every kind that needs no compiler, up to date."""
    monkeypatch.setattr(refresh_docs, "ROOT", tmp_path)
    for folder in (*refresh_docs.COPIED, "test/inputs", "docs/pictures"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    source = tmp_path / "test/inputs/source.py"
    source.write_text("a = 1\nb = 2\nc = 33\n")
    refresh_docs.line_with.cache_clear()
    (tmp_path / "docs/pictures/x.svg").write_text("<svg/>")
    page = tmp_path / "docs/page.md"
    page.write_text(PAGE.replace("SOURCE", "source.py"))
    return page


def test_an_up_to_date_page_has_no_differences(page: Path) -> None:
    before = page.read_text()
    assert refresh_docs.differences(page) == ""
    refresh_docs.write(page)
    assert page.read_text() == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("c = 33\n```", "c = 34\n```", "-c = 34\n+c = 33\n"),
        ("seq 2 3\none", "seq 2 3\ntwo", "-two\n+one\n"),
        ("'<svg/>'", "'<svg></svg>'", "pictures/x.svg is not what its command draws"),
        ("It says `c = 33`", "It says `c = 34`", "line 10: no block shows c = 34"),
        ("times and 33", "times and 35", "line 10: no block shows 35"),
        ("It says", "`%r3` says", "line 10: no block shows %r3"),
    ],
)
def test_what_is_out_of_date_is_found_and_mended(page: Path, old: str, new: str, message: str) -> None:
    page.write_text(page.read_text().replace(old, new))
    assert message in refresh_docs.differences(page)
    refresh_docs.write(page)
    generated = "no block shows" not in message
    assert (refresh_docs.differences(page) == "") == generated


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('at="b = 2"', 'at="z = 2"', "line 4: 0 lines of test/inputs/source.py contain 'z = 2', not one"),
        ("lines=2", "line=2", "line 4: unknown: line"),
        ("seq 2 3\none", "seq 2 3; false\none", "line 12: echo one; seq 2 3; false ends with status 1"),
        ("> pictures/x.svg", "> x.svg", "line 20: printf '<svg/>' > x.svg writes no pictures/x.svg"),
        ("<!-- run -->\n", "<!-- run -->\n\n", "line 12: no code block below the comment"),
    ],
)
def test_a_block_that_cannot_be_made_is_an_error(page: Path, old: str, new: str, message: str) -> None:
    page.write_text(page.read_text().replace(old, new))
    with pytest.raises(ExcerptError) as caught:
        refresh_docs.differences(page)
    assert message in str(caught.value)


def test_each_pipeline_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def compile_as(self: refresh_docs.Kernels, file: str, pipeline: str, output: Path) -> None:
        compiled.append(pipeline)
        output.mkdir()
        (output / "kernel.ptx").write_text(PTX.replace("shl", pipeline))

    monkeypatch.setattr(refresh_docs.Kernels, "_compile", compile_as)
    kernels = refresh_docs.Kernels(tmp_path)
    for _ in range(2):
        for pipeline, options in (("nvidia", "op=nvidia.*"), ("open", "op=open.* pipeline=open")):
            (block,) = refresh_docs.blocks(f"<!-- ptx: kernel.py {options} -->\n```ptx\n```\n")
            assert refresh_docs.excerpt(block, kernels) == f"{pipeline}.b32 %r2, %r1, 2;\n"
    assert compiled == ["nvidia", "open"]


def test_a_kernel_that_does_not_compile_says_why_at_every_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh_docs, "_cutecc", lambda: ["sh", "-c", 'mkdir "$6"; echo "a reason" >&2; false'])
    kernels = refresh_docs.Kernels(tmp_path)
    for stage in ("traced", "ptx"):
        with pytest.raises(ExcerptError, match="does not compile: a reason"):
            kernels.lines("kernel.py", stage)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_table_has_the_passes_of_a_pipeline_in_order() -> None:
    page = refresh_docs.refreshed("<!-- passes: open -->\n| old |\n|---|\n\nText.\n")
    rows = page.text.splitlines()[3:-2]
    assert rows[0].startswith("| 1 | [`number-fragments`]") and rows[0].endswith("| cutecc |")
    assert rows[1].startswith("| 2 | `cse` |") and rows[1].endswith("| wheel |")
    assert (
        "| [`lower-atoms`](../cutecc/passes/lowering/lower_atoms.py) | "
        "Write every copy and matrix product atom as its instructions. | cutecc |"
    ) in "\n".join(rows)
    assert any("`cuda-compute-target`" in row for row in rows)
    assert page.text.endswith("|\n\nText.\n")


def _compile_two_stages(self: refresh_docs.Kernels, file: str, pipeline: str, output: Path) -> None:
    """As if `first` and `second` were the passes of a kernel that slices, copies and adds."""
    output.mkdir()
    dumps = {
        "00-traced.mlir": "%a, %b = cute.get_leaves(%x)\n%s = cute.slice(%t, %c)\ncute.copy(%s, %d)\n",
        "01-first.mlir": "%a = cute.get_leaves(%x)\n%y = cute.get_iter(%z)\n",
        "03-second.mlir": "%n = arith.addi %i, %j\n",
    }
    for name, text in dumps.items():
        (output / name).write_text(text)
    steps = [("first", "01-first.mlir"), ("unchanged", None), ("second", "03-second.mlir")]
    (output / "manifest.json").write_text(json.dumps({"steps": [{"name": n, "dump": d} for n, d in steps]}))


OPERATIONS = """\
`cute.copy` is explained here.

<!-- glossary: kernel.py -->
| operation | what it is | gone after |
|---|---|---|
| `cute.get_leaves`, `get_iter` | parts | |
| `cute.slice` | a part | never |
"""


def test_a_table_says_after_which_pass_an_operation_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh_docs.Kernels, "_compile", _compile_two_stages)
    assert refresh_docs.refreshed(OPERATIONS).text.splitlines()[5:] == [
        "| `cute.get_leaves`, `get_iter` | parts | `second` |",
        "| `cute.slice` | a part | `first` |",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("`get_iter`", "`get_iter`, `get_shape`", "line 3: no dump has cute.get_shape"),
        ("`get_iter`", "`get_iter`, `slice`", "not gone after one pass: cute.get_leaves second"),
        ("`cute.copy` is", "Copying is", "line 3: the page names no cute.copy"),
        ("`cute.copy` is", "`cute.copy_more` is", "line 3: the page names no cute.copy"),
    ],
)
def test_a_table_of_operations_that_is_wrong_or_lacks_one_is_an_error(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    monkeypatch.setattr(refresh_docs.Kernels, "_compile", _compile_two_stages)
    with pytest.raises(ExcerptError, match=message):
        refresh_docs.refreshed(OPERATIONS.replace(old, new))


def test_console_blocks_and_folders_support_the_text(page: Path) -> None:
    page.write_text(page.read_text() + "\n## More\n\n`docs/pictures` is there, and `seven` of 77.\n")
    assert "no block shows seven" in refresh_docs.differences(page)
    page.write_text(page.read_text() + "\n```console\n$ echo seven 77\nseven 77\n```\n")
    assert refresh_docs.differences(page) == ""


@pytest.mark.slow
def test_the_command_line_checks_and_writes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- run -->\n```text\n$ seq 2\n1\n```\n")
    tool = [sys.executable, ROOT / "tools" / "refresh_docs.py"]
    checked = subprocess.run([*tool, "--check", page], capture_output=True, text=True)
    assert checked.returncode == 1
    assert "+2\n" in checked.stdout
    assert subprocess.run([*tool, page]).returncode == 0
    assert page.read_text() == "<!-- run -->\n```text\n$ seq 2\n1\n2\n```\n"
    assert subprocess.run([*tool, "--check", page]).returncode == 0
    page.write_text("<!-- run -->\n")
    failed = subprocess.run([*tool, page], capture_output=True, text=True)
    assert failed.returncode == 2
    assert "no code block" in failed.stderr
