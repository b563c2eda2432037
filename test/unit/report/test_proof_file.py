"""`cutecc report --proof`: what a proof says on the page, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from report_pages import Page

from cutecc.errors import UsageError
from cutecc.record import Compilation, KernelResources
from cutecc.record.compilation import Versions
from cutecc.report.proof_file import ANALYSIS, analysis_of, parts_of, proofs_of, read_proofs
from cutecc.report.timeline_picture import Picture
from cutecc.report.writing import write_report
from cutecc.timelines.document import timeline_dict
from cutecc.timelines.timeline import BlockTimeline, Lane, Timeline, Unit

FILES = ("/here/kernel.py",)
PROOF: dict[str, Any] = {
    "file": "kernel.py",
    "kernel": "kernel_cutlass_k_0",
    "answer": "suspicious",
    "problems": [
        {"kind": "race", "text": "a race", "location": {"file": "/there/kernel.py", "line": 7}, "other": None},
    ],
    "sizes": {"f(argument 1)": 5},
    "least": {"g": 2},
    "below": {"g": [{"kind": "drain", "text": "too small", "location": {"file": "/there/kernel.py", "line": 9}}]},
    "states": 1200,
    "events": 3,
    "seconds": 0.1,
    "skeleton": [
        {
            "title": "all of it",
            "is_period": False,
            "lanes": [
                {
                    "role": "warp",
                    "title": "warps 0-3",
                    "block": 0,
                    "warps": [0, 1, 2, 3],
                    "events": [{"kind": "barrier", "text": "barrier 0", "file": "/there/kernel.py", "line": 3}],
                }
            ],
            "edges": [],
            "others": [],
        }
    ],
}


def record(kernel: str) -> Compilation:
    resources = [KernelResources(kernel, 8, 0, 0, 0, 0, 0, 0, 0, None)]
    versions = Versions("0", "3.11", "4.8.1", "wheel")
    return Compilation("k", "sm_90a", "nvidia", versions, status="ok", resources=resources)


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_a_proof_on_the_page(tmp_path: Path) -> None:
    (part,) = parts_of(read_proofs(written(tmp_path / "proof.json", [PROOF])), FILES)
    assert (part.name, part.answer, part.given) == ("k_0", "suspicious", ["g at least 2"])
    assert part.problems[0].location is not None
    assert part.problems[0].location.file == "/here/kernel.py"
    assert part.sizes == ["f(argument 1) = 5"]
    assert part.effort == "1,200 states, 3 events"
    assert part.drawings[0].boxes[0].file == "/here/kernel.py"


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({}, ["timeline:1"]),
        ({"title": "M=64, K=320, N=8"}, ["timeline:1"]),
        ({"title": "M=64, K=384"}, []),
        ({"unit": "ns"}, []),
        ({"kernel": "kernel_cutlass_other_0"}, []),
    ],
)
def test_the_timeline_of_the_run_that_fails(changed: dict[str, str], shown: list[str], tmp_path: Path) -> None:
    """It is of that kernel at those sizes on the emulator."""
    witness = {"sizes": {"K": 320, "M": 64}, "blocks": "0:1", "schedule": "random", "findings": []}
    proof = {**PROOF, "answer": "refuted", "witness": witness, "reproduce": "again", "timeline": "a command"}
    told = {"title": "M=64, K=320", "unit": "instructions", "kernel": PROOF["kernel"], **changed}
    timelines = [picture(title="M=1, K=1", unit="instructions", kernel=PROOF["kernel"]), picture(**told)]
    (part,) = parts_of(read_proofs(written(tmp_path / "proof.json", [proof])), FILES, timelines)
    assert (part.timelines, part.timeline) == (shown, "a command")
    (suspicious,) = parts_of(read_proofs(written(tmp_path / "proof.json", [PROOF])), FILES, timelines)
    assert (suspicious.timelines, suspicious.timeline) == ([], None)


def picture(title: str, unit: Unit, kernel: str) -> Picture:
    """A timeline of one block without spans."""
    none = np.zeros(0)
    lane = Lane(0, "warp", 0.0, 1.0, none.astype(np.int32), none, none)
    found = timeline_dict(Timeline(unit, "emulator", [], [BlockTimeline(kernel, 0, 0, -1, [lane])]))
    return msgspec.convert({**found, "title": title}, Picture)


def test_what_is_wrong_is_remarked_at_its_line(tmp_path: Path) -> None:
    found = analysis_of(read_proofs(written(tmp_path / "proof.json", [PROOF])), FILES)
    assert found.name == ANALYSIS
    assert [(each.severity, each.location, each.message) for each in found.remarks] == [
        ("warning", "/here/kernel.py:7:1", "race: a race"),
        ("note", "/here/kernel.py:9:1", "with less of g: drain: too small"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        {},
        [{}],
        [{**PROOF, "answer": "surely"}],
        [{**PROOF, "skeleton": [{"lanes": 1}]}],
        [{**PROOF, "states": 1 << 60}],
    ],
)
def test_what_is_no_proof_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(UsageError, match="is no proof"):
        read_proofs(written(tmp_path / "proof.json", content))


def test_an_edge_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    skeleton = {**PROOF["skeleton"][0], "edges": [{"to": [4, 0], "start": [0, 0]}]}
    with pytest.raises(UsageError, match="is no proof"):
        read_proofs(written(tmp_path / "proof.json", [{**PROOF, "skeleton": [skeleton]}]))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_proofs(tmp_path / "proof.json")


def test_a_proof_of_another_kernel_is_refused(tmp_path: Path) -> None:
    proofs = read_proofs(written(tmp_path / "proof.json", [PROOF]))
    path = tmp_path / "proof.json"
    with pytest.raises(UsageError, match="no proof of this record's kernels"):
        proofs_of(record("kernel_cutlass_other_0"), proofs, path)
    assert proofs_of(record("kernel_cutlass_k_0"), proofs, path) == proofs


def test_the_page_has_the_proof_and_its_remarks(tmp_path: Path) -> None:
    proofs = read_proofs(written(tmp_path / "proof.json", [PROOF]))
    compilation = record("kernel_cutlass_k_0")
    write_report(compilation, tmp_path / "page.html", proofs=proofs)
    chunks = Page.at(tmp_path / "page.html").chunks
    assert chunks["proof"][0]["drawings"][0]["heads"][0]["text"] == "warps 0-3"
    (analysis,) = chunks["manifest"]["analyses"]
    assert [each["grade"] for each in analysis["remarks"]] == ["warning", "note"]
    assert compilation.analyses == []
