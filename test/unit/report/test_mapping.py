"""Which lines count as the user's, and how many instructions have one."""

from __future__ import annotations

import textwrap

from cutecc.record import Compilation
from cutecc.record.compilation import Artifact, KernelResources, Versions
from cutecc.record.stages import UserLines
from cutecc.report.mapping import Statements, mix_of_record, statement_lines
from cutecc.support.locations import Frame

SOURCE = textwrap.dedent(
    '''\
    import cutlass
    SCALE = 2.0
    relu = lambda value: max(value, 0.0)

    @decorated(
        with_=3,
    )
    def kernel(
        x,
    ):
        """What it does,
        in two lines."""
        thread = x[0]
        def inner(v):
            return v
        class Local:
            field = 1
            def method(self): return self
        if thread:
            x[1] = inner(thread)

    @jit
    def host(x):
        """Launches."""
        n = x.shape
        @device
        def epilogue(v):
            return v + 1
        kernel(x, epilogue).launch(
            grid=[1, 1, 1],
        )

    async def other():
        await (
            something)
    '''
)


def test_statements() -> None:
    lines = SOURCE.splitlines()
    assert [lines[number - 1].strip() for number in sorted(statement_lines(SOURCE))] == [
        "relu = lambda value: max(value, 0.0)",
        "thread = x[0]",
        "return v",
        "if thread:",
        "x[1] = inner(thread)",
        "return v + 1",
        "await (",
        "something)",
    ]


def test_what_does_not_parse_has_none() -> None:
    assert statement_lines("def f(:\n    x") == statement_lines("\x00") == statement_lines("") == frozenset()
    assert statement_lines("f(" * 5000) == frozenset()


def test_only_known_files() -> None:
    statements = Statements(UserLines(sources={"/k.py": "def f():\n    return 1\n"}))
    assert statements.holds(Frame("/k.py", 2, 5))
    assert not statements.holds(Frame("/k.py", 1, 0)) and not statements.holds(Frame("/other.py", 2, 5))


SASS = """\
\t.section\t.text.kernel_a,"ax",@progbits
\t//## File "/k.py", line 1
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File "/lib.py", line 7 inlined at "/k.py", line 3
\t//## File "/k.py", line 3
        /*0010*/                   FADD R0, R0, R5 ;
        /*0020*/                   STL [R1+0x4], R0 ;
\t//## File "/k.py", line 2
        /*0030*/                   EXIT ;
.L_x_0:
        /*0040*/                   BRA `(.L_x_0);
        /*0050*/                   NOP;
"""


def record(sass: str, *, spills: int = 0) -> Compilation:
    compilation = Compilation("kernel", "sm_80", "nvidia", Versions("0", "3.11", "4.8.1", "wheel"))
    compilation.artifacts.append(Artifact("sass", "kernel.sass"))
    compilation.files["kernel.sass"] = sass.encode()
    compilation.resources.append(KernelResources("kernel_a", 10, 0, spills, spills, 0, None, 0, None, None))
    return compilation


def test_mix() -> None:
    mix = mix_of_record(record(SASS, spills=4), UserLines(sources={"/k.py": "def f():\n    a()\n    b()\n"}))
    assert mix is not None and mix.line_info
    (kernel,) = mix.kernels
    assert (kernel.kernel, kernel.instructions, kernel.mapped) == ("kernel_a", 4, 3)
    assert kernel.classes == {"constant load 32": 1, "float 32": 1, "spill store 32": 1, "control": 1}
    assert [(each.file, each.line, each.classes) for each in kernel.lines] == [
        ("/k.py", 1, {"constant load 32": 1}),
        ("/k.py", 2, {"control": 1}),
        ("/k.py", 3, {"float 32": 1, "spill store 32": 1}),
    ]


def test_a_modules_own_text() -> None:
    """Whose places MLIR names `-`: what is inside of its functions counts."""
    module = "module {\n  func.func @f() {\n    a.b\n  }\n}\n"
    compilation = record(SASS.replace('"/k.py"', '"-"'))
    compilation.source = "dump/k.mlir"
    mix = mix_of_record(compilation, UserLines(sources={"dump/k.mlir": module}))
    assert mix is not None
    assert [(each.file, each.line) for each in mix.kernels[0].lines] == [("dump/k.mlir", line) for line in (1, 2, 3)]
    assert mix.kernels[0].mapped == 2, "line 3 alone"


def test_without_lines_or_sass() -> None:
    bare = "\n".join(line for line in SASS.split("\n") if "//##" not in line)
    mix = mix_of_record(record(bare), UserLines())
    assert mix is not None and not mix.line_info
    assert (mix.kernels[0].instructions, mix.kernels[0].mapped, mix.kernels[0].lines) == (4, 0, [])
    assert (
        mix_of_record(Compilation("kernel", "sm_80", "nvidia", Versions("0", "3.11", "4.8.1", "wheel")), UserLines())
        is None
    )
