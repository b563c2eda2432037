"""A kernel that does not trace: the user's line, the DSL's words, and nothing of ours."""

import sys
from pathlib import Path

import pytest

from cutecc.arguments.grammar import parse_spec
from cutecc.errors import TraceError
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest

KERNEL = """import cutlass
import cutlass.cute as cute


@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    {body}


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


def failure(path: Path, body: str) -> TraceError:
    path.write_text(KERNEL.format(body=body))
    with pytest.raises(TraceError) as caught:
        trace_file(TraceRequest(str(path), "host", args={"x": parse_spec("f32[?]")}, target="sm_80"))
    return caught.value


@pytest.mark.parametrize(
    ("body", "underlined", "message", "hint"),
    [
        ("x[t] = unknown + 1", "unknown", "NameError: name 'unknown' is not defined", None),
        ("raise ValueError('bad tile')", "raise ValueError('bad tile')", "ValueError: bad tile", None),
        ("y = x[t, t, t]", "x[t, t, t]", "has another rank than the tensor", "index with"),
        ("cute.copy(x, x)", "cute.copy(x, x)", "TypeError: copy() missing 1 required positional argument", None),
        (
            "y = cute.make_fragment((4,), cutlass.Float32)",
            "cute.make_fragment",
            "has no attribute 'make_fragment'",
            "did you mean cutlass.cute.make_rmem_tensor?",
        ),
        (
            "y = cute.arch.thread_id()",
            "cute.arch.thread_id",
            "no attribute",
            "did you mean cutlass.cute.arch.thread_idx?",
        ),
        (
            "cute.nvgpu.cpasync.CopyBulkTensorTileG2SOp()",
            "cute.nvgpu.cpasync.CopyBulkTensorTileG2SOp()",
            "sm_80",
            "choose a target that has it, with --target",
        ),
    ],
)
def test_the_users_line(tmp_path: Path, body: str, underlined: str, message: str, hint: str | None) -> None:
    error = failure(tmp_path / "kernel.py", body)
    line = f"    {body}"
    assert error.location is not None
    assert (error.location.file, error.location.line) == (str(tmp_path / "kernel.py"), 8)
    assert error.location.column == line.index(underlined) + 1
    assert error.location.length == len(underlined)
    assert error.message.startswith("host does not trace: ")
    assert message in error.message
    assert "\x1b" not in str(error)
    if hint is not None:
        assert any(each.startswith(hint) for each in error.hints)


def test_a_misspelt_name(tmp_path: Path) -> None:
    """The DSL says of every unknown name that it may be made in a branch."""
    error = failure(tmp_path / "kernel.py", "thread = t\n    x[thrad] = 1.0")
    assert "name 'thrad' is not defined" in error.message
    assert error.hints == ["did you mean thread?"]


def test_a_name_that_nothing_is_like(tmp_path: Path) -> None:
    error = failure(tmp_path / "kernel.py", "x[t] = entirely_unknown")
    assert error.hints == ["nothing in kernel.py is called so: define it, or import it"]


def test_a_name_that_a_branch_makes(tmp_path: Path) -> None:
    error = failure(tmp_path / "kernel.py", "if t < 4:\n        w = x[t]\n    x[t] = w")
    assert "name 'w' is not defined" in error.message
    [hint] = error.hints
    assert "before the control flow" in hint


def test_the_line_of_what_the_dsl_rewrites(tmp_path: Path) -> None:
    """The DSL refuses an early exit before the kernel runs, so that no frame of the user's is at that line."""
    error = failure(tmp_path / "kernel.py", "while t < 4:\n        return")
    assert str(error.location) == f"{tmp_path / 'kernel.py'}:9:9"
    assert "return inside of a branch or loop that runs on the GPU: all of kernel" in error.message
    assert "Early exit (return) is not allowed in `kernel`" in error.notes[0]
    assert error.location is not None
    assert error.location.length == len("return")


def test_ir_that_does_not_verify(tmp_path: Path) -> None:
    error = failure(tmp_path / "kernel.py", "x[t, t, t] = 1.0")
    assert str(error.location) == f"{tmp_path / 'kernel.py'}:8:5"
    [note] = error.notes
    assert note == (
        "the DSL's own words: Verification failed: 'cute.memref.store' op expects coordinate to be weakly congruent "
        "to the layout, but got '!cute.coord<\"(?,?,?)\">'"
    )


def test_branches_of_different_types(tmp_path: Path) -> None:
    error = failure(tmp_path / "kernel.py", "v = 1\n    if t < 4:\n        v = 1.5\n    x[t] = v")
    assert "'v' is Int32 before or on one side, and Float32 after" in error.message
    assert "v = cutlass.Float32(0)" in error.hints[0]


def test_failures_inside_a_library_stand_at_the_users_call(tmp_path: Path) -> None:
    error = failure(tmp_path / "kernel.py", "import json; json.loads('nonsense')")
    assert str(error.location) == f"{tmp_path / 'kernel.py'}:8:18"
    assert "JSONDecodeError" in error.message


def test_failures_in_a_sibling_stand_there(tmp_path: Path) -> None:
    (tmp_path / "sibling_of_kernel.py").write_text("def check(x):\n    raise RuntimeError('in the sibling')\n")
    error = failure(tmp_path / "kernel.py", "import sibling_of_kernel; sibling_of_kernel.check(x)")
    assert str(error.location) == f"{tmp_path / 'sibling_of_kernel.py'}:2:5"


@pytest.mark.parametrize("reason", ["NO_DEVICE", "INVALID_CONTEXT"])
def test_asking_a_gpu_that_is_not_there(tmp_path: Path, reason: str) -> None:
    error = failure(tmp_path / "kernel.py", f"raise RuntimeError('CUDA_ERROR_{reason}')")
    assert error.hints == [
        "the kernel asks a GPU while it is traced: pass the answer as a constant, and it compiles anywhere"
    ]


def test_exit_while_tracing(tmp_path: Path) -> None:
    assert "SystemExit: 3" in failure(tmp_path / "kernel.py", "raise SystemExit(3)").message


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    failure(tmp_path / "kernel.py", "x[t, t, t] = 1.0")
    assert capfd.readouterr() == ("", "")


def test_a_trace_works_after_one_that_failed(tmp_path: Path) -> None:
    failure(tmp_path / "kernel.py", "x[t, t, t] = 1.0")
    (tmp_path / "right.py").write_text(KERNEL.format(body="x[t] = 1.0"))
    request = TraceRequest(str(tmp_path / "right.py"), "host", args={"x": parse_spec("f32[?]")}, target="sm_80")
    assert trace_file(request).bytecode
    assert "right" not in sys.modules, "its imports are its own"
