"""The frame of a page: one file, one program, and nothing that a name or a text of a record can break out of."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_pages import Page, check_sound

from cutecc.errors import Error
from cutecc.record import Artifact, Compilation, Failure, KernelResources, Remark, Step, Versions
from cutecc.record.stages import StageWriter, UserLines, create
from cutecc.report import page
from cutecc.report.writing import encode_report

HOSTILE = (
    "</script><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "</noscript><svg onload=alert(1)>",
    "<!--<script>",
    "\"'><iframe src=javascript:alert(1)>",
    "]]>&lt;&#60;",
    "\x1b[31m\x08\u202e",
)


def hostile_record(text: str, folder: Path | None = None) -> Compilation:
    """A record that says `text` wherever a record can say something."""
    record = Compilation(
        text,
        text,
        text,
        Versions(text, text, text, text, flavour=text),
        status="failed",
        command=["cutecc", text],
        source=text,
        warnings=[Remark("warning", text, text, text, {text: text})],
        steps=[Step(1, text, text, "plugin", remarks=[Remark("remark", text, text)])],
        resources=[KernelResources(text, 1, 2, 3, 4, 5, None, 6, None, None)],
        failure=Failure(text, text, "reproducer-01-x.mlir", text, [text]),
    )
    record.files["reproducer-01-x.mlir"] = text.encode()
    if folder:
        path = folder / "x.stages"
        create(path, UserLines(sources={text: text}))
        StageWriter(path).add_stage(0, f"{text}\n", [None])
        record.files["x.stages"] = path.read_bytes()
        record.artifacts.append(Artifact("stages", "x.stages"))
        for kind, name in (("ptx", "x.ptx"), ("sass", "x.sass"), ("llvm-ir", "x.ll")):
            record.files[name] = text.encode()
            record.artifacts.append(Artifact(kind, name))
    return record


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_record_breaks_out(text: str, tmp_path: Path) -> None:
    found = Page(encode_report(hostile_record(text, tmp_path)))
    check_sound(found)
    assert found.title == f"{text} for {text} – cutecc report"
    assert text in "".join(found.all("h1"))
    assert text in found.all("pre")
    assert f"{text}, at {text}" in found.all("p")
    assert f"cutecc {text}, nvidia-cutlass-dsl {text} {text}".strip() in [each.strip() for each in found.all("li")]
    chunks = found.chunks
    assert chunks["manifest"]["name"] == text
    assert chunks["stage:0"]["text"] == f"{text}\n"
    assert chunks["user-lines"]["sources"] == {text: text}
    assert chunks["reproducer"]["text"] == text
    assert chunks["listing:x.ptx"]["text"] == text


@settings(max_examples=30)
@given(st.text(st.sampled_from("<>/!-\"'&;=scriptyle \n") | st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_no_text_at_all_breaks_out(text: str) -> None:
    found = Page(encode_report(hostile_record(text)))
    check_sound(found)
    assert found.chunks["manifest"]["failure"]["message"] == text


def test_a_name_of_an_artifact_cannot_be_a_path() -> None:
    """What a manifest names is looked up in the record alone; what is not there is left out."""
    record = hostile_record("k")
    record.artifacts.append(Artifact("ptx", "../../etc/passwd"))
    assert not [name for name in Page(encode_report(record)).chunks if name.startswith("listing")]


def test_a_program_with_what_ends_a_script_is_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.js").write_text('const a = "</script><!-- </SCRIPT >";\r\nconst b = "{title}";')
    (tmp_path / "page.css").write_text('a::before { content: "</style>"; }')
    monkeypatch.setattr(page, "ASSETS", tmp_path)
    found = Page(page.head("t", "s") + b"</body></html>")
    check_sound(found)
    assert found.programs == ['const a = "<\\/script>\\x3c!-- <\\/SCRIPT >";\nconst b = "{title}";']
    assert found.all("style") == ['a::before { content: "<\\/style>"; }']


def test_an_installation_without_the_program_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "ASSETS", tmp_path)
    with pytest.raises(Error, match=r"lacks the report's page\.js"):
        page.head("t", "")


def test_the_installed_page_needs_no_network() -> None:
    found = Page(page.head("t", ""))
    check_sound(found)
    assert found.policy.count("http") == 0
