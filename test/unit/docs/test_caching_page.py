"""The page about the cache, followed with the cache on."""

from __future__ import annotations

from pathlib import Path

import pytest
from following import ROOT, follow, prepare


@pytest.mark.slow
def test_the_page_does_what_it_shows(tmp_path: Path, cache_dir: Path, command: Path) -> None:
    follow((ROOT / "docs" / "caching.md").read_text(), prepare(tmp_path), command.parent)
    assert list(cache_dir.iterdir()) == [], "the direct entry goes with what it leads to"


def test_the_python_of_the_page_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import cutecc
    from cutecc.compilation.request import CompileOptions
    from cutecc.frontend.kernel_file import find_callee

    text = (ROOT / "docs" / "caching.md").read_text()
    path = tmp_path / "caching_page.py"
    path.write_text(text.partition("```python\n")[2].partition("```")[0])
    scale = find_callee(str(path), "scale")
    options = CompileOptions(pipeline="canonicalize", artifacts=())
    kernel = cutecc.compile(scale, "f32[32]", 2.0, target="sm_80", options=options, pipeline="canonicalize")
    assert kernel.compilation.name == "scale"
