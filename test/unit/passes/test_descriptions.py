"""The wheel's passes and their one-line descriptions name each other."""

from __future__ import annotations

import pytest

from cutecc.ir.modules import fresh_context
from cutecc.passes import lookup
from cutecc.passes.base import ModulePass
from cutecc.passes.nvidia.descriptions import DESCRIPTIONS, OPTION_DOCS, OTHER_REGISTERED
from cutecc.passes.nvidia.wheel_pipeline import WheelOptions, nvidia_pipeline

ALL_OPTIONS = WheelOptions(preserve_line_info=True)
WHOLE = nvidia_pipeline("sm_90a", ALL_OPTIONS, lir=True, pyir=True)


def _registered(text: str) -> str | None:
    """What the wheel prints for a pass that it knows, `None` for any other."""
    from cutecc.ir.mlir import passmanager

    with fresh_context():
        try:
            return str(passmanager.PassManager.parse(f"builtin.module({text})"))
        except (ValueError, RuntimeError):
            return None


def test_described_are_the_passes_of_the_pipelines() -> None:
    assert set(DESCRIPTIONS) == {pass_.name for pass_ in WHOLE}


@pytest.mark.parametrize("pass_", dict.fromkeys(WHOLE), ids=str)
def test_every_pass_is_the_wheels_or_a_reimplementation(pass_: ModulePass) -> None:
    ours = lookup.find_pass(pass_.name)
    if pass_.provider == "wheel":
        assert _registered(str(pass_))
    else:
        assert ours is not None
    if pass_.provider == "reimplementation":
        # A hidden pass: once the wheel registers it, the reimplementation has had its day.
        assert _registered(str(pass_)) is None


@pytest.mark.parametrize("name", OTHER_REGISTERED)
def test_others_are_registered_and_run_on_a_module(name: str) -> None:
    assert _registered(name)
    assert name not in DESCRIPTIONS


def test_an_unknown_name_is_not_registered() -> None:
    assert _registered("no-such-pass") is None


@pytest.mark.parametrize("text", [*DESCRIPTIONS.values(), *OTHER_REGISTERED.values()])
def test_descriptions_fit_a_line(text: str) -> None:
    assert 0 < len(text) <= 90
    assert "\n" not in text
    assert not text.endswith(".")


@pytest.mark.parametrize("name", OPTION_DOCS)
def test_documented_options_exist(name: str) -> None:
    printed = {option for pass_ in WHOLE if pass_.name == name for option, _ in pass_.options}
    if ours := lookup.find_pass(name):
        printed |= {field.replace("_", "-") for field in ours.__dataclass_fields__}
    else:
        printed |= {word.partition("=")[0].strip("{ ") for word in (_registered(name) or "").split("{", 1)[-1].split()}
    assert set(OPTION_DOCS[name]) <= printed
