"""The `# cutecc:` lines of kernel files."""

from pathlib import Path

import pytest

from cutecc.arguments.sizes import named_values, unify_sizes
from cutecc.errors import SpecError, UsageError
from cutecc.frontend.header import Header, parse_header, read_header
from cutecc.frontend.size_arithmetic import evaluate
from cutecc.record import Workload

ROOT = Path(__file__).parents[3]
HEADER = '''"""A kernel."""

# cutecc: entry = "add"
import cutlass

# cutecc: target = "sm_80,sm_90a"
# cutecc: args.a = "f32[?M=100, ?N=50]"
# cutecc: args.b = "f32[?M, ?N]"
# cutecc: reference = "expected"
# cutecc: outputs = ["b"]
# cutecc: tolerance = 1
# cutecc: bytes = "2 * M * N * 4"
# cutecc: flops = 5000
# cutec: not = ours
'''


def header(*lines: str) -> Header:
    return parse_header("\n".join(f"# cutecc: {line}" for line in lines), "kernel.py")


def sizes(header: Header) -> dict[str, int]:
    return named_values(unify_sizes(header.args, header.arg_sources))


def test_all_keys() -> None:
    found = parse_header(HEADER, "kernel.py")
    assert found.entry == "add"
    assert found.target == "sm_80,sm_90a"
    assert {name: str(spec) for name, spec in found.args.items()} == {"a": "f32[?M=100,?N=50]", "b": "f32[?M,?N]"}
    assert (found.reference, found.outputs, found.tolerance) == ("expected", ["b"], 1)
    assert sizes(found) == {"M": 100, "N": 50}
    assert found.workload == Workload(["b"], 1, "2 * M * N * 4", "5000")
    assert str(found.sources["args.b"]) == "kernel.py:8:21"


def test_a_file_without_header() -> None:
    assert parse_header("import cutlass\n", "kernel.py") == Header()
    assert Header().workload is None


def test_tables_and_inline_tables() -> None:
    table = header("[args]", 'a = "f32[?]"', 'b = "i32"')
    inline = header('args = {a = "f32[?]", b = "i32"}')
    assert table.args == inline.args
    with pytest.raises(SpecError) as caught:
        header("[args]", 'a = "f32[?]"', 'b = "i33"')
    assert str(caught.value.location) == "kernel.py:3:16"
    with pytest.raises(SpecError) as caught:
        header('args = {a = "f32[?]", b = "i33"}')
    assert str(caught.value.location) == "kernel.py:1:38"


def test_arguments_of_the_command_line_replace_specs() -> None:
    found = parse_header(HEADER, "kernel.py").with_args({"a": "f32[?M=2,?N=3]"})
    assert sizes(found) == {"M": 2, "N": 3}
    with pytest.raises(SpecError, match=r"^--arg a:5: expected"):
        found.with_args({"a": "f32["})


@pytest.mark.parametrize(
    ("lines", "place", "message"),
    [
        (['targt = "sm_80"'], "kernel.py:1:11", "unknown key 'targt'"),
        (["x.y = 3"], "kernel.py:1:11", "unknown key 'x'"),
        (['target = "sm_80"', "entry = 3"], "kernel.py:2:11", "'entry' is a string"),
        (['args = "f32[?]"'], "kernel.py:1:11", "'args' is a table"),
        (["args.a = 3"], "kernel.py:1:11", "'args.a' is an argument spec in quotes"),
        (['outputs = ["a", 3]'], "kernel.py:1:11", "'outputs' is a list of strings"),
        (['peers = "torch_add"'], "kernel.py:1:11", "'peers' is a list of strings"),
        (["tolerance = true"], "kernel.py:1:11", "'tolerance' is a number"),
        (["ulp = 0.5"], "kernel.py:1:11", "'ulp' is a whole number"),
        (["ulp = -1"], "kernel.py:1:11", "'ulp' is negative"),
        (['target = "sm_80"', 'entry = "add'], "kernel.py:2:23", "the header is not TOML"),
        (["a b"], "kernel.py:1:13", "the header is not TOML"),
        (['entry = "a"', 'entry = "b"'], "kernel.py:2:22", "the header is not TOML"),
        (['args.a = "f32[?M=3]"', 'args.b = "f32[?M=4]"'], "kernel.py:2:25", "size 'M' is 4 here and 3 in 'a'"),
        (['args.a = "f32[?M]"', 'bytes = "4 * L"'], "kernel.py:2:24", "unknown size 'L'"),
        (['flops = "import os"'], "kernel.py:1:20", "not arithmetic"),
    ],
)
def test_wrong_headers(lines: list[str], place: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        header(*lines)
    assert str(caught.value.location) == place
    assert message in caught.value.message


def test_close_keys_are_guessed() -> None:
    with pytest.raises(UsageError, match=r"did you mean target\?"):
        header('targt = "sm_80"')


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").touch()
    with pytest.raises(UsageError, match=r"there is no file .*kernels\.py\nhint: did you mean .*kernel\.py\?"):
        read_header(tmp_path / "kernels.py")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_header(tmp_path / "bytes.py")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_say_how_to_run_them(path: Path) -> None:
    found = read_header(path)
    assert all([found.entry, found.target, found.args, found.reference, found.outputs, found.bytes])
    assert evaluate(found.bytes or "", sizes(found)) > 0
