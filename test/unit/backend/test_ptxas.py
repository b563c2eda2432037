import sys
from pathlib import Path

import pytest
from ptx_samples import THREE_KERNELS, WITH_LINES

from cutecc.backend.nvdisasm import disassemble
from cutecc.backend.ptxas import assemble, located_error, newest_ptx
from cutecc.backend.tools import find_tool
from cutecc.errors import SourceLocation, ToolError, UsageError
from cutecc.target import Target

pytestmark = pytest.mark.slow

SM_80 = Target.parse("sm_80")


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_sass_of_what_was_assembled(target: str):
    result = assemble(THREE_KERNELS.format(target=target), Target.parse(target))
    assert result.cubin.startswith(b"\x7fELF")
    assert result.tool.origin == "package"
    sass = disassemble(result.cubin)
    assert sass == disassemble(result.cubin), "the text depends on the run"
    assert ".text.shared" in sass
    assert "STS" in sass
    assert "EXIT" in sass
    assert "cutecc-" not in sass
    assert "//## File" not in sass


def test_sass_tells_source_lines():
    cubin = assemble(WITH_LINES, SM_80, line_info=True).cubin
    sass = disassemble(cubin)
    assert 'File "kernel.py", line 7' in sass
    assert 'File "kernel.py", line 2 inlined at "kernel.py", line 8' in sass


def test_options_and_level_reach_ptxas(tmp_path: Path):
    ptxas = tmp_path / "ptxas"
    ptxas.write_text(f"#!{sys.executable}\nimport sys; open('kernel.cubin', 'w').write(' '.join(sys.argv[1:]))")
    ptxas.chmod(0o755)

    def command(**settings: object) -> str:
        return assemble("", SM_80, ptxas=ptxas, **settings).cubin.decode()  # pyright: ignore[reportArgumentType]

    assert command() == "-arch sm_80 -v -O3 kernel.ptx --output-file kernel.cubin"
    assert "-O1 " in command(opt_level=1)
    assert "--generate-line-info" in command(line_info=True)
    assert "-v -maxrregcount 64 --opt-level=2 kernel.ptx" in command(options=["-maxrregcount", "64", "--opt-level=2"])


def test_the_newest_ptx_is_what_the_program_takes():
    newest = newest_ptx(find_tool("ptxas"))
    assert newest >= 90
    text = ".version {}.{}\n.target sm_80\n.address_size 64\n"
    assert assemble(text.format(newest // 10, newest % 10), SM_80).cubin
    with pytest.raises(ToolError, match=r"Unsupported \.version"):
        assemble(text.format(newest // 10 + 1, 0), SM_80)


def test_a_program_that_does_not_tell_its_newest_ptx(tmp_path: Path):
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("#!/bin/sh\n")
    ptxas.chmod(0o755)
    with pytest.raises(ToolError, match="does not tell which PTX it takes"):
        newest_ptx(find_tool("ptxas", ptxas))
    ptxas.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    with pytest.raises(ToolError, match="failed with exit status 3"):
        newest_ptx(find_tool("ptxas", ptxas))


def test_an_error_points_at_the_ptx_and_the_python_line(tmp_path: Path):
    source = tmp_path / "kernel.py"
    source.write_text("".join(f"line {number}\n" for number in range(1, 12)))
    broken = WITH_LINES.replace("kernel.py", str(source)).replace("st.global.u32 [%d1], %r1", "add.f32 %r1, %d1, 3")
    with pytest.raises(ToolError, match="Arguments mismatch for instruction 'add'") as caught:
        assemble(broken, SM_80, name="out/kernel.ptx")
    error = caught.value
    assert error.location == SourceLocation("out/kernel.ptx", 12, text="  add.f32 %r1, %d1, 3;")
    assert f"this PTX was made from {source}:8:10\n  line 8\n" in str(error)
    assert "ptxas -arch sm_80 -v -O3 kernel.ptx" in str(error)


def test_an_error_of_the_wheels_assembler_is_located():
    log = (
        'error: "<module>"("kernel.py":1:0): PTXAS_ERROR_COMPILATION, ptxas log: '
        "ptxas application ptx input, line 12; fatal   : Parsing error near '.global': syntax error\n"
        "  ptxas fatal   : Ptx assembly aborted due to errors\n"
    )
    error = located_error(log, WITH_LINES, "kernel.ptx")
    assert error
    assert error.location == SourceLocation("kernel.ptx", 12, text="  st.global.u32 [%d1], %r1;")
    assert error.message == "ptxas: Parsing error near '.global': syntax error"
    assert error.notes == ["this PTX was made from kernel.py:8:10"]
    assert located_error("ptxas fatal   : Unknown option '-bogus'", WITH_LINES, "kernel.ptx") is None


def test_all_errors_are_told():
    broken = WITH_LINES.replace("ret;", "ret.x;\n  nonsense;")
    with pytest.raises(ToolError) as caught:
        assemble(broken, SM_80)
    assert caught.value.location
    assert caught.value.location.line == 13
    assert "note: kernel.ptx:14: Not a name of any known instruction: 'nonsense'" in str(caught.value)


def test_an_error_without_a_line_is_told_whole():
    with pytest.raises(ToolError, match="failed with exit status") as caught:
        assemble(WITH_LINES, SM_80, options=["--no-such-option"])
    assert "Unknown option" in str(caught.value)


def test_success_without_a_cubin_is_an_error():
    with pytest.raises(ToolError, match="made no cubin"):
        assemble(WITH_LINES, SM_80, options=["--version"])


def test_a_wrong_path_is_a_usage_error(tmp_path: Path):
    with pytest.raises(UsageError, match="nothere"):
        assemble(WITH_LINES, SM_80, ptxas=tmp_path / "nothere")
