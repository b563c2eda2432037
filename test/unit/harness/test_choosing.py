"""Values for what specs leave open."""

from __future__ import annotations

import pytest

from cutecc.arguments.grammar import parse_spec
from cutecc.harness.arguments import make_arguments
from cutecc.harness.choosing import choose_values, valued_signature
from cutecc.record import Parameter, Signature


def specs(**texts: str):
    return {name: parse_spec(text) for name, text in texts.items()}


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        ({"a": "f32[?M, ?N]", "b": "f32[?M, ?N]"}, "M=33, N=132: chosen, for no --size gives them"),
        # Each is a multiple of what any of its mentions promises, and no two are mixed up unseen.
        ({"a": "f16[?M, ?K{div=8}]", "b": "f16[?N{div=16}, ?K]"}, "M=33, K=136, N=48: chosen"),
        ({"a": "f32[?M, ?K]", "b": "f32[?N, ?K]", "c": "f32[?M, ?N]"}, "M=33, K=132, N=34: chosen"),
        ({"a": "(f32[?L, ?M, ?N{div=128}], f32[?N])"}, "L=3, M=33, N=256: chosen"),
        ({"a": "f32[?N=7, ?M]"}, "M=132: chosen, for no --size gives it"),
        # Without names they are one size, by which most kernels are right.
        (
            {"a": "f32[?{div=4}]", "b": "f32[?{div=8}, 3]"},
            "a of shape (136), b of shape (136, 3): chosen, for neither --size nor a spec gives them",
        ),
        ({"n": "i32", "f": "f32", "b": "bool"}, "n=1, f=0.5, b=True: chosen, for neither"),
        ({"p": "ptr<f16>"}, "p with 4096 elements: chosen"),
    ],
)
def test_what_nobody_gives_is_chosen_and_told(texts: dict[str, str], text: str) -> None:
    chosen = choose_values(specs(**texts))
    assert (chosen.text or "").startswith(text)
    # It runs with them.
    make_arguments(chosen.specs, ())


def test_what_somebody_gives_stays() -> None:
    given = specs(a="f32[?M=5, ?N=10]:(?{i64 div=4}, 1)", n="i32=3", c="const(4)", s="stream", z="none")
    chosen = choose_values(given)
    assert (chosen.text, chosen.specs) == (None, given)
    assert choose_values(specs(a="f32[?M, ?N]"), {"M": 7}).text == "N=132: chosen, for no --size gives it"
    found = choose_values(specs(a="f32[?{div=4}, ?N]"), {"N": 9}, {"a": (8, 9)})
    assert (found.text, str(found.specs["a"])) == (None, "f32[?{div=4}=8,?N]")


def test_a_number_that_is_a_size_is_not_chosen() -> None:
    chosen = choose_values(specs(n="i32=N", a="f32[?N]"))
    assert (chosen.text, str(chosen.specs["n"])) == ("N=132: chosen, for no --size gives it", "i32=N")


def test_a_signature_takes_what_was_chosen() -> None:
    signature = Signature("f", [Parameter("a", "f32[?]"), Parameter("o", "object<Plan>")])
    valued = valued_signature(signature, choose_values(specs(a="f32[?]")).specs)
    assert [each.spec for each in valued.parameters] == ["f32[?=132]", "object<Plan>"]
