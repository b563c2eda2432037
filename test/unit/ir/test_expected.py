"""What a text expects to be said of it, compared with what is said."""

from __future__ import annotations

import pytest

from cutecc.errors import SourceLocation
from cutecc.ir.diagnostics import Diagnostic
from cutecc.ir.expected import ExpectedDiagnostics


def said(severity: str, line: int | None, message: str, *notes: Diagnostic, file: str = "t.mlir") -> Diagnostic:
    return Diagnostic(severity, message, SourceLocation(file, line, 3) if line else None, notes)  # pyright: ignore


def problems(text: str, *diagnostics: Diagnostic) -> list[str]:
    expected = ExpectedDiagnostics(text, "t.mlir")
    for each in diagnostics:
        expected.take(each)
    return [f"{each.location}: {each.message}" for each in expected.problems()]


@pytest.mark.parametrize("severity", ["error", "warning", "remark", "note"])
def test_severities(severity: str) -> None:
    text = f"op // expected-{severity} {{{{went wrong}}}}"
    assert problems(text, said(severity, 1, "it went wrong here")) == []
    assert problems(text) == [f't.mlir:1:7: expected {severity} "went wrong" was not produced']


@pytest.mark.parametrize(
    ("place", "line"),
    [("", 3), ("@+1", 4), (" @+2", 5), ("@-1", 2), ("@-2 ", 1), ("@above", 2), ("@below", 4), ("@1", 1), ("@12", 12)],
)
def test_places(place: str, line: int) -> None:
    text = f"a\nb\n// expected-error{place} {{{{x}}}}\nc\nd"
    assert problems(text, said("error", line, "x")) == []
    wrong = line + 1
    assert problems(text, said("error", wrong, "x")) == [
        f"t.mlir:{wrong}:3: unexpected error: x",
        't.mlir:3:4: expected error "x" was not produced',
    ]


def test_above_and_below_skip_lines_that_expect_something() -> None:
    text = "a\n// expected-error@below {{x}}\n// expected-note@above {{y}}\n// expected-note@below {{z}}\nb\n"
    assert problems(text, said("error", 5, "x", said("note", 1, "y"), said("note", 5, "z"))) == []


def test_below_at_the_end_of_a_text_is_its_last_line() -> None:
    assert problems("a\n// expected-error@below {{x}}", said("error", 2, "x")) == []


def test_a_diagnostic_without_a_place_is_expected_as_unknown() -> None:
    assert problems("// expected-error@unknown {{x}}", said("error", None, "x")) == []
    assert problems("// expected-error@unknown {{x}}", said("error", 1, "x")) != []
    assert problems("// expected-error {{x}}", said("error", None, "x")) == [
        "None: unexpected error: x",
        't.mlir:1:4: expected error "x" was not produced',
    ]


def test_a_diagnostic_of_another_file_is_not_expected_here() -> None:
    assert problems("// expected-error {{x}}", said("error", 1, "x", file="other.py")) == [
        "other.py:1:3: unexpected error: x",
        't.mlir:1:4: expected error "x" was not produced',
    ]


def test_one_expectation_is_met_by_any_number_of_diagnostics_and_a_second_equal_one_by_none() -> None:
    twice = [said("remark", 2, "unrolled"), said("remark", 2, "unrolled")]
    assert problems("// expected-remark @+1 {{unrolled}}\nloop", *twice) == []
    assert problems("// expected-remark @+2 {{unrolled}}\n// expected-remark @+1 {{unrolled}}\nloop") != []
    both = "// expected-remark @3 {{unrolled}}\n// expected-remark @3 {{unrolled}}\nloop"
    assert problems(both, said("remark", 3, "unrolled"), said("remark", 3, "unrolled")) == [
        't.mlir:2:4: expected remark "unrolled" was not produced'
    ]


def test_another_severity_is_a_near_miss() -> None:
    assert problems("// expected-warning {{x}}", said("error", 1, "x")) == [
        "t.mlir:1:4: 'error' diagnostic emitted when expecting a 'warning'",
        't.mlir:1:4: expected warning "x" was not produced',
    ]


def test_plain_text_is_no_regular_expression() -> None:
    assert problems("// expected-error {{a.*(b}}", said("error", 1, "see a.*(b")) == []
    assert problems("// expected-error {{a.*b}}", said("error", 1, "a and b")) != []


@pytest.mark.parametrize(
    ("text", "message", "matches"),
    [
        ("op '{{[a-z.]+}}' failed", "op 'cute.copy' failed", True),
        ("op '{{[a-z]+}}' failed", "op 'cute.copy' failed", False),
        ("a.b{{.*}}", "axb", False),
        ("{{a|b}}c", "bc", True),
        ("{{a|b}}c", "a", False),
    ],
)
def test_regular_expressions_in_braces(text: str, message: str, matches: bool) -> None:
    assert (problems(f"// expected-error-re {{{{{text}}}}}", said("error", 1, message)) == []) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a {{b", "t.mlir:1:4: invalid regex: found start of regex with no end '}}'"),
        ("{{(}}", "t.mlir:1:4: invalid regex: missing ), unterminated subpattern at position 0"),
    ],
)
def test_broken_regular_expressions_are_problems(text: str, message: str) -> None:
    assert problems(f"// expected-error-re {{{{{text}}}}}") == [message]


def test_the_note_that_prints_the_operation_is_never_expected() -> None:
    current = said("note", 1, 'see current operation: "a"() : () -> ()')
    assert problems("// expected-error {{x}}", said("error", 1, "x", current)) == []
    assert problems("// expected-error {{x}}", said("error", 1, "x", said("note", 1, "y"))) == [
        "t.mlir:1:3: unexpected note: y"
    ]


@pytest.mark.parametrize(
    "line", ["expected-error", "// an expected-error comment, or so", "// expected-failure {{x}}", "{{x}}"]
)
def test_other_lines_expect_nothing(line: str) -> None:
    assert problems(line) == []


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("op // expected-error @blow {{x}}", 7),
        ("op // expected-error {{x}} trailing", 7),
        ("op // expected-remark@+1 {{x}", 7),
        ("// expected-note-re {{x", 4),
        ("// expected-warning x", 4),
        ("// see expected-error {{x}} below", 8),
    ],
)
def test_what_only_looks_like_an_expectation_is_a_problem(line: str, column: int) -> None:
    (problem,) = problems(f"a\n{line}")
    assert problem.startswith(f"t.mlir:2:{column}: no expectation can be read here")


def test_one_line_holds_one_expectation() -> None:
    (problem,) = problems("op // expected-error {{x}} expected-note@+1 {{y}}")
    assert problem.startswith("t.mlir:1:7: one line expects two diagnostics")
