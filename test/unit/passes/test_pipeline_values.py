"""Pipelines: text, selectors, edits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_passes import Everything, Nested, OnFunctions, Rename

from cutecc.errors import UsageError
from cutecc.passes import lookup, registry
from cutecc.passes.debug_counter import LimitedPass
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline, parse_pass
from cutecc.passes.pipelines import choose_pipeline
from cutecc.passes.wheel import WheelPass
from cutecc.target import Target

H100 = Target.parse("sm_90a")


@pytest.fixture(autouse=True)
def _sample_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    lookup.registered_passes()
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    for pass_class in (Everything, Nested, OnFunctions, Rename):
        registry.register(pass_class)


def names(pipeline: Pipeline) -> list[str]:
    return [pass_.name for pass_ in pipeline]


def test_parse_and_print() -> None:
    text = "cse,gpu.module(convert-fastmath-ops,test-nested),canonicalize{max-iterations=3 top-down=false}"
    pipeline = Pipeline.parse(text)
    assert names(pipeline) == ["cse", "convert-fastmath-ops", "test-nested", "canonicalize"]
    assert pipeline.passes[1] == WheelPass(name="convert-fastmath-ops", anchors=("gpu.module",))
    assert pipeline.passes[2] == Nested()
    assert pipeline.passes[3].options == [("max-iterations", "3"), ("top-down", "false")]
    assert Pipeline.parse(str(pipeline)) == pipeline


@pytest.mark.parametrize(
    "text",
    [
        "builtin.module(cse,canonicalize)",
        " cse , canonicalize ",
        "cse,builtin.module(canonicalize)",
        "cse,canonicalize,",
    ],
)
def test_the_module_around_is_optional(text: str) -> None:
    assert Pipeline.parse(text) == Pipeline.parse("cse,canonicalize")


def test_nothing_is_the_empty_pipeline() -> None:
    assert len(Pipeline.parse("")) == len(Pipeline.parse("builtin.module()")) == 0
    assert str(Pipeline()) == ""


def test_anchors_nest() -> None:
    (pass_,) = Pipeline.parse("builtin.module(gpu.module(gpu.func(cse)))")
    assert pass_.anchors == ("gpu.module", "gpu.func")
    assert str(pass_) == "gpu.module(gpu.func(cse))"


@pytest.mark.parametrize(
    "text",
    [
        "cse{",
        "cse}",
        "cse)",
        "gpu.module(cse",
        "gpu.module(cse)x",
        "cse{a=1}x",
        "{a=1}",
        "a b",
        "cse{a=1",
        "cse,(cse",
        "cse{=1}",
    ],
)
def test_wrong_syntax(text: str) -> None:
    with pytest.raises(UsageError):
        Pipeline.parse(text)


pass_names = st.from_regex(r"[a-z][a-z0-9-]{0,10}", fullmatch=True).filter(lambda name: lookup.find_pass(name) is None)
values = st.text("abc019_-+.:= ,;", max_size=8)
option_lists = st.lists(st.tuples(pass_names.filter(lambda name: not name.endswith("-path")), values), max_size=2)
wheel_passes = st.builds(
    lambda name, options, anchors: WheelPass(name=name, wheel_options=tuple(options), anchors=tuple(anchors)),
    pass_names,
    option_lists.filter(
        lambda options: not {name for name, _ in options} & {"toolkit", "l", "link-libraries", "module"}
    ),
    st.lists(st.sampled_from(["gpu.module", "func.func", "llvm.func"]), max_size=2),
)
on_functions = st.builds(OnFunctions, label=values)
nested_passes = st.builds(
    lambda pass_, anchors, last: pass_.nested(*anchors, last),
    on_functions,
    st.lists(st.sampled_from(["gpu.module", "any", "a.b"]), max_size=3),
    st.sampled_from([*OnFunctions.runs_on, "any"]),
)
limited_passes = st.builds(LimitedPass, on_functions | nested_passes | st.just(Nested()), st.integers(0, 99))
python_passes = st.builds(Rename, suffix=st.text("ab_", min_size=1)) | st.just(Nested()) | on_functions
pipelines = st.lists(wheel_passes | python_passes | nested_passes | limited_passes, max_size=6).map(
    lambda passes: Pipeline(tuple(passes))
)


@given(pipelines)
def test_print_then_parse(pipeline: Pipeline) -> None:
    assert Pipeline.parse(str(pipeline)) == pipeline
    assert Pipeline.parse(f"builtin.module({pipeline})") == pipeline


@given(pipelines)
def test_each_selector_means_one_pass(pipeline: Pipeline) -> None:
    selectors = pipeline.selectors()
    assert len(set(selectors)) == len(pipeline)
    assert [pipeline.position(selector) for selector in selectors] == list(range(len(pipeline)))


@given(pipelines, st.data())
def test_until_and_since_cut_in_two(pipeline: Pipeline, data: st.DataObject) -> None:
    if not len(pipeline):
        return
    selector = data.draw(st.sampled_from(pipeline.selectors()))
    assert pipeline.until(selector).passes + pipeline.since(selector).passes == pipeline.passes


ABAC = "cse,canonicalize,cse,symbol-dce"


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda p, new: p.insert_after("cse", new), "cse,test-rename,canonicalize,cse,test-rename,symbol-dce"),
        (lambda p, new: p.insert_after("cse#2", new), "cse,canonicalize,cse,test-rename,symbol-dce"),
        (lambda p, new: p.insert_before("cse", new), "test-rename,cse,canonicalize,test-rename,cse,symbol-dce"),
        (lambda p, new: p.insert_before("cse#1", new, new), "test-rename,test-rename,cse,canonicalize,cse,symbol-dce"),
        (lambda p, new: p.replace("canonicalize", new), "cse,test-rename,cse,symbol-dce"),
        (lambda p, new: p.replace("symbol-dce"), "cse,canonicalize,cse"),
        (lambda p, new: p.without("cse"), "canonicalize,symbol-dce"),
        (lambda p, new: p.without("cse#2"), "cse,canonicalize,symbol-dce"),
        (lambda p, new: p.until("cse#2"), "cse,canonicalize,cse"),
        (lambda p, new: p.since("canonicalize"), "cse,symbol-dce"),
    ],
)
def test_edits(edit, expected: str) -> None:
    before = Pipeline.parse(ABAC)
    assert str(edit(before, Rename())) == expected
    assert str(before) == ABAC


@pytest.mark.parametrize("selector", ["cse#0", "cse#3", "cse#x", "cse#-1"])
def test_selectors_count_from_one(selector: str) -> None:
    with pytest.raises(UsageError, match="cse occurs 2 times, counted from #1"):
        Pipeline.parse(ABAC).positions(selector)


def test_a_selector_that_means_nothing_says_what_there_is() -> None:
    with pytest.raises(UsageError) as caught:
        Pipeline.parse(ABAC).without("canonicalise")
    assert caught.value.message == "no pass 'canonicalise' in the pipeline"
    assert caught.value.hints == ["did you mean canonicalize?", "the pipeline has cse, canonicalize, symbol-dce"]


def test_where_one_pass_is_meant_several_are_an_error() -> None:
    with pytest.raises(UsageError) as caught:
        Pipeline.parse(ABAC).until("cse")
    assert caught.value.hints == ["say which: cse#1, cse#2"]


def test_options_of_a_python_pass() -> None:
    assert Pipeline.parse("test-rename{suffix=_x}").passes == (Rename(suffix="_x"),)
    with pytest.raises(UsageError, match="pass test-rename has no option 'prefix'"):
        Pipeline.parse("test-rename{prefix=_x}")


def test_a_python_pass_knows_where_it_runs() -> None:
    assert Pipeline.parse("test-nested") == Pipeline.parse("gpu.module(test-nested)")
    with pytest.raises(UsageError, match=r"pass test-nested does not run on func\.func"):
        Pipeline.parse("func.func(test-nested)")


@pytest.mark.parametrize("text", ["", "cse,cse", "gpu.module(cse,cse)"])
def test_one_pass_is_one(text: str) -> None:
    with pytest.raises(UsageError, match="is not one pass"):
        parse_pass(text)


@pytest.mark.parametrize(
    "option",
    [
        *("dump-ptx-path", "dump-cubin-path", "output-json-path", "some-future-path"),
        *("toolkit", "l", "link-libraries", "module"),
    ],
)
def test_options_that_name_a_path_are_refused(option: str) -> None:
    with pytest.raises(UsageError, match=f"option '{option}' names a path"):
        Pipeline.parse(f"cse,gpu.module(cuda-to-binary{{{option}=/tmp/x}})")
    # As the wheel prints its own pipeline: there, and empty.
    assert len(Pipeline.parse(f"cuda-to-binary{{{option}=}}")) == 1


def test_choose_by_name_text_or_file(tmp_path: Path) -> None:
    assert "cuda-to-binary" in names(choose_pipeline("nvidia", H100))
    assert names(choose_pipeline("cse,canonicalize", H100)) == ["cse", "canonicalize"]
    file = tmp_path / "mine.pipeline"
    file.write_text("# first\ncse, // second\n  gpu.module(\n  canonicalize{max-iterations=2}\n),\n")
    assert str(choose_pipeline(str(file), H100)) == "cse,gpu.module(canonicalize{max-iterations=2})"


@pytest.mark.parametrize("name", ["missing.pipeline", "missing.txt", "folder/missing"])
def test_a_missing_file_is_not_taken_for_a_pass(name: str) -> None:
    with pytest.raises(UsageError, match=f"pipeline file {name} does not exist"):
        choose_pipeline(name, H100)


def test_long_text_is_no_file_name() -> None:
    assert len(choose_pipeline(",".join(["canonicalize"] * 1000), H100)) == 1000


def test_nvidia_is_the_wheels_list_and_depends_on_the_options() -> None:
    plain = choose_pipeline("nvidia", H100)
    lines = choose_pipeline("nvidia", H100, WheelOptions(preserve_line_info=True))
    slow = choose_pipeline("nvidia", H100, WheelOptions(opt_level=0))
    assert len(plain) > 40
    assert "cute-to-nvvm" not in names(plain)
    assert str(plain) != str(lines)
    assert str(plain) != str(slow)
    assert str(choose_pipeline("nvidia", Target.parse("sm_80"))) == str(plain).replace("sm_90a", "sm_80")
    assert Pipeline.parse(str(plain)) == plain


def test_the_experimental_api_has_a_prelude() -> None:
    plain = choose_pipeline("nvidia", H100)
    lir = choose_pipeline("nvidia", H100, lir=True)
    assert names(lir)[-len(plain) :] == names(plain)
    assert any(name.startswith("lir-") for name in names(lir))
    assert "lir-to-cute-dsl" not in names(lir)


@pytest.mark.parametrize("name", ["nvidia", "open"])
@pytest.mark.parametrize("lir", [False, True])
def test_pyir_is_lowered_once_and_before_all_else(name: str, lir: bool) -> None:
    plain = choose_pipeline(name, H100, lir=lir)
    pyir = choose_pipeline(name, H100, lir=lir, pyir=True)
    assert names(pyir) == ["convert-pyir-to-scf", "remove-dead-values", *names(plain)]


def test_fast_math_is_options_of_libnvvm() -> None:
    fast = choose_pipeline("nvidia", H100, WheelOptions(fast_math=True, nvvm_options="-opt=2"))
    (generation,) = (pass_ for pass_ in fast if pass_.name == "cuda-to-binary")
    assert dict(generation.options)["nvvm-options"].split() == ["-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-opt=2"]
