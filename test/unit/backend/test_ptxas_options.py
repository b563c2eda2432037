import pytest

from cutecc.backend.ptxas_options import checked_options
from cutecc.errors import UsageError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("-O1 --fmad=false", ["-O1", "--fmad=false"]),
        ("-maxrregcount 64 -v", ["-maxrregcount", "64", "-v"]),
        ("--entry kernel_0,other$1", ["--entry", "kernel_0,other$1"]),
        ("'--opt-level' 2", ["--opt-level", "2"]),
        ("--of-another-ptxas=1 --and-a-flag", ["--of-another-ptxas=1", "--and-a-flag"]),
    ],
)
def test_harmless_options_pass(text: str, words: list[str]):
    assert checked_options(text) == words


@pytest.mark.parametrize(
    "text",
    [
        *("-o x", "-o=x", "--output-file x", "--output-file=x", "-v --output-file=x"),
        *("-optf x", "--options-file=x", "--apply-controls=x", "--apply-controls x", "-ias x", "--input-as-string=x"),
    ],
)
def test_options_that_name_files_are_refused(text: str):
    with pytest.raises(UsageError, match="set by cutecc alone"):
        checked_options(text)


@pytest.mark.parametrize(
    "text", ["other.ptx", "-v other.ptx", "-maxrregcount=64 other", "-O 2", "--opt-level 2 3", "@f"]
)
def test_a_word_that_ptxas_would_open_is_refused(text: str):
    with pytest.raises(UsageError, match="for the name of a file"):
        checked_options(text)


@pytest.mark.parametrize("text", ["--unknown=file", "--dump-ir=x.txt"])
def test_an_unknown_option_takes_no_name(text: str):
    with pytest.raises(UsageError, match="unknown option"):
        checked_options(text)


@pytest.mark.parametrize("text", ["-v}", "'-v -o'", "--x=/etc/passwd", "--x=..\\\\y", '-v="a\'b"', "{a"])
def test_only_plain_characters_pass(text: str):
    with pytest.raises(UsageError, match="are allowed"):
        checked_options(text)


@pytest.mark.parametrize(("text", "hint"), [("-arch sm_80", "--target"), ("--gpu-name=sm_80", "--target")])
def test_what_cutecc_decides_is_refused_with_its_option(text: str, hint: str):
    with pytest.raises(UsageError, match="is set by cutecc") as caught:
        checked_options(text)
    assert hint in str(caught.value)


@pytest.mark.parametrize("text", ["--help", "-V", "--list-arch"])
def test_options_that_only_print_are_refused(text: str):
    with pytest.raises(UsageError, match="assemble nothing"):
        checked_options(text)


def test_an_open_quote_is_a_usage_error():
    with pytest.raises(UsageError, match="No closing quotation"):
        checked_options("-v 'x")
