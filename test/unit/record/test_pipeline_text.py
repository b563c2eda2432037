"""The names of a pipeline's passes, without what knows passes."""

from __future__ import annotations

import pytest

from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.passes.open_pipeline import open_pipeline
from cutecc.passes.pipeline import Pipeline
from cutecc.record.pipeline_text import pass_names, selectors_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("cse", ["cse"]),
        ("cse, canonicalize{a=1 b={c,d}},cse", ["cse", "canonicalize", "cse"]),
        ("gpu.module(a{b=1},c(d,e{f='),'})),g", ["a", "d", "e", "g"]),
        ('x{text="a,b}"},builtin.module(y)', ["x", "y"]),
        # What a manifest that somebody has made says need not be a pipeline.
        ("a(b", ["b"]),
        ("a),{b", ["a"]),
        ("a(" * 100_000 + "b", ["b"]),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert pass_names(text) == names


@pytest.mark.parametrize("pipeline", [nvidia_pipeline("sm_90a"), open_pipeline("sm_80")])
def test_they_are_those_of_the_pipeline(pipeline: Pipeline) -> None:
    names = pass_names(str(pipeline))
    assert names == [pass_.name for pass_ in pipeline]
    assert selectors_of(names) == pipeline.selectors()
